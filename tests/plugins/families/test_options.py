"""Options that no network can have are one line, before anything trains."""

from __future__ import annotations

import pytest
import torch
from family_helpers import at_first, build
from formalbench.contracts.errors import RequestError
from formalbench.host.options import make_config, option_facts
from formalbench.theory.theorems import about
from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from formalbench_models.plugin import formalbench_models

EVERY = {spec.name: spec for spec in formalbench_models()}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("deltanet", {"width": 64, "heads": 3}, "deltanet: width must be divisible by heads"),
        ("mamba-2", {"heads": 5}, "mamba-2: width must be divisible by heads: 64 is not by 5"),
        ("retnet", {"width": 12, "heads": 4}, "width / heads must be even here, not 3"),
        ("mlstm", {"block": 7}, "mlstm: width must be divisible by block: 64 is not by 7"),
        ("slice", {"states": 10}, "slice: states must be divisible by block: 10 is not by 4"),
        ("slice", {"shell": "slice", "width": 32}, "slice: shell=slice .*: 64 is not 32"),
        ("slice", {"normed": "block", "block": 1}, "slice: normed=block leaves nothing but"),
        ("slice", {"chunk": 65}, "slice: chunk=65: must be at most 64"),
        ("mamba", {"chunk": 0}, "mamba: chunk=0: must be at least 1"),
        ("deltanet", {"eigenvalues": "-2..1"}, r"eigenvalues=-2\.\.1: must be '0\.\.1' or"),
        ("lru", {"slowest": 0, "fastest": 0}, "lru: slowest=0: must be at least 0.001"),
        ("lru", {"fastest": 0}, "lru: fastest=0: must be at least 0.001"),
        ("lru", {"slowest": 0.5}, "lru: slowest must be at least fastest: 0.5 < 0.9"),
        ("gla", {"eigenvalues": "-1..1"}, "gla has no option eigenvalues|option of gla"),
        ("xlstm", {"every": 3}, "every is 3, of 2 layers: none would be"),
        ("transformer", {"width": 10}, "transformer: width must be divisible by heads: 10 is not"),
        ("transformer", {"width": 12, "positions": "rope"}, "width / heads must be even here"),
        ("transformer", {"width": 12, "positions": "xpos"}, "width / heads must be even here"),
        ("transformer", {"randomised": 99, "positions": "none"}, "randomised goes with positions"),
        (
            "transformer",
            {"randomised": 32769, "positions": "xpos"},
            "is at most 32768 with .* xpos",
        ),
        ("transformer", {"shifted": 9}, "shifted goes with positions learned"),
        (
            *("transformer", {"shifted": 9, "positions": "learned", "randomised": 99}),
            "not with randomised",
        ),
        ("transformer", {"forget": True, "attention": "stick-breaking"}, "not stick-breaking"),
        ("transformer", {"positions": "t6"}, "t5"),
        ("looped-transformer", {"times": 0}, "must be at least 1"),
        ("looped-transformer", {"rounds": "sqrt"}, "log"),
        ("looped-transformer", {"times": 513, "layers": 2}, r"at most 1024, not 2 \* 513"),
        ("regulargpt", {"width": 10, "heads": 4}, "must be divisible by heads: 10 is not by 4"),
    ],
)
def test_they_are_refused(name, options, message):
    with pytest.raises(RequestError, match=message) as error:
        make_config(EVERY[name], options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("modulus", [0.001, 0.9999])
def test_a_ring_may_be_a_circle(modulus):
    mixer = at_first("lru", slowest=modulus, fastest=modulus).blocks[0].mixer
    assert all(parameter.isfinite().all() for parameter in mixer.parameters())
    # What is read is scaled so that the state of white noise has the variance of the noise.
    scale = torch.full_like(mixer.log_scale, (1 - modulus**2) ** 0.5)
    torch.testing.assert_close(mixer.log_scale.exp(), scale, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("spec", LINEAR_RECURRENCES, ids=lambda spec: spec.name)
def test_what_theory_says_of_each(spec):
    """Which theorems apply to a network depends on its mechanisms and eigenvalues."""
    found = {theorem.name for theorem in about(build(spec.name, {}).traits)}
    diagonal, drift = {"diagonal-in-tc0", "diagonal-not-solvable"}, "affine-recurrences-drift"
    wanted = {
        "deltaproduct": {drift, "products-of-reflections", "permutations-by-reflections"},
        "deltanet": {drift, "overwriting", "positive-eigenvalues"},
        "gated-deltanet": {drift, "overwriting", "positive-eigenvalues"},
        "rwkv-7": {drift},
        "slice": {drift, "matrices"},
        "s4d": {*diagonal, "time-invariant"},
        "lru": {*diagonal, "time-invariant"},
        "retnet": {*diagonal, "time-invariant"},
        "linear-attention": {*diagonal, "non-negative-eigenvalues", "time-invariant"},
    }
    gated = {*diagonal, drift, "non-negative-gates", "non-negative-eigenvalues"}
    assert found == wanted.get(spec.name, gated)
    if "eigenvalues" in option_facts(spec):
        signed = {
            theorem.name for theorem in about(build(spec.name, {"eigenvalues": "-1..1"}).traits)
        }
        assert "non-negative-gates" not in signed


def test_symbols_can_begin_smaller():
    plain, small = at_first("mamba-2"), at_first("mamba-2", embedding_scale=0.02)
    torch.testing.assert_close(small.embedding.weight, 0.02 * plain.embedding.weight)
    assert torch.equal(small.blocks[1].mixer.merge.weight, plain.blocks[1].mixer.merge.weight)


def test_deltanet_can_begin_small():
    network = at_first("deltanet", initial="small")
    assert 0.6 < network.embedding.weight.std() < 1.4
    for block in network.blocks:
        for layer in (block.mixer.project, block.mixer.convolution, block.feed_forward.up):
            assert 0.018 < layer.weight.std() < 0.022
            assert layer.bias is None or not layer.bias.any()
        for layer in (block.mixer.merge, block.feed_forward.down):  # one of four branches
            assert 0.009 < layer.weight.std() < 0.011
        assert not block.mixer.rate.bias.any()
