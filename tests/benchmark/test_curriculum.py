"""Which lengths the strings of a training batch have."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from formalbench.contracts.protocol import Curriculum, Protocol
from formalbench.training.curriculum import (
    InterleavedSampler,
    StagedSampler,
    draw_length,
)


def test_the_stages_of_the_default():
    found = InterleavedSampler().stages(Protocol(name="p", version=1), range(1, 41))
    assert [stage[-1] for stage in found] == [2, 4, 7, 11, 17, 26, 40]
    assert all(stage[0] == 1 for stage in found)
    assert found[-1] == list(range(1, 41))


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
    found = StagedSampler().stages(Protocol(name="p", version=1, curriculum=curriculum), lengths)
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


FIRST = {
    None: [12, 2, 35, 6, 27, 4, 39, 34, 20, 39, 38, 31],  # of version 1, whose seeds shared them
    0: [8, 21, 24, 5, 1, 36, 8, 13, 15, 20, 24, 37],
    1: [8, 13, 23, 29, 37, 31, 16, 12, 28, 5, 36, 18],
}


@pytest.mark.parametrize("seed", FIRST)
def test_the_first_lengths_under_quick(seed):
    """What they are decides every run that was published."""
    protocol = Protocol(name="quick", version=1 if seed is None else 2)
    stage = list(range(1, 41))
    drawn = [draw_length(protocol, stage, step, None, seed) for step in range(12)]
    assert drawn == FIRST[seed]
    borrowing = Protocol(name="mine", version=4, draws=protocol.key)
    assert [draw_length(borrowing, stage, step, None, seed) for step in range(12)] == drawn


def test_lengths_follow_their_weights():
    protocol, weights = Protocol(name="p", version=1), np.array([3.0, 1.0])
    counts = Counter(draw_length(protocol, [2, 4], step, weights) for step in range(2000))
    assert counts[2] == pytest.approx(1500, abs=100)
