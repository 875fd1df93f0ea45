"""What all linear recurrences promise, beside what every network does (test_contract)."""

from importlib import import_module

import pytest
import torch
from family_helpers import SPECS, build
from formalbench import Batch
from model_helpers import assert_same_gradients, strings

SIGNED = {"eigenvalues": "-1..1"}
CASES = [
    *((name, {}) for name in SPECS),
    ("deltanet", {**SIGNED, "heads": 2}),
    ("gated-deltanet", {**SIGNED, "heads": 2}),
    ("deltaproduct", {"gate": True, "reflections": 3, "heads": 2, "convolution": 1}),
    ("deltaproduct", {"heads": 2, "convolution": 0}),
    ("mamba", {**SIGNED, "convolution": 2}),
    ("mamba-2", {**SIGNED, "heads": 1}),
    ("rwkv-7", {"heads": 2}),
    ("rwkv-7", {"heads": 2, "shell": "shared"}),
    ("rwkv-7", {"feed_forward": 0}),
    ("linear-attention", {"heads": 1}),
    ("retnet", {"heads": 2}),
    ("gla", {"heads": 2}),
    ("mingru", {"candidate": "linear"}),
    ("minlstm", {"normalised": True}),
    ("mlstm", {"heads": 2}),
    ("slice", {"states": 8}),
    ("slice", {"states": 8, "normed": "block"}),
    ("slice", {"states": 8, "shell": "slice", "normed": "block"}),
    ("slice", {"transitions": "dense", "states": 5}),
    ("slice", {"transitions": "low-rank", "states": 6, "rank": 2}),
]
every_case = pytest.mark.parametrize(("name", "options"), CASES)


NEVER_ZERO = {"mlstm": "LEAST_NORM", "slice": "LEAST"}
"""What keeps a family from dividing by 0 is no part of its equations."""


def equations_of(name, monkeypatch):
    module, _, builder = SPECS[name].factory.partition(":")
    module = import_module(module)
    if name in NEVER_ZERO:
        monkeypatch.setattr(module, NEVER_ZERO[name], 0.0)
    return getattr(module, builder.replace("build_", "naive_"))


@every_case
def test_mixers_do_what_their_equations_say(name, options, monkeypatch):
    """Answers and gradients, symbol by symbol, in chunks, and all at once."""
    naive = equations_of(name, monkeypatch)
    x_TW = torch.randn(11, 8, dtype=torch.float64, requires_grad=True)
    for chunk in (1, 4, 64):
        mixer = build(name, options, layers=1, chunk=chunk).blocks[0].mixer
        wanted = (x_TW, *mixer.parameters())
        found, want = mixer(x_TW[None], ())[0][0], naive(mixer, x_TW)
        torch.testing.assert_close(found, want, rtol=1e-10, atol=1e-10)
        assert_same_gradients(found, want, wanted)


@every_case
def test_no_symbols_change_nothing(name, options):
    mixer = build(name, options, layers=1).blocks[0].mixer
    none_B0W = torch.zeros(2, 0, 8, dtype=torch.float64)
    _, state = mixer(torch.randn(2, 3, 8, dtype=torch.float64))
    for before in (None, state):
        change_B0W, after = mixer(none_B0W, before)
        assert change_B0W.shape == none_B0W.shape
        assert after is before


@every_case
def test_from_left_to_right_as_at_once(name, options):
    network = build(name, options)
    symbols = strings(3, 13)
    whole = network(Batch(symbols))
    memories, states, kept = [()] * 2, [], set()
    for time in range(13):
        state, memories = network.go_on(symbols[:, time : time + 1], memories)
        states.append(state)
        kept.add(tuple(part.shape for memory in memories for part in memory))
    assert len(kept) == 1  # the sizes are limited independently of the reads
    torch.testing.assert_close(torch.cat(states, dim=1), whole, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["deltanet", "gated-deltanet"])
def test_signed_eigenvalues_write_up_to_twice_as_much(name):
    """1 - beta is an eigenvalue of a step: beta goes to 1, or to 2 where it may be negative."""
    rates = {}
    for eigenvalues in ("0..1", "-1..1"):
        mixer = build(name, {"eigenvalues": eigenvalues}, layers=1).blocks[0].mixer
        with torch.no_grad():
            mixer.rate.weight.zero_()
            mixer.rate.bias.fill_(50.0)
        x_BTW = torch.randn(1, 3, 8, dtype=torch.float64)
        steps = mixer.steps(x_BTW, mixer.project(x_BTW))
        rates[eigenvalues] = torch.linalg.vector_norm(steps.key, dim=-1)
    for eigenvalues, most in (("0..1", 1.0), ("-1..1", 2.0)):
        torch.testing.assert_close(rates[eigenvalues], torch.full_like(rates[eigenvalues], most))
