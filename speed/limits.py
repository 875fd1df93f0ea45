"""How far the training steps are from what the machine's matrix products reach.

The FLOPs are those of the matrix products that a step really computes, counted as they run; a
product of the same shape, alone and repeated, says what the machine gives. What the operators
of a profiled step take of its time explains the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import torch
from formalbench.training.trainer import train_cohort
from harness import clock, markdown, show, tell
from our_steps import make_cohort
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

WIDTH, LENGTH, BATCH, STEPS = 256, 40, 128, 20
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
SHOWN = 6


def measure() -> str:
    rows, shares = [], []
    square = gemm_rate((1024, 1024, 1024))
    for model in ("regulargpt", "lstm"):
        seconds = min(clock(lambda model=model: _train(model)) for _ in range(5)) / STEPS
        with FlopCounterMode(display=False) as counter:
            _train(model)
        flops = counter.get_total_flops() / STEPS
        _check(model, flops)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
            _train(model)
        shape, part = _commonest_product(profiled)
        rate = gemm_rate(shape)
        rows.append(
            (
                model,
                show(seconds),
                f"{flops / 1e9:.3g}",
                f"{flops / seconds / 1e9:.3g}",
                f"{rate / 1e9:.3g} at {' × '.join(map(str, shape))} ({part:.0%} of the FLOPs)",
                f"**{flops / seconds / rate:.0%}**",
            )
        )
        tell(" ".join(rows[-1]))
        shares.append((model, _shares(profiled)))
    head = ("network", "a step", "GFLOP", "GFLOP/s", "GFLOP/s of the commonest product", "share")
    lines = [markdown(head, rows)]
    lines.append(
        f"Width {WIDTH}, batch {BATCH}, T = {LENGTH}, whole training steps, strings and Adam "
        f"included. A product of 1024 × 1024 × 1024 runs at {square / 1e9:.3g} GFLOP/s here.\n"
    )
    lines += [f"- `{model}`, by operator: {text}." for model, text in shares]
    return "\n".join([*lines, ""])


def gemm_rate(shape: tuple[int, int, int]) -> float:
    """Return FLOP/s of the product of (M, K) and (K, N) matrices in fp32."""
    m, k, n = shape
    left, right, out = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
    flops = 2 * math.prod(shape)
    calls = max(1, int(2e9 / flops))

    def run() -> None:
        for _ in range(calls):
            torch.mm(left, right, out=out)

    run()
    return calls * flops / min(clock(run) for _ in range(7))


def _train(model: str) -> None:
    (trained,) = train_cohort(make_cohort(model, {"width": WIDTH}, (LENGTH, LENGTH), STEPS))
    assert trained.status == "finished"


def _check(model: str, flops: float) -> None:
    """Compare with what is known by hand: were a pass written by us not counted, it would show.

    An LSTM multiplies its state with 4 W × W weights at all positions but the first, forwards
    and twice backwards.
    """
    if model == "lstm":
        by_hand = 3 * 2 * BATCH * (LENGTH - 1) * WIDTH * 4 * WIDTH
        assert 0.98 < flops / by_hand < 1.05, flops / by_hand


def _commonest_product(profiled: Any) -> tuple[tuple[int, int, int], float]:
    """Return the shape (M, K, N) that most of the products' FLOPs are in, and how many are."""
    flops: Counter[tuple[int, int, int]] = Counter()
    for event in profiled.key_averages(group_by_input_shape=True):
        if event.key in PRODUCTS:
            matrices = [tuple(size) for size in event.input_shapes if len(size) >= 2]
            left, right = matrices[-2:] if "add" not in event.key else matrices[1:3]
            shape = (left[-2], left[-1], right[-1])
            flops[shape] += event.count * 2 * math.prod((*left[:-2], *shape))
    shape, most = flops.most_common(1)[0]
    return shape, most / flops.total()


def _shares(profiled: Any) -> str:
    """Return what the operators themselves take of the time, most first."""
    times = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    whole = sum(times.values())
    products = sum(time for key, time in times.items() if key in PRODUCTS)
    others = {key: time for key, time in times.items() if key not in PRODUCTS}
    first = sorted(others, key=lambda key: -others[key])[:SHOWN]
    parts = [f"matrix products {products / whole:.0%}"]
    parts += [f"`{key.removeprefix('aten::')}` {others[key] / whole:.0%}" for key in first]
    rest = whole - products - sum(others[key] for key in first)
    return ", ".join([*parts, f"others {rest / whole:.0%}"])
