"""One head, in all its forms, against the definition."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from formalbench_models.constructions import heads
from formalbench_models.constructions.construction import ONE, Head
from formalbench_models.constructions.heads import AttentionHead

PLACE = {"a": 0, "b": 1, "c": 2, "out": 3, "also": 4}
VALUES = {"out": {"a": 2.0, ONE: 1.0}, "also": {"b": -1.0}}
QUERIES = {
    "uniform": ((), ()),
    "constant": (({ONE: 2.0}, {ONE: -0.5}), ({"a": 1.0}, {"b": 1.0, ONE: 0.25})),
    "reading": (({"b": 1.5, ONE: 1.0},), ({"a": 1.0, "c": -2.0},)),
}


def cases():
    for query, attention, mask, strict, log_length in itertools.product(
        QUERIES, ("soft", "hard"), ("none", "future", "past"), (False, True), (False, True)
    ):
        ties = ("first", "last", "mean") if attention == "hard" else ("first",)
        for tie in ties:
            if strict and mask == "none":
                continue
            yield query, attention, tie, mask, strict, log_length


def make(
    query, attention="soft", ties="first", mask="none", strict=False, log_length=False, **more
):
    queries, keys = QUERIES[query]
    return Head("h", VALUES, queries, keys, attention, ties, mask, strict, 1.5, log_length, **more)


def evaluate(form, x_D):
    return sum(v if name == ONE else v * x_D[PLACE[name]].item() for name, v in form.items())


def naive(head, x_MD, i):
    """One query, from the definition."""
    n = len(x_MD)
    seen = {"none": range(n), "future": range(i + 1), "past": range(i, n)}[head.mask]
    seen = [j for j in seen if not (head.strict and j == i)]
    if not seen:
        return [0.0] * len(VALUES)
    pairs = list(zip(head.query, head.key, strict=True))
    logits = [sum(evaluate(q, x_MD[i]) * evaluate(k, x_MD[j]) for q, k in pairs) for j in seen]
    if head.attention == "hard":
        best = [place for place, logit in enumerate(logits) if logit == max(logits)]
        best = {"first": best[:1], "last": best[-1:], "mean": best}[head.ties]
        weights = [float(place in best) for place in range(len(seen))]
    else:
        factor = head.scale * (math.log(len(seen)) if head.log_length else 1.0)
        weights = [math.exp(factor * logit) for logit in logits]
    return [
        sum(w * evaluate(form, x_MD[j]) for w, j in zip(weights, seen, strict=True)) / sum(weights)
        for form in VALUES.values()
    ]


@pytest.mark.parametrize(
    ("query", "attention", "ties", "mask", "strict", "log_length"), list(cases())
)
@torch.no_grad()
def test_a_head_equals_its_definition(
    query, attention, ties, mask, strict, log_length, monkeypatch
):
    head = make(query, attention, ties, mask, strict, log_length)
    module = AttentionHead(head, PLACE)
    generator = torch.Generator().manual_seed(1)
    # Few values, so that there are ties.
    x_BMD = torch.randint(-1, 2, (2, 7, 5), generator=generator).double()
    want = torch.zeros(2, 7, 5, dtype=torch.float64)
    for row, i in itertools.product(range(2), range(7)):
        want[row, i, 3:] = torch.tensor(naive(head, x_BMD[row], i), dtype=torch.float64)
    monkeypatch.setattr(heads, "MOST_LOGITS", 2 * 7 * 3)  # three queries at a time
    for first, stop in ((0, 7), (0, 1), (6, 7), (2, 5)):
        got = module(x_BMD, first, stop).expand(2, stop - first, 5)
        torch.testing.assert_close(got, want[:, first:stop], rtol=0, atol=1e-12)
    weights = module.weights(x_BMD, 0, 7).expand(2, 7, 7)
    mixed = weights @ module.value(x_BMD) @ module.output.T
    torch.testing.assert_close(mixed, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@torch.no_grad()
def test_running_averages_survive_logits_of_any_size(dtype):
    # A sum of exp(logit), or of exp(logit - largest of all), would be inf or 0/0 at the start.
    head = Head("h", {"out": {"a": 1}}, ({ONE: 1.0},), ({"b": 1.0},), mask="future", scale=100.0)
    x_BMD = torch.zeros(1, 6, 5, dtype=dtype)
    x_BMD[0, :, 0] = torch.arange(6)
    x_BMD[0, :, 1] = torch.tensor([-900.0, -800.0, -800.0, 0.0, 900.0, -900.0])
    out = AttentionHead(head, PLACE).to(dtype)(x_BMD, 0, 6)[0, :, 3]
    assert out.tolist() == [0.0, 1.0, 1.5, 3.0, 4.0, 4.0]


@torch.no_grad()
def test_long_running_sums_are_exact_where_they_can_be():
    head = Head("depth", {"out": {"a": 1, "b": -1}}, mask="future")
    symbols = torch.randint(2, (1, 20_000), generator=torch.Generator().manual_seed(0))
    x_BMD = torch.zeros(1, 20_000, 5, dtype=torch.float32)
    x_BMD.scatter_(2, symbols[..., None], 1.0)
    out = AttentionHead(head, PLACE).float()(x_BMD, 0, 20_000)[0, :, 3]
    depth = (1 - 2 * symbols[0]).cumsum(0)
    assert torch.equal(out, depth.float() / torch.arange(1, 20_001))


def test_gradients_reach_the_parameters():
    for query, mask in itertools.product(QUERIES, ("none", "future")):
        module = AttentionHead(make(query, mask=mask), PLACE)
        x_BMD = torch.randn(2, 5, 5, dtype=torch.float64)
        module(x_BMD, 0, 5).square().sum().backward()
        for name, parameter in module.named_parameters():
            assert parameter.grad.isfinite().all(), name
            # A bias of the keys moves all logits of a query alike.
            assert name == "key.bias" or parameter.grad.abs().max() > 0, name
