"""Exact models: closed forms, C-RASP programs, and automata as reflections."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from exact_helpers import every_string, hard_strings, judge, least_margin, make
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.source import Stream
from formalbench.contracts.theory import Theory
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.plugin import content_hash
from formalbench.theory.theorems import predict
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
from formalbench_models.constructions.exact_delta_product import MAX_STATES, transpositions
from formalbench_models.constructions.network import HandWritten

BITS_PER_NAT = 1 / math.log(2)

every_network = pytest.mark.parametrize("network", ["hand-written", "transformer"])


@pytest.mark.parametrize("c", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("network", "symbols"),
    [
        *product(("hand-written", "transformer"), (1, 9, 99)),
        *(("hand-written", symbols) for symbols in (577, 999, 20_001)),
    ],
)
def test_the_logit_of_parity_is_its_closed_form(c, symbols, network):
    exact, task = make("exact-parity", "parity", {"c": c, "network": network})
    n = symbols + 1
    counts = torch.tensor(sorted({0, 1, symbols // 3, symbols // 2, symbols - 1, symbols}))
    strings = (torch.arange(symbols) < counts[:, None]).long()
    strings = strings[:, torch.randperm(symbols)]
    _, _, logit = judge(exact, task, strings)
    want = -((-1.0) ** counts.double()) * 2 / n**2 * math.tanh(c)
    assert ((logit - want) / want).abs().max() < (1e-12 if n <= 1000 else 1e-9)


@pytest.mark.parametrize("log_length", [False, True])
@pytest.mark.parametrize("c", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("network", "symbols"),
    [
        *product(("hand-written", "transformer"), (1, 2, 10)),
        *(("hand-written", symbols) for symbols in (999, 20_001)),
    ],
)
def test_the_logit_of_first_is_its_closed_form(c, log_length, symbols, network):
    options = {"c": c, "log_length": log_length, "network": network}
    exact, task = make("exact-first", "first", options)
    strings = hard_strings(task, symbols, count=3)
    _, _, logit = judge(exact, task, strings)
    n = symbols + 1
    weight = math.log(n) * c if log_length else c
    want = math.exp(weight) / (math.exp(weight) + n - 1) * (strings[:, 0].double() - 0.5)
    assert ((logit - want) / want).abs().max() < (1e-12 if n <= 1000 else 1e-9)


@pytest.mark.parametrize("most", ["", "-3"])
@pytest.mark.parametrize("pairs", [1, 2, 50, 500])
def test_the_logit_of_a_dyck_member_is_its_closed_form(most, pairs):
    network, task = make(f"exact-dyck-1{most}", f"dyck-1{most}")
    members = torch.from_numpy(task.source.sample_members(Stream(pairs), 2 * pairs, 20))
    _, _, logit = judge(network, task, members)
    want = 0.5 / (2 * pairs + 1) ** 2
    assert ((logit - want) / want).abs().max() < 1e-12
    # Others are at least as far on the other side.
    near = torch.from_numpy(task.source.near_misses(Stream(pairs), 2 * pairs, 20))
    assert judge(network, task, near)[2].max() < -want * (1 - 1e-9)


@pytest.mark.parametrize("language", ["parity", "first", "dyck-1", "dyck-1-2"])
@pytest.mark.parametrize("eta", [0.001, 0.5])
def test_without_epsilon_the_cross_entropy_is_as_wanted_at_every_length(language, eta):
    network, task = make(f"exact-{language}", language, {"eps": 0.0, "eta": eta})
    for length in (1, 2, 3, 10, 99, 1000):
        bits = judge(network, task, hard_strings(task, length, count=4))[1]
        assert bits.max() <= eta * BITS_PER_NAT * (1 + 1e-9), length
        assert bits.min() >= eta * BITS_PER_NAT * (1 - 1e-9), length
    assert network.traits.constants["eta"] == eta


@pytest.mark.parametrize("eps", [None, 0.0, 1e-5, 0.1])
@pytest.mark.parametrize("eta", [0.001, 0.3])
def test_proposition_3_bounds_the_cross_entropy_of_first(eps, eta):
    options = {"log_length": True, "eta": eta}
    options |= {} if eps is None else {"eps": eps, "norm": True}
    network, task = make("exact-first", "first", options)
    for length in (1, 2, 3, 10, 100, 1000, 10_000):
        bits = judge(network, task, hard_strings(task, length, count=4))[1]
        assert bits.max() <= eta * BITS_PER_NAT * (1 + 1e-9), length


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0, 4.0, 5.5])
@every_network
def test_the_flawed_transformer_fails_exactly_where_it_must(c, network):
    flawed, task = make("flawed-first", "first", {"c": c, "network": network})
    for length in range(2, 400, 7):
        n = length + 1
        one = torch.zeros(1, length, dtype=torch.int64)
        one[0, 0] = 1
        assert judge(flawed, task, one)[0] == (math.exp(c) <= n - 1), length
        assert judge(flawed, task, 1 - one)[0] == (math.exp(c) < n - 3), length


def test_log_length_scaling_mends_it_only_if_c_is_1_or_more():
    weak, task = make("flawed-first", "first", {"c": 0.9, "log_length": True})
    one_hot = torch.zeros(1, 10_000, dtype=torch.int64)
    one_hot[0, 0] = 1
    assert judge(weak, task, one_hot)[0] == 1


def test_the_steps_of_the_parity_network_are_those_of_the_paper():
    network, _ = make("exact-parity", "parity")
    string = torch.tensor([[1, 0, 1, 1, 0]])
    trace = {name: tensor[0].tolist() for name, tensor in network.trace(Batch(string)).items()}
    sixth = 1 / 6
    assert trace["input[is 1]"] == [0, 1, 0, 1, 1, 0]
    assert trace["input[i/n]"] == [i / 6 for i in range(6)]
    assert trace["layer.1.attention[k/n]"] == [0.5] * 6
    assert trace["layer.1.attention[1/n]"] == [sixth] * 6
    hat = trace["layer.1.feed_forward.1[[i=k]/n]"]
    assert hat == pytest.approx([0, 0, 0, sixth, 0, 0], abs=1e-15)
    odd = trace["layer.2.head.odd.attention"][0]
    assert odd[1] / odd[0] == pytest.approx(math.exp(2), rel=1e-12)
    assert sum(odd) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 10])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_rumelharts_network_is_right_at_its_length_and_refuses_others(n, dtype):
    network, task = make("ffnn-parity", "parity", {"n": n})
    network.to(dtype)
    assert network.traits.lengths == (n, n)
    errors, _, logit = judge(network, task, every_string(n))
    assert errors == 0
    assert (logit.abs() == 0.5).all()
    for length in (0, n + 1):
        with pytest.raises(RequestError, match=f"ffnn-parity has {n} inputs.* length {length}"):
            network(Batch(every_string(length)))


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
    network, _ = make("exact-crasp", "d3")
    assert network.traits.causal
    assert network.traits.depth == len(network.layers) == 4
    assert predict(network.traits, Theory.least("c-rasp"))[0] == "can"


def test_what_is_too_large_is_refused_in_a_line(monkeypatch):
    monkeypatch.setattr(exact_crasp, "MAX_WEIGHTS", 1000)
    with pytest.raises(RequestError, match="the 5 states of d3 take 42042 weights at width 77"):
        make("exact-crasp", "d3")


def test_the_symbol_before_a_string_is_a_line_too():
    program = CraspProgram({"begin": OneOf((BEGIN,))})
    network = HandWritten(network_of(program, "ab", [{"begin": 1.0}], "prefixes"), "ab")
    with torch.no_grad():
        logits = network(Batch(torch.tensor([[0, 1]])))
    assert logits[..., 0].tolist() == [[1, 0, 0]]


def test_a_reset_forgets_what_was_before(tmp_path):
    file = tmp_path / "flip.yaml"
    file.write_text(
        "name: flip\nalphabet: abc\nstates: [p, q]\nstart: p\naccept: [q]\n"
        "transitions: {p: {a: q, b: p, c: p}, q: {a: p, b: p, c: q}}\n"
    )
    host = PluginHost.load()
    host.load_local(LocalPlugin(file, content_hash(file)))
    task = host.task("flip:tag")
    network = host.network("exact-deltaproduct", task, {})
    for length in range(1, 7):
        assert least_margin(network, task, every_string(length, 3)) > 0


@pytest.mark.parametrize("states", [1, 2, 5, 6])
def test_transpositions_make_the_permutation(states):
    for _ in range(20):
        targets = torch.randperm(states).tolist()
        steps = transpositions(targets)
        assert len(steps) <= max(0, states - 1)
        for start in range(states):
            state = start
            for key, _value in steps:
                one, other = key
                state = {one: other, other: one}.get(state, state)
            assert state == targets[start]


def test_its_transitions_have_the_eigenvalues_it_tells():
    network, _ = make("exact-deltaproduct", "cycle-navigation")
    for key_Q in network.keys.weight.unflatten(-1, (network.steps, -1)).flatten(0, 1):
        values = torch.linalg.eigvalsh(torch.eye(5).double() - torch.outer(key_Q, key_Q))
        assert values.min() >= -1 - 1e-12
        assert values.max() <= 1 + 1e-12
    assert network.traits.eigenvalues == "[-1, 1]"


@pytest.mark.parametrize("language", ["group-a4xz5", "group-s5"])
def test_as_many_states_as_there_are_group_elements_fit(language):
    network, task = make("exact-deltaproduct", language)
    assert network.traits.width == len(task.source.automaton.classes) <= MAX_STATES
