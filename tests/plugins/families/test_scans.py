"""Memories and scans in chunks give what the definitions give, symbol by symbol."""

import pytest
import torch
from formalbench_models.families.mamba import selective_scan
from formalbench_models.layers.decays import products
from formalbench_models.layers.matrix_memory import (
    Steps,
    at_once,
    by_chunk,
    by_symbol,
    remember,
    without_last_state,
)
from formalbench_models.layers.scan import (
    matrix_scan,
    of_size_one,
    scan,
)
from model_helpers import assert_same_gradients
from torch.nn.functional import normalize

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
    torch.testing.assert_close(found, by_symbol(steps, start), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("length", [1, 2, 13, 40])
def test_short_strings_at_once_give_the_same(kind, length):
    steps = make_steps(kind, length)
    parts = [part.requires_grad_() for part in steps if part is not None]
    fast = at_once(steps, LEAST.get(kind, 0.0))
    slow = by_symbol(steps, torch.zeros_like(start_of(steps)))
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    fast, slow = (torch.cat([part.flatten() for part in pair]) for pair in (fast, slow))
    assert_same_gradients(fast, slow, parts)
    with without_last_state():
        answers, state = remember(steps, None, length + 1, least=LEAST.get(kind, 0.0))
    torch.testing.assert_close(answers.flatten(), slow[: answers.numel()], rtol=1e-10, atol=1e-10)
    assert not state.numel()


@pytest.mark.parametrize("kind", EVERY)
def test_chunks_give_the_same_gradients(kind):
    steps = make_steps(kind, 37)
    parts = [start_of(steps), *(part for part in steps if part is not None)]
    for part in parts:
        part.requires_grad_()
    fast, slow = (
        torch.cat((answers.flatten(), state.flatten()))
        for answers, state in (
            remember(steps, parts[0], chunk, least=LEAST.get(kind, 0.0)) for chunk in (16, 1)
        )
    )
    assert_same_gradients(fast, slow, parts)


@pytest.mark.parametrize("chunk", [1, 2, 5, 8])
def test_products_of_decays(chunk):
    decay = torch.randn(3, chunk, dtype=torch.float64)
    decay[0, chunk // 2] = 0
    decay.requires_grad_()
    assert torch.autograd.gradcheck(products, decay)
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


LENGTHS = [(1, 4), (7, 4), (37, 16), (33, 5), (9, 64)]


def numbers(length: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(length)
    factor = torch.randn(2, length, 3, dtype=dtype)
    factor[:, length // 2] = 0  # what cannot be divided by
    return factor, torch.randn(2, length, 3, dtype=dtype), torch.randn(2, 3, dtype=dtype)


def matrices(length: int, size: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(length)
    matrix = torch.randn(2, length, 3, size, size, dtype=torch.float64)
    return matrix, torch.randn(2, 3, size, dtype=torch.float64)


def directions(matrix, state, chunk):
    """Return the states that a scan of matrices gives, each of length 1."""
    return direction(matrix_scan(matrix, state, chunk).flatten(2))


def direction(states):
    return normalize(of_size_one(states, over=[-1]), dim=-1)


def of_kind(kind, length):
    if kind == "matrix":
        return directions, matrices(length)
    dtype = torch.complex128 if kind == "complex" else torch.float64
    return scan, numbers(length, dtype)


@pytest.mark.parametrize("kind", ["real", "complex", "matrix"])
@pytest.mark.parametrize(("length", "chunk"), LENGTHS)
def test_chunks_give_the_same_states_and_gradients(kind, length, chunk):
    run, inputs = of_kind(kind, length)
    for part in inputs:
        part.requires_grad_()
    fast, slow = (run(*inputs, size) for size in (chunk, 1))
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    assert_same_gradients(fast, slow, inputs)


def test_chunks_give_the_same_direction_of_each_block():
    """On a CPU SLiCE goes symbol by symbol, so that its own tests take no chunks."""
    inputs = [part.requires_grad_() for part in matrices(37)]

    def each(chunk):
        return direction(matrix_scan(*inputs, chunk, apart=True))

    fast, slow = each(16), each(1)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    assert_same_gradients(fast, slow, inputs)


@pytest.mark.parametrize("chunk", [1, 4, 16])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_states_neither_overflow_nor_vanish(scale, chunk):
    """Products of 200 such matrices are beyond what a double holds; their directions are not."""
    matrix, start = matrices(200)
    wanted = directions(matrix, start, 1)
    found = matrix_scan(scale * matrix, start, chunk)
    assert found.isfinite().all()
    torch.testing.assert_close(direction(found.flatten(2)), wanted, rtol=1e-8, atol=1e-8)


def test_what_a_matrix_of_zeros_leaves_is_zero():
    matrix, start = matrices(23)
    matrix[:, 11] = 0
    for chunk in (1, 4):
        states = matrix_scan(matrix, start, chunk)
        assert states[:, :11].abs().sum((2, 3)).gt(0).all()
        assert not states[:, 11:].any()


SYMBOLS, CHANNELS, STATES = 7, 3, 2


def inputs(strings: int = 2) -> tuple[torch.Tensor, ...]:
    """Return x, the steps, the rates, B, C and the state from before."""
    torch.manual_seed(0)
    shapes = [
        (strings, SYMBOLS, CHANNELS),
        (strings, SYMBOLS, CHANNELS),
        (CHANNELS, STATES),
        *[(strings, SYMBOLS, STATES)] * 2,
        (strings, CHANNELS, STATES),
    ]
    x, step, rate, write, read, state = (torch.randn(s, dtype=torch.float64) for s in shapes)
    found = (x, step.exp(), -rate.exp(), write, read, state)
    return tuple(part.requires_grad_() for part in found)


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 64])
@pytest.mark.parametrize("given", [False, True], ids=["from nothing", "from a state"])
def test_gradients_are_those_of_finite_differences(signed, chunk, given):
    *parts, state = inputs()

    def run(*parts):
        given = parts if len(parts) == 6 else (*parts, None)
        return selective_scan(*given, chunk=chunk, signed=signed)  # the answers and the last state

    assert torch.autograd.gradcheck(run, (*parts, state) if given else tuple(parts))


@pytest.mark.parametrize("signed", [False, True])
def test_gradients_under_vmap_are_those_of_each_run(signed):
    """Runs have rates of their own, which the merged batch holds once a string."""
    runs = [inputs(strings) for strings in (2, 2)]
    with torch.no_grad():
        for part in runs[1]:
            part.mul_(0.7)

    def loss(*parts):
        answers, last = selective_scan(*parts, chunk=3, signed=signed)
        return answers.square().sum() + last.sin().sum()

    stacked = [torch.stack(p).detach().requires_grad_() for p in zip(*runs, strict=True)]
    found = torch.autograd.grad(torch.func.vmap(loss)(*stacked).sum(), stacked)
    for index, run in enumerate(runs):
        alone = torch.autograd.grad(loss(*run), run)
        own = tuple(part[index] for part in found)
        torch.testing.assert_close(own, alone, rtol=1e-10, atol=1e-10)
