"""Automata of permutations and resets, as reflections: right on every short string, and on long."""

from __future__ import annotations

import pytest
import torch
from exact_helpers import every_string, get_host, least_margin, make
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.plugin import content_hash
from formalbench_models.constructions.exact_delta_product import MAX_STATES, transpositions

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_states_are_whole_numbers_in_every_precision(dtype):
    network, task = make("exact-deltaproduct", "group-s3:tag")
    trace = network.to(dtype).trace(Batch(torch.randint(len(task.alphabet), (4, 700))))
    states = trace["automaton.state"].double()
    assert torch.equal(states, states.round())


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


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("tomita-3", "symbol 0 of tomita-3 neither permutes the states nor resets"),
        ("modular-arithmetic", "is not given by an automaton"),
        ("group-a4xz5", ""),
        ("group-s5", ""),
    ],
)
def test_what_it_cannot_be(language, message):
    task = get_host().task(language)
    if message:
        with pytest.raises(RequestError, match=message) as error:
            get_host().network("exact-deltaproduct", task, {})
        assert str(error.value).startswith("exact-deltaproduct: ")
    else:
        states = len(task.source.automaton.classes)
        assert states <= MAX_STATES
        assert get_host().network("exact-deltaproduct", task, {}).traits.width == states
