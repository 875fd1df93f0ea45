"""The recognisers of Yao et al. against the definition of Dyck-(k, D)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench_models.catalogue.constructions import YaoHardConfig, YaoRecogniseConfig
from formalbench_models.constructions import builders, yao_hard
from formalbench_models.constructions.construction import ONE, FeedForward, HiddenUnit
from formalbench_models.constructions.network import HandWritten
from yao_helpers import (
    BRACKETS,
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


def literal(change):
    """Return the recogniser for Dyck-(2, 2) with its matching layers changed."""
    built = yao_hard.recogniser(2, 2, tuple(BRACKETS[:4]))
    layers = tuple(
        replace(layer, feed_forwards=tuple(map(change, layer.feed_forwards)))
        for layer in built.layers
    )
    return HandWritten(replace(built, layers=layers), tuple(BRACKETS[:4]))


def short(network):
    """Return the strings of two and four brackets that are judged wrongly, as text."""
    missed = [one for length in (2, 4) for one in wrong(network, every_string(2, length), 2)]
    return ["".join(BRACKETS[i] for i in one) for one in missed]


def test_as_printed_the_types_of_the_wrong_neighbours_are_compared():
    swap = {"s1": "s2", "s2": "s1"}

    def swapped(network: FeedForward) -> FeedForward:
        rename = lambda form: {swap.get(name, name): x for name, x in form.items()}  # noqa: E731
        units = tuple(replace(unit, writes=rename(unit.writes)) for unit in network.units)
        return replace(network, units=units, constants=rename(network.constants))

    assert short(literal(lambda network: network)) == []
    assert short(literal(swapped))


def test_as_printed_matched_brackets_report_errors():
    def ungated(network: FeedForward) -> FeedForward:
        def free(unit: HiddenUnit) -> HiddenUnit:
            if "e" not in unit.writes:
                return unit
            # AND of one bit less: ¬m = 1 - m goes, and with it the 1 of another bit.
            return replace(unit, reads={n: x for n, x in unit.reads.items() if n != "m"})

        return replace(network, units=tuple(map(free, network.units)))

    assert "()" in short(literal(ungated))


def test_as_printed_the_last_layer_waits_for_the_added_tokens():
    built = yao_hard.recogniser(2, 2, tuple(BRACKETS[:4]))
    (head,) = built.layers[-1].heads
    printed = replace(
        head, key=({"e": 1, ONE: 1, "m": -1},), values={"e_j": {"e": 1}, "m_j": {"m": 1}}
    )
    last = replace(built.layers[-1], heads=(printed,))
    network = HandWritten(replace(built, layers=(*built.layers[:-1], last)), tuple(BRACKETS[:4]))
    missed = short(network)
    assert "(())" in missed  # of the greatest depth
    assert "()()" not in missed


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
