from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from formalbench import Batch
from formalbench.host import PluginHost
from formalbench_models.layers import attention
from formalbench_models.layers.fused_attention import fused_attention


def inputs(runs=3):
    query, key, value = (torch.randn(runs, 2, 4, 5, 8, dtype=torch.float64) for _ in range(3))
    return query, key, value


@pytest.mark.parametrize("shape", [(3, 2, 4, 5, 5), (3, 1, 1, 5, 5), (2, 4, 5, 5), (1, 1, 5, 5)])
@torch.no_grad()
def test_vmap_over_any_dimension_equals_run_by_run(shape):
    query, key, value = inputs()
    bias = torch.randn(shape, dtype=torch.float64)
    own = len(shape) == 5
    want = torch.stack(
        [fused_attention(query[r], key[r], value[0], bias[r] if own else bias) for r in range(3)]
    )
    got = torch.vmap(fused_attention, in_dims=(1, 0, None, 0 if own else None))(
        query.movedim(0, 1), key, value[0], bias
    )
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@torch.no_grad()
def test_it_is_the_formula():
    query, key, value = (x[0] for x in inputs())
    want = (query @ key.mT).softmax(-1) @ value
    torch.testing.assert_close(fused_attention(query, key, value, None), want, rtol=0, atol=1e-12)


def gradients_of(attend, parts, bias, wanted):
    mixed = attend(*parts, bias)
    return mixed, torch.autograd.grad(mixed, parts, wanted)


def plain(query, key, value, bias):
    logits = query @ key.mT if bias is None else query @ key.mT + bias
    return logits.softmax(-1) @ value


def hidden(shape):
    """Return what hides some keys, the first never."""
    bias = torch.where(torch.rand(shape) < 0.3, -math.inf, torch.randn(shape)).double()
    bias[..., 0] = 0.0
    return bias


@pytest.mark.parametrize("shape", [None, (2, 4, 5, 5), (2, 1, 1, 5), (1, 4, 5, 5), (1, 1, 5, 5)])
def test_training_has_the_gradients_of_the_formula(shape):
    parts = [x[0].transpose(1, 2).contiguous().transpose(1, 2) for x in inputs()]
    for part in parts:
        part.requires_grad_()
    bias, wanted = None if shape is None else hidden(shape), torch.randn(2, 4, 5, 8).double()
    got, want = (gradients_of(f, parts, bias, wanted) for f in (fused_attention, plain))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("runs", [1, 3])
def test_a_causal_mask_is_left_to_the_kernel(runs):
    parts, wanted = inputs(runs), torch.randn(runs, 2, 4, 5, 8).double()
    for part in parts:
        part.requires_grad_()
    bias = torch.full((5, 5), -math.inf).double().triu(1)

    def masked(query, key, value, _):
        return plain(query, key, value, bias)

    def alone(query, key, value, _):
        if runs == 1:
            return fused_attention(query[0], key[0], value[0], None, causal=True)[None]
        return torch.vmap(partial(fused_attention, bias_BHQN=None, causal=True))(query, key, value)

    got, want = (gradients_of(f, parts, None, wanted) for f in (alone, masked))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 2, 4, 5, 5), (2, 1, 1, 5), (1, 1, 5, 5)])
def test_training_under_vmap_equals_run_by_run(shape):
    parts, bias = inputs(), hidden(shape)
    for part in parts:
        part.requires_grad_()
    wanted = torch.randn(3, 2, 4, 5, 8).double()
    own = 0 if len(shape) == 5 else None
    together = torch.vmap(fused_attention, in_dims=(0, 0, 0, own))
    apart = torch.vmap(plain, in_dims=(0, 0, 0, own))
    got, want = (gradients_of(f, parts, bias, wanted) for f in (together, apart))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


def test_a_bias_that_is_trained_is_refused():
    query, key, value = (x[0] for x in inputs())
    bias = torch.zeros(1, 1, 5, 5, dtype=torch.float64, requires_grad=True)
    with pytest.raises(ValueError, match="cannot be trained"):
        fused_attention(query, key, value, bias)


LEARNED_BIAS = ["relative", "fire", "kerple-log", "kerple-power", "t5"]
POSITIONS = [
    (positions, causal)
    for positions in ["none", "sinusoidal", "learned", "alibi", "rope", *LEARNED_BIAS]
    for causal in (False, True)
]


@pytest.mark.parametrize(("positions", "causal"), [*POSITIONS, ("xpos", True), ("path", True)])
def test_a_transformer_has_the_same_gradients_with_the_weights(monkeypatch, positions, causal):
    """Among them those of biases that are trained, which keep the weights."""
    task = PluginHost.load().task("parity").at_lengths((6, 9), (6, 9))
    options = {"positions": positions, "causal": causal, "width": 16, "log_length": True}
    torch.manual_seed(0)
    network = PluginHost.load().network("transformer", task, options).double()
    batch = Batch(torch.randint(2, (4, 9)), torch.tensor([9, 6, 8, 7]))
    found = []
    for first in (1, 1000):
        monkeypatch.setattr(attention, "TRAINED_FROM", first)
        loss = network(batch).square().sum()
        found.append(torch.autograd.grad(loss, list(network.parameters()), allow_unused=True))
    torch.testing.assert_close(*found, rtol=0, atol=1e-10)
    assert network.blocks[0].attention.learned_bias == (positions in [*LEARNED_BIAS, "path"])


def test_training_in_bf16_stays_near_training_with_the_weights(monkeypatch):
    """Rotated queries and keys are wider than values there."""
    host = PluginHost.load()
    task = host.task("parity").at_lengths((140, 150), (140, 150))
    torch.manual_seed(0)
    network = host.network("transformer", task, {"positions": "rope", "width": 16})
    batch = Batch(torch.randint(2, (4, 150)), torch.tensor([150, 140, 147, 149]))
    found = []
    for first in (1, 1000):
        monkeypatch.setattr(attention, "TRAINED_FROM", first)
        with torch.autocast("cpu", torch.bfloat16):
            loss = network(batch).float().square().sum()
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        found.append(torch.cat([gradient.flatten() for gradient in gradients]))
    fused, plainly = found
    assert (fused - plainly).norm() < 0.03 * plainly.norm()
