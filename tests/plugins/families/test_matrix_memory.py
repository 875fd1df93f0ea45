"""The memory in chunks gives what the definition gives, symbol by symbol."""

from __future__ import annotations

import pytest
import torch
from formalbench_models.layers.decays import products
from formalbench_models.layers.matrix_memory import Steps, by_chunk, by_symbol, remember

SIZES = {"batch": 2, "heads": 2, "rows": 3, "columns": 4}
KINDS = ("plain", "head", "rows", "delta", "signed", "low-rank", "rule", "head-rule", "rows-rule")
LEAST = {"slow-rows": 0.0067, "slow-low-rank": 0.5, "slow-rows-rule": 0.5}
"""What no decay of some kinds is below, with which blocks begin larger."""
EVERY = (*KINDS, *LEAST)


def make_steps(kind: str, length: int, dtype: torch.dtype = torch.float64) -> Steps:
    torch.manual_seed(length)

    def draw(size: int) -> torch.Tensor:
        return torch.randn(SIZES["batch"], SIZES["heads"], length, size, dtype=dtype)

    query, key, value = draw(SIZES["rows"]), draw(SIZES["rows"]), draw(SIZES["columns"])
    unit = torch.nn.functional.normalize(key, dim=-1)
    rate = 2 * draw(1).sigmoid()
    if kind == "plain":
        return Steps(query, key, value)
    if kind == "head":
        return Steps(query, key, value, draw(1).sigmoid())
    if kind == "rows":
        return Steps(query, key, value, draw(SIZES["rows"]).sigmoid())
    if kind == "delta":
        return Steps(query, rate * unit, value, None, -rate * unit, unit)
    if kind == "signed":  # some decays are negative, one is 0
        decay = draw(1).tanh()
        decay[:, :, length // 2] = 0
        return Steps(query, rate * unit, value, decay, -rate * decay * unit, unit)
    if kind == "rule":  # what is read is written back with the value
        return Steps(query, rate * unit, value, read=-unit)
    if kind == "head-rule":
        decay = draw(1).sigmoid()
        return Steps(query, rate * unit, value, decay, read=-decay * unit)
    decay = draw(SIZES["rows"]).sigmoid()
    if kind in LEAST:
        decay = LEAST[kind] + (1 - LEAST[kind]) * decay
        decay[:, :, length // 2 :] = LEAST[kind]
    if kind == "slow-rows":
        return Steps(query, key, value, decay)
    read = unit * draw(SIZES["rows"]).sigmoid()
    if kind.endswith("rule"):
        return Steps(query, unit, value, decay, read=-read)
    return Steps(query, key, value, decay, read=read, write=-unit)


def start_of(steps: Steps) -> torch.Tensor:
    sizes = tuple(SIZES.values())
    return torch.randn(sizes, dtype=steps.key.dtype)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(("length", "chunk"), [(1, 4), (7, 4), (37, 16), (33, 5), (9, 64)])
def test_chunks_give_the_same_answers(kind, length, chunk):
    steps = make_steps(kind, length)
    start = start_of(steps)
    found = by_chunk(steps, start, chunk, LEAST.get(kind, 0.0))
    for mine, other in zip(found, by_symbol(steps, start), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", EVERY)
def test_chunks_give_the_same_gradients(kind):
    steps = make_steps(kind, 37)
    parts = [start_of(steps), *(part for part in steps if part is not None)]
    for part in parts:
        part.requires_grad_()
    found = []
    for chunk in (16, 1):
        answers, state = remember(steps, parts[0], chunk, least=LEAST.get(kind, 0.0))
        loss = answers.square().sum() + state.square().sum()
        found.append(torch.autograd.grad(loss, parts))
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("chunk", [1, 2, 5, 8])
def test_products_of_decays(chunk):
    decay = torch.randn(3, chunk, dtype=torch.float64)
    decay[0, chunk // 2] = 0
    found = products(decay)
    for late in range(chunk):
        for early in range(chunk):
            want = decay[:, early + 1 : late + 1].prod(-1) * (early <= late)
            torch.testing.assert_close(found[:, late, early], want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("chunk", [32, 128])
def test_in_single_precision_the_fastest_decays_lose_no_number(chunk):
    """All at their bound, so that quotients are as large as they can be."""
    for kind, least in LEAST.items():
        steps = make_steps(kind, 130, torch.float32)
        steps = steps._replace(decay=torch.full_like(steps.decay, least))
        steps.decay.requires_grad_()
        answers, _ = remember(steps, None, chunk, least=least)
        want, _ = remember(Steps(*(None if p is None else p.double() for p in steps)), None, 1)
        torch.testing.assert_close(answers.double(), want, rtol=1e-4, atol=1e-4)
        (gradient,) = torch.autograd.grad(answers.square().sum(), steps.decay)
        (wanted,) = torch.autograd.grad(want.square().sum(), steps.decay)
        torch.testing.assert_close(gradient, wanted, rtol=1e-2, atol=1e-2)


def test_half_precision_is_computed_in_single():
    steps = make_steps("delta", 40, torch.float32)
    half = Steps(*(None if part is None else part.bfloat16() for part in steps))
    exact = Steps(*(None if part is None else part.float() for part in half))
    answers, state = remember(half, None, 16)
    want, _ = remember(exact, None, 16)
    assert answers.dtype == torch.bfloat16
    assert state.dtype == torch.float32
    torch.testing.assert_close(answers.float(), want, rtol=2**-7, atol=1e-6)
