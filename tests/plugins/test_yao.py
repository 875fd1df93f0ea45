"""The constructions of Yao et al. against the definitions of their languages."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from exact_helpers import every_string, make
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench_models.constructions import yao_hard
from formalbench_models.constructions.construction import ONE, FeedForward, HiddenUnit
from formalbench_models.constructions.network import HandWritten
from torch import Tensor

BRACKETS = "()[]{}<>"


def read(string: list[int], deepest: int | None) -> list[int] | None:
    """Return the stack after a prefix, None if it begins no member."""
    stack: list[int] = []
    for symbol in string:
        if symbol % 2 == 0:
            stack.append(symbol // 2)
            if deepest is not None and len(stack) > deepest:
                return None
        elif not stack or stack.pop() != symbol // 2:
            return None
    return stack


def is_member(string: list[int], deepest: int | None) -> bool:
    return read(string, deepest) == []


def ids(text: str) -> list[int]:
    return [BRACKETS.index(bracket) for bracket in text]


def batch(strings: list[list[int]]) -> Batch:
    return Batch(torch.tensor(strings, dtype=torch.int64).reshape(len(strings), -1))


def beginnings(k: int, deepest: int | None, length: int) -> list[list[int]]:
    """Return all strings of a length that begin a member."""
    found: list[list[int]] = [[]]
    for _ in range(length):
        longer = ([*one, symbol] for one in found for symbol in range(2 * k))
        found = [one for one in longer if read(one, deepest) is not None]
    return found


def walk(k: int, deepest: int, length: int, seed: int, opening: float = 0.5) -> list[int]:
    """Draw a member."""
    generator = torch.Generator().manual_seed(seed)
    coins = torch.rand(length, generator=generator).tolist()
    types = torch.randint(k, (length,), generator=generator).tolist()
    string: list[int] = []
    stack: list[int] = []
    for place, (coin, kind) in enumerate(zip(coins, types, strict=True)):
        must_close = len(stack) in (deepest, length - place)
        if stack and (must_close or coin > opening):
            string.append(2 * stack.pop() + 1)
        else:
            stack.append(kind)
            string.append(2 * kind)
    return string


def accepts(network: Any, strings: list[list[int]]) -> list[bool]:
    with torch.no_grad():
        logits = network(batch(strings))
    return (logits[:, 1] > logits[:, 0]).tolist()


def legal_sets(network: Any, strings: list[list[int]]) -> Tensor:
    """Return what a generator allows after every prefix, (B, N+1, S+1)."""
    with torch.no_grad():
        return network(batch(strings)) > 0


def true_sets(strings: list[list[int]], k: int, deepest: int | None) -> Tensor:
    """Return what may follow every prefix by definition, (B, N+1, S+1)."""

    def follow(prefix: list[int]) -> list[bool]:
        into = [read([*prefix, symbol], deepest) is not None for symbol in range(2 * k)]
        return [*into, read(prefix, deepest) == []]

    return torch.tensor([[follow(one[:stop]) for stop in range(len(one) + 1)] for one in strings])


def bounded_sets(strings: list[list[int]], k: int, deepest: int | None, n: int) -> Tensor:
    """Return what may follow every prefix if members have n brackets at most, by enumeration."""
    members = [
        tuple(one)
        for length in range(n + 1)
        for one in beginnings(k, deepest, length)
        if is_member(one, deepest)
    ]
    prefixes = {one[:stop] for one in members for stop in range(len(one) + 1)}
    whole = set(members)

    def follow(prefix: tuple[int, ...]) -> list[bool]:
        return [*((*prefix, symbol) in prefixes for symbol in range(2 * k)), prefix in whole]

    return torch.tensor(
        [[follow(tuple(one[:stop])) for stop in range(len(one) + 1)] for one in strings]
    )


def recogniser(name: str, k: int, D: int, **options: Any) -> Any:
    return make(f"yao-{name}-{k}-{D}", f"dyck-{k}-{D}", options)[0]


def generator(
    name: str, k: int, D: int | None, objective: str = "next-symbols", **options: Any
) -> Any:
    fields = f"{k}" if D is None else f"{k}-{D}"
    return make(f"yao-{name}-{fields}", f"dyck-{fields}:{objective}", options)[0]


NAMES = ("hard", "hard-as-soft", "recognise")
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
    assert wrong(network, every_string(6, 4).tolist(), 2) == []


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
    missed = [
        one for length in (2, 4) for one in wrong(network, every_string(length, 4).tolist(), 2)
    ]
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
    network = recogniser("hard-as-soft", 2, 2, sharpness=3.0)
    member = walk(2, 2, 40, 0)
    hard, soft = (
        recogniser(name, 2, 2).trace(batch([member]))["layer.1.head.left.attention"]
        for name in ("hard", "hard-as-soft")
    )
    assert (hard == hard.round()).all()
    assert 0 < (hard - soft).abs().max() < 1e-3
    assert accepts(network, [member]) == [True]
    warm = recogniser("hard-as-soft", 2, 2)
    for layer in warm.layers:
        for head in layer.heads:
            head.head = replace(head.head, scale=1.0)
    assert wrong(warm, every_string(4, 4).tolist(), 2)


@pytest.mark.parametrize(("k", "D"), [(1, 1), (1, 3), (2, 2), (2, None), (1, None)])
@pytest.mark.parametrize("n", [2, 6, 7])
def test_near_the_bound_on_the_length(k, D, n):
    network = generator("soft", k, D, n=n)
    longest = n - n % 2
    reachable = [
        one for one in beginnings(k, D, longest) if is_member(one, D)
    ]  # every prefix that can still be closed begins one of these
    want = bounded_sets(reachable, k, D, n)
    assert torch.equal(legal_sets(network, reachable), want)
    assert not torch.equal(want, true_sets(reachable, k, D))
    with pytest.raises(RequestError, match=f"0 to {n}, not {n + 1}"):
        network(batch([[0] * (n + 1)]))


@pytest.mark.parametrize(("k", "D", "n"), [(1, 1, 8), (2, 2, 8), (1, 3, 9), (2, None, 10)])
def test_the_stated_length_is_that_of_the_beginnings_it_is_right_about(k, D, n):
    network = generator("soft", k, D, n=n)
    least, greatest = network.traits.lengths
    assert (least, greatest) == (0, n // 2 * 2 - D - 1 if D else n // 2 - 1)

    def right(length):
        strings = beginnings(k, D, length)
        return torch.equal(legal_sets(network, strings), true_sets(strings, k, D))

    assert right(greatest)
    assert not right(greatest + 2)


@pytest.mark.parametrize(("name", "D"), [("soft", 2), ("hard-generate", 2), ("soft", None)])
def test_definition_3_1(name, D):
    network = generator(name, 2, D, objective="generate")
    epsilon = network.traits.constants["epsilon"]
    assert 0 < epsilon < 1 / 5
    for length in range(5):
        strings = every_string(length, 4).tolist()
        with torch.no_grad():
            log_p = network(batch(strings))
        torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(log_p.shape[:2]).double())
        targets = torch.tensor([[*one, 4] for one in strings])
        least = log_p.gather(-1, targets[..., None]).squeeze(-1).amin(-1)
        for one, value in zip(strings, least.tolist(), strict=True):
            assert (value >= math.log(epsilon)) == is_member(one, D), one


def test_any_depth_needs_the_precision_that_it_states():
    strings = [walk(2, 40, 80, seed, opening=0.6) for seed in range(4)]
    want = true_sets(strings, 2, None)
    right = [
        torch.equal(legal_sets(generator("soft", 2, None, n=n).float(), strings), want)
        for n in (82, 1002)
    ]
    assert right == [False, False]
    assert torch.equal(legal_sets(generator("soft", 2, None, n=82), strings), want)
