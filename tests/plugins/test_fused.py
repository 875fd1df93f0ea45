"""Fused and hard attention against their formulas."""

import copy
import math
from functools import partial

import pytest
import torch
from formalbench import Batch
from formalbench.host import PluginHost
from formalbench_models.constructions.network import hard_weights
from formalbench_models.layers import attention
from formalbench_models.layers.attention import Attention, Span, choose, straight_through
from formalbench_models.layers.fused_attention import fused_attention
from formalbench_models.layers.relative_positions import (
    AlibiAttention,
    RelativeAttention,
    RotaryAttention,
)
from model_helpers import shaken


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


KINDS = (Attention, AlibiAttention, RotaryAttention, RelativeAttention)
every_kind = pytest.mark.parametrize("kind", KINDS)
causal_or_not = pytest.mark.parametrize("causal", [False, True])
LENGTHS = torch.tensor([7, 4, 1])


def make(kind, *, causal=False):
    return shaken(kind(8, 2, causal=causal, log_length=False, hard=True))


def sequence():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(3, 7, 8, dtype=torch.float64, generator=generator)


def chosen_weights(logits_BHQN):
    """Go through the keys of every query from left to right; the slow reference."""
    weights = torch.zeros_like(logits_BHQN)
    for row, logits_N in zip(weights.flatten(0, -2), logits_BHQN.flatten(0, -2), strict=True):
        best = 0
        for place, logit in enumerate(logits_N.tolist()):
            if logit > logits_N[best]:
                best = place
        row[best] = 1.0
    return weights


def projections(layer, x_BND):
    key_BND, value_BND = layer.key_value(x_BND).chunk(2, dim=-1)
    flat = (layer.query(x_BND), key_BND, value_BND)
    return [y_BND.unflatten(-1, (2, 4)).transpose(1, 2) for y_BND in flat]


@every_kind
@causal_or_not
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_the_answer_is_the_value_of_the_greatest_weight(kind, causal, lengths, monkeypatch):
    hard = make(kind, causal=causal)
    soft = copy.deepcopy(hard)
    soft.hard = False
    x_BND = sequence()
    monkeypatch.setattr(attention, "MOST_BIASES", 2 * 2 * 7 * 7)  # two strings at a time
    _, soft_weights = soft(x_BND, Span(0, 7), lengths, keep_weights=True)
    want_weights = chosen_weights(soft_weights)
    _, _, value_BHNE = projections(hard, x_BND)
    want = hard.merge_heads((want_weights @ value_BHNE).transpose(1, 2).flatten(2))
    for first, stop in ((0, 7), (0, 1), (6, 7), (2, 5)):
        for grad, keep in ((True, False), (False, True), (False, False)):
            with torch.set_grad_enabled(grad):
                got, weights = hard(x_BND, Span(first, stop), lengths, keep_weights=keep)
            torch.testing.assert_close(got, want[:, first:stop], rtol=0, atol=1e-12)
            if weights is not None:
                assert torch.equal(weights, want_weights[:, :, first:stop])


@every_kind
@causal_or_not
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_the_gradient_is_that_of_the_softmax(kind, causal, lengths):
    layer = make(kind, causal=causal)
    x_BND = sequence().requires_grad_()
    upstream = torch.randn(3, 7, 8, dtype=torch.float64)
    inputs = [x_BND, *layer.parameters()]
    answer, weights = layer(x_BND, Span(0, 7), lengths)
    got = torch.autograd.grad((answer * upstream).sum(), inputs)

    # What the choice mixed, as if the choice were a constant, and the softmax, as if what it
    # weighs were one.
    query_BHQE, key_BHNE, value_BHNE = projections(layer, x_BND)
    terms = layer.adjusted(query_BHQE, key_BHNE, Span(0, 7), lengths)
    logits_BHQN = terms.query @ terms.key.mT + (0.0 if terms.bias is None else terms.bias)
    mixed_BHQE = weights.detach() @ value_BHNE
    through_mix = (layer.merge_heads(mixed_BHQE.transpose(1, 2).flatten(2)) * upstream).sum()
    (to_mix,) = torch.autograd.grad(through_mix, mixed_BHQE, retain_graph=True)
    to_weights = (to_mix @ value_BHNE.mT).detach()
    through_logits = (to_weights * logits_BHQN.softmax(-1)).sum()
    want = torch.autograd.grad(through_mix + through_logits, inputs)
    for mine, reference in zip(got, want, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-9, atol=1e-12)
    names = [name for name, _ in layer.named_parameters()]
    assert got[1 + names.index("query.weight")].abs().max() > 1e-3


def test_the_jacobian_is_written_out():
    logits = torch.tensor([1.0, 3.0, 2.0, -math.inf], dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(straight_through, logits)
    shares = logits.softmax(-1)
    torch.testing.assert_close(jacobian, shares.diag() - shares[:, None] * shares)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_of_equal_logits_the_leftmost_wins(dtype):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randint(-2, 2, (5, 2, 6, 9), generator=generator).to(dtype)
    logits[..., 5:] = -math.inf
    weights = straight_through(logits)
    assert weights.dtype == dtype
    assert torch.equal(weights, chosen_weights(logits))
    assert torch.equal(weights, hard_weights(logits, None))
    one, value = torch.ones(5, 2, 1, 1, dtype=dtype), torch.randn(5, 2, 9, 1).to(dtype)
    key, bias = torch.zeros(5, 2, 9, 1, dtype=dtype), logits[:, :, :1]
    assert torch.equal(choose(one, key, value, bias), (weights @ value)[:, :, :1])


def test_what_is_no_number_shows():
    logits = torch.tensor([[[[0.0, math.nan, 1.0]]]])
    assert straight_through(logits).isnan().any()
    ones = torch.ones(1, 1, 3, 1)
    with torch.no_grad():
        assert choose(ones[:, :, :1], ones, ones, logits).isnan().all()
