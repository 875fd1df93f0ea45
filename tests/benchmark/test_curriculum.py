"""Which length a training step has."""

from collections import Counter
from itertools import pairwise

import pytest
from formalbench.contracts.protocol import Curriculum, Protocol
from formalbench.training.curriculum import draw_length, stages


def test_the_stages_of_the_default():
    found = stages(Curriculum(), range(1, 41))
    assert [stage[-1] for stage in found] == [2, 4, 7, 11, 17, 26, 40]
    assert all(stage[0] == 1 for stage in found)
    assert found[-1] == list(range(1, 41))


def test_a_uniform_curriculum_is_one_stage():
    assert stages(Curriculum(kind="uniform"), range(1, 41)) == [list(range(1, 41))]


@pytest.mark.parametrize(
    ("curriculum", "lengths", "longest"),
    [
        (Curriculum(), range(1, 51), [2, 4, 7, 11, 17, 26, 40, 50]),
        (Curriculum(), range(1, 40, 2), [1, 3, 7, 11, 17, 25, 39]),  # odd lengths only
        (Curriculum(), [30, 40], [30, 40]),
        (Curriculum(first=100), range(1, 41), [40]),
        (Curriculum(first=1, growth=1.0), range(1, 5), [1, 2, 3, 4]),
        (Curriculum(first=2, growth=2.0), [3], [3]),
    ],
)
def test_stages_grow_to_the_whole_split(curriculum, lengths, longest):
    found = stages(curriculum, lengths)
    assert [stage[-1] for stage in found] == longest
    assert found[-1] == list(lengths)
    assert all(len(one) < len(other) for one, other in pairwise(found))


def test_a_length_depends_on_protocol_stage_and_step_only():
    protocol = Protocol(name="p", version=1)
    drawn = [draw_length(protocol, [1, 2, 3], step) for step in range(50)]
    assert drawn == [draw_length(protocol, [1, 2, 3], step) for step in range(50)]
    assert draw_length(protocol, [1, 2, 3], 49) == drawn[49]  # no step before is needed
    assert drawn == [
        draw_length(Protocol(name="p", version=1, seeds=9), [1, 2, 3], step) for step in range(50)
    ]
    for other, stage in (
        (Protocol(name="q", version=1), [1, 2, 3]),
        (Protocol(name="p", version=2), [1, 2, 3]),
        (protocol, [1, 2, 3, 4]),
    ):
        assert drawn != [draw_length(other, stage, step) for step in range(50)]


def test_lengths_are_drawn_uniformly():
    protocol = Protocol(name="p", version=1)
    stage = [1, 3, 5, 7]
    counts = Counter(draw_length(protocol, stage, step) for step in range(2000))
    assert set(counts) == set(stage)
    assert min(counts.values()) > 430
