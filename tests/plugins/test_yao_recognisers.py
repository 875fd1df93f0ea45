"""The recognisers of Yao et al. against the definition of Dyck-(k, D)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench_models.catalogue.constructions import YaoHardConfig, YaoRecogniseConfig
from formalbench_models.constructions import builders
from yao_helpers import (
    accepts,
    batch,
    every_string,
    ids,
    is_member,
    recogniser,
    task,
    walk,
)

NAMES = ("hard", "hard_as_soft", "recognise")
every_name = pytest.mark.parametrize("name", NAMES)


def wrong(network, strings, D):
    """Return the strings that are judged wrongly."""
    given = accepts(network, strings)
    return [s for s, one in zip(strings, given, strict=True) if one != is_member(s, D)]


@every_name
def test_the_margin_does_not_depend_on_the_length(name):
    network = recogniser(name, 2, 3)
    for length in (0, 2, 60, 400):
        with torch.no_grad():
            logits = network(batch([walk(2, 3, length, seed) for seed in range(3)]))
        assert torch.equal(logits[:, 0], torch.zeros(3, dtype=torch.float64))
        torch.testing.assert_close(logits[:, 1], torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("bits", [4, 5, 7])
def test_positions_of_b_bits_are_enough_for_two_to_the_b_tokens(bits):
    network = recogniser("hard", 2, 2, position_bits=bits)
    # Two tokens for γ and ω. In ([]) the close of [ must not take ( for its neighbour.
    for length in range(4, 2**bits + 1, 2):
        blocks = ids("([])") * (length // 4)
        strings = [blocks + ids("()") * (length % 4 // 2), ids("()") * (length % 4 // 2) + blocks]
        fails = wrong(network, strings, 2) != []
        assert fails == (length == 2**bits)
    assert network.traits.constants == {"position_bits": bits}


def test_the_fewest_positions_are_enough_for_every_string_of_theirs():
    network = recogniser("hard", 2, 2, position_bits=3)
    assert wrong(network, every_string(2, 6), 2) == []


def test_hard_attention_is_softened_by_its_temperature():
    network = recogniser("hard_as_soft", 2, 2, sharpness=3.0)
    member = walk(2, 2, 40, 0)
    hard, soft = (
        recogniser(name, 2, 2).trace(batch([member]))["layer.1.head.left.attention"]
        for name in ("hard", "hard_as_soft")
    )
    assert (hard == hard.round()).all()
    assert 0 < (hard - soft).abs().max() < 1e-3
    assert accepts(network, [member]) == [True]
    warm = recogniser("hard_as_soft", 2, 2)
    for layer in warm.layers:
        for head in layer.heads:
            head.head = replace(head.head, scale=1.0)
    assert wrong(warm, every_string(2, 4), 2)


def test_refused_tasks():
    with pytest.raises(RequestError, match="yao-hard-2-3 recognises dyck-2-3, not dyck-2-2"):
        builders.hard(task(2, 2), YaoHardConfig(), k=2, D=3)
    with pytest.raises(RequestError, match="types and depth must be at least 1"):
        builders.recognise(task(2, 0), YaoRecogniseConfig(), k=2, D=0)
    with pytest.raises(RequestError, match="types and depth must be at least 1"):
        builders.hard_as_soft(task(0, 2), YaoRecogniseConfig(), k=0, D=2)
