"""How far the training steps are from what the machine's matrix products reach.

The FLOPs are those of the matrix products that a step really computes, counted as they run.
Products of the same shapes, each alone and repeated, say what the machine gives at most; what
the operators of a profiled step take of its time explains the rest.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from formalbench.training.trainer import train_cohort
from harness import clock, markdown, show, tell
from our_steps import make_cohort
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

WIDTH, LENGTH, BATCH, STEPS, REPEATS = 256, 40, 128, 20, 5
FACTORS = {
    "aten::mm": (0, 1),
    "aten::bmm": (0, 1),
    **dict.fromkeys(("aten::addmm", "aten::addmm_"), (1, 2)),
    **dict.fromkeys(("aten::baddbmm", "aten::baddbmm_"), (1, 2)),
}
"""The operators that multiply matrices, and which of their inputs are the factors."""


def _added_product(target, left, right, **_: object) -> int:
    """Return the operations of target += left · right, from the shapes."""
    return 2 * math.prod(left) * right[-1]


IN_PLACE = dict.fromkeys((torch.ops.aten.addmm_, torch.ops.aten.baddbmm_), _added_product)
"""Those that the library's counter of operations does not know."""

SHOWN = 6

Shape = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes of the two factors of a product."""


def counting() -> FlopCounterMode:
    """Return a context manager that counts operations."""
    return FlopCounterMode(display=False, custom_mapping=IN_PLACE)


def measure() -> str:
    rows, lists = [], []
    for model in ("regulargpt", "lstm"):
        seconds = min(clock(partial(take_steps, model)) for _ in range(REPEATS)) / STEPS
        with counting() as counter:
            take_steps(model)
        flops = counter.get_total_flops() / STEPS
        check_count(model, flops)
        products, text = _profile(model)  # what it was read from is large, and gone by now
        alone = sum(count * product_seconds(shape) for shape, count in products.items()) / STEPS
        rates = [f"{flops / each / 1e9:.3g}" for each in (seconds, alone)]
        share = f"**{alone / seconds:.0%}**"
        rows.append((model, show(seconds), f"{flops / 1e9:.3g}", *rates, share))
        tell(" ".join(rows[-1]))
        lists.append(f"- `{model}`, by operator: {text}.")
    head = ("network", "a step", "GFLOP", "GFLOP/s", "GFLOP/s of its products alone", "share")
    side = (1024, 1024)
    square = 2 * 1024**3 / product_seconds((side, side))
    notes = (
        f"Width {WIDTH}, batch {BATCH}, T = {LENGTH}; whole training steps, the strings and Adam "
        f"included. A product of 1024 × 1024 matrices runs at {square / 1e9:.3g} GFLOP/s here.\n"
    )
    return "\n".join([markdown(head, rows), notes, *lists, ""])


def product_seconds(shape: Shape) -> float:
    """Return how long a product of matrices, or of stacks of them, takes in fp32."""
    left, right = (torch.randn(size) for size in shape)
    out = torch.matmul(left, right)
    calls = min(1000, 1 + int(1e8 / flops_of(shape)))

    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            torch.matmul(left, right, out=out)
        times.append(time.perf_counter() - start)
    return min(times) / calls


def flops_of(shape: Shape) -> int:
    """Return the FLOPs of a product."""
    left, right = shape
    return 2 * math.prod(left) * right[-1]


def take_steps(model: str) -> None:
    (trained,) = train_cohort(make_cohort(model, {"width": WIDTH}, (LENGTH, LENGTH), STEPS))
    assert trained.status == "finished"


def check_count(model: str, flops: float) -> None:
    """Compare with what is known by hand: were a pass written by us not counted, it would show.

    An LSTM multiplies its state with 4 W × W weights at all positions but the first, forwards
    and twice backwards.
    """
    if model == "lstm":
        by_hand = 3 * 2 * BATCH * (LENGTH - 1) * WIDTH * 4 * WIDTH
        assert 0.98 < flops / by_hand < 1.05, flops / by_hand


def _profile(model: str) -> tuple[Counter[Shape], str]:
    """Return the products of some steps, and what the operators take of their time."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
        take_steps(model)
    return _products(profiled), _shares(profiled)


def _products(profiled: Any) -> Counter[Shape]:
    """Return how often products of each shape were computed."""
    counts: Counter[Shape] = Counter()
    for event in profiled.key_averages(group_by_input_shape=True):
        if event.key in FACTORS:
            left, right = (tuple(event.input_shapes[place]) for place in FACTORS[event.key])
            counts[left, right] += event.count
    return counts


def _shares(profiled: Any) -> str:
    """Return what the operators themselves take of the time, most first."""
    times = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    whole = sum(times.values())

    def part(keys: Sequence[str]) -> str:
        return f"{sum(times[key] for key in keys) / whole:.0%}"

    others = sorted(times.keys() - FACTORS.keys(), key=lambda key: -times[key])
    texts = [f"matrix products {part([key for key in FACTORS if key in times])}"]
    texts += [f"`{key.removeprefix('aten::')}` {part([key])}" for key in others[:SHOWN]]
    return ", ".join([*texts, f"others {part(others[SHOWN:])}"])
