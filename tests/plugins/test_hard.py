from __future__ import annotations

import copy
import math

import pytest
import torch
from formalbench_models.constructions.heads import hard_weights
from formalbench_models.layers import attention
from formalbench_models.layers.attention import Attention, Span, choose, straight_through
from formalbench_models.layers.relative_positions import (
    AlibiAttention,
    RelativeAttention,
    RotaryAttention,
)
from model_helpers import shaken

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
    assert torch.equal(weights, hard_weights(logits, None, "first"))
    one, value = torch.ones(5, 2, 1, 1, dtype=dtype), torch.randn(5, 2, 9, 1).to(dtype)
    key, bias = torch.zeros(5, 2, 9, 1, dtype=dtype), logits[:, :, :1]
    assert torch.equal(choose(one, key, value, bias), (weights @ value)[:, :, :1])


def test_what_is_no_number_shows():
    logits = torch.tensor([[[[0.0, math.nan, 1.0]]]])
    assert straight_through(logits).isnan().any()
    ones = torch.ones(1, 1, 3, 1)
    with torch.no_grad():
        assert choose(ones[:, :, :1], ones, ones, logits).isnan().all()
