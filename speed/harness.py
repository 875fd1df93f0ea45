"""Timing one program against another, in turn, in one process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Program = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Program A against program B on the same inputs.

    Attributes:
        a, b: what the two programs are.
        inputs: what they were given.
        seconds_a, seconds_b: median wall time of one call.
        ratio: median of b/a over the pairs: how many times faster A is.
        low, high: the least and the greatest ratio of a pair.
        repeats: pairs.
    """

    a: str
    b: str
    inputs: str
    seconds_a: float
    seconds_b: float
    ratio: float
    low: float
    high: float
    repeats: int


def compare(
    a: tuple[str, Program], b: tuple[str, Program], inputs: str, repeats: int = 5
) -> Comparison:
    """Time A and B in turn, so that what else the machine does meets both alike."""
    for _, program in (a, b):
        program()  # what happens once only is not what is measured
    pairs = []
    for _ in range(repeats):
        pairs.append((clock(a[1]), clock(b[1])))
    ratios = [slow / fast for fast, slow in pairs]
    return Comparison(
        a=a[0],
        b=b[0],
        inputs=inputs,
        seconds_a=statistics.median(fast for fast, _ in pairs),
        seconds_b=statistics.median(slow for _, slow in pairs),
        ratio=statistics.median(ratios),
        low=min(ratios),
        high=max(ratios),
        repeats=repeats,
    )


def clock(program: Program) -> float:
    """Return the wall time of one call in seconds."""
    gc.collect()
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def table(title: str, rows: list[Comparison]) -> str:
    """Return rows as a Markdown table."""
    lines = [f"### {title}", "", "| A | B | inputs | A | B | B / A | range |"]
    lines.append("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        times = f"{show(row.seconds_a)} | {show(row.seconds_b)}"
        spread = f"{row.low:.3g}–{row.high:.3g}"
        lines.append(
            f"| {row.a} | {row.b} | {row.inputs} | {times} | **{row.ratio:.3g}** | {spread} |"
        )
    return "\n".join([*lines, ""])


def show(seconds: float) -> str:
    """Return a time with a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
