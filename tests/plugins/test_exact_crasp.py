"""C-RASP: programs, what they become, and any automaton whose states counting tells apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exact_helpers import get_host
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.source import Stream
from formalbench.contracts.theory import Theory
from formalbench.theory.theorems import predict
from formalbench_models.catalogue.constructions import ExactCraspConfig
from formalbench_models.constructions import exact_crasp
from formalbench_models.constructions.crasp import (
    BEGIN,
    Compare,
    CraspProgram,
    Every,
    OneOf,
    Some,
    Sum,
    program_of,
)
from formalbench_models.constructions.exact_crasp import network_of
from formalbench_models.constructions.network import HandWritten

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

MAJORITY = CraspProgram(
    {
        "a": OneOf(("a",)),
        "b": OneOf(("b",)),
        "more": Compare(Sum(((2, "a"), (-2, "b"))), 1),
        "before": Compare(Sum(((1, "a"), (1, "¬b")), strict=True), 3, at_least=False),
        "either": Some(("more", "¬before", "b")),
        "both": Every(("¬more", "before", "a")),
        "often": Compare(Sum(((1, "either"), (-1, "both"), (-1, "¬a"))), 0),
        "last": Every(("often", "¬before")),
    }
)
"""Not regular, with every kind of line."""


def build(name):
    task = get_host().task(name)
    return exact_crasp.build(task, ExactCraspConfig()), task


def heights(seed):
    """Return two walks on heights, one after the other, that symbols leave at the ends."""
    stream = Stream("automata of heights", seed)
    symbols, low, high = (1 + int(n) for n in stream.integers(4, 3))
    table = np.full((low + high + 1, symbols), low + high)
    for first, count in ((0, low), (low, high)):
        moves = stream.integers(4, symbols) - 1
        leaves = first + count + stream.integers(max(1, low + high - first - count), symbols)
        for state in range(count):
            inside = (state + moves >= 0) & (state + moves < count)
            table[first + state] = np.where(inside, first + state + moves, leaves)
    return table


TWO_ROUNDS = np.array([[1, 2], [5, 0], [5, 3], [4, 5], [0, 5], [5, 5]])
"""Of (ab + bbaa)*: a second count tells apart what the first one leaves."""


def random_program(seed):
    """Return the program of a random automaton that has one, and the automaton."""
    table = TWO_ROUNDS if seed == 0 else heights(seed)
    program = program_of(table.tolist(), 0, "abcdef"[: table.shape[1]])
    if program is None:  # states that no string tells apart, as symbols that stay make them
        return random_program(seed + 1000)
    return program, table.tolist()


def test_a_program_means_what_its_definition_says():
    values = MAJORITY.run("aab")
    assert values["a"] == [False, True, True, False]
    assert values["more"] == [False, True, True, True]
    assert values["before"] == [False, True, True, False]  # 1, 3 and 5; none before the first
    assert values["either"] == [True, True, True, True]
    assert values["both"] == [False] * 4
    assert values["often"] == [True, True, True, True]
    text = MAJORITY.text().splitlines()
    assert text[2] == "more := 2·#[j ≤ i: a] + -2·#[j ≤ i: b] ≥ 1"
    assert text[4] == "either := more ∨ ¬before ∨ b"
    with pytest.raises(ValueError, match="x reads 'y', which is no earlier line"):
        CraspProgram({"x": Every(("y",))})


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype)[6:])
def test_every_line_of_a_program_is_a_coordinate(dtype):
    seeds = range(1 if dtype.itemsize == 2 else 5)  # half precision is slow on a processor
    for seed, longest in ((None, 30), *((seed, 15) for seed in seeds)):
        program, alphabet = MAJORITY, "ab"
        if seed is not None:
            program, table = random_program(seed)
            alphabet = "abcdef"[: len(table[0])]
        network = HandWritten(network_of(program, alphabet, [{}], "prefixes"), alphabet).to(dtype)
        symbols = Stream("program", seed).integers(len(alphabet), (2, longest))
        with torch.no_grad():
            trace = network.trace(Batch(torch.from_numpy(symbols)))
        last = len(network.layers)
        final = len(network.layers[-1].feed_forwards)
        for row, string in enumerate(symbols.tolist()):
            for name, want in program.run([alphabet[symbol] for symbol in string]).items():
                got = trace[f"layer.{last}.feed_forward.{final}[{name}]"][row]
                assert got.tolist() == want, name


@pytest.mark.parametrize("seed", range(15))
def test_a_random_automaton_is_in_the_state_that_its_program_says(seed):
    program, table = random_program(seed)
    alphabet = "abcdef"[: len(table[0])]
    for string in Stream("state", seed).integers(len(alphabet), (3, 14)).tolist():
        values, state = program.run([alphabet[symbol] for symbol in string]), 0
        for position, symbol in enumerate([None, *string]):
            state = state if symbol is None else table[state][symbol]
            at = [q for q in range(len(table)) if values.get(f"at.{q}", [False] * 15)[position]]
            assert at == [state]


def test_it_says_what_it_is_and_theory_agrees():
    network, _ = build("d3")
    assert network.traits.causal
    assert network.traits.depth == len(network.layers) == 4
    assert predict(network.traits, Theory.least("c-rasp"))[0] == "can"


@pytest.mark.parametrize("name", ["parity", "tomita-3", "even-pairs", "cycle-navigation"])
def test_what_is_not_in_c_rasp_is_refused_in_a_line(name):
    with pytest.raises(RequestError, match=f"exact-crasp: {name} is not in C-RASP") as error:
        build(name)
    assert "\n" not in str(error.value)


def test_what_is_too_large_or_no_automaton_is_refused_in_a_line(monkeypatch):
    with pytest.raises(RequestError, match="exact-crasp: dyck-1 is not given by an automaton"):
        build("dyck-1")
    monkeypatch.setattr(exact_crasp, "MAX_WEIGHTS", 1000)
    with pytest.raises(RequestError, match="the 5 states of d3 take 42042 weights at width 77"):
        build("d3")


def test_the_symbol_before_a_string_is_a_line_too():
    program = CraspProgram({"begin": OneOf((BEGIN,))})
    network = HandWritten(network_of(program, "ab", [{"begin": 1.0}], "prefixes"), "ab")
    with torch.no_grad():
        logits = network(Batch(torch.tensor([[0, 1]])))
    assert logits[..., 0].tolist() == [[1, 0, 0]]
