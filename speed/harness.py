"""Times two programs in turn and formats the result."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

Program = Callable[[], object]
Measurement = Callable[[], float]
"""Runs a program once and returns how many seconds that took, by its own clock."""

REPEATS = 5
SHORT = 0.5
"""Seconds."""


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
    a: tuple[str, Program],
    b: tuple[str, Program],
    inputs: str,
    repeats: int = REPEATS,
    *,
    by: Callable[[Program], float] | None = None,
) -> Comparison:
    """Time A and B in turn in this process, each after one call that is not timed.

    Args:
        a, b: a name and a program each.
        inputs: what they are given.
        repeats: pairs.
        by: the clock, `clock` or `cpu_clock`; None for `clock`.
    """
    for _, program in (a, b):
        program()  # exclude one-time costs
    by = by or clock
    return alternate((a[0], lambda: by(a[1])), (b[0], lambda: by(b[1])), inputs, repeats)


def compare_each(
    many: Sequence[tuple[str, Program]],
    b: tuple[str, Program],
    inputs: str,
    repeats: int = REPEATS,
) -> list[Comparison]:
    """Time several programs and B in turn, as `compare` does; a comparison of each with B."""
    for _, program in (*many, b):
        program()
    measured = [[_settled(program) for _, program in (*many, b)] for _ in range(repeats)]
    return [
        _compared(a, b[0], inputs, [(turn[place], turn[-1]) for turn in measured])
        for place, (a, _) in enumerate(many)
    ]


def alternate(
    a: tuple[str, Measurement],
    b: tuple[str, Measurement],
    inputs: str,
    repeats: int = REPEATS,
    *,
    units: tuple[float, float] = (1.0, 1.0),
) -> Comparison:
    """Measure A and B in turn, so that other load affects both equally.

    Args:
        a, b: a name and a measurement each.
        inputs: what they are given.
        repeats: pairs.
        units: how much work one measurement of A and of B does; times are per unit.
    """
    pairs = [(a[1]() / units[0], b[1]() / units[1]) for _ in range(repeats)]
    return _compared(a[0], b[0], inputs, pairs)


def _compared(a: str, b: str, inputs: str, pairs: Sequence[tuple[float, float]]) -> Comparison:
    ratios = [seconds_b / seconds_a for seconds_a, seconds_b in pairs]
    row = Comparison(
        a=a,
        b=b,
        inputs=inputs,
        seconds_a=statistics.median(seconds for seconds, _ in pairs),
        seconds_b=statistics.median(seconds for _, seconds in pairs),
        ratio=statistics.median(ratios),
        low=min(ratios),
        high=max(ratios),
        repeats=len(pairs),
    )
    tell(f"{inputs}: {row.a} {show(row.seconds_a)}, {row.b} {show(row.seconds_b)}")
    return row


def clock(program: Program) -> float:
    """Return the wall time of one call in seconds."""
    gc.collect()
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def cpu_clock(program: Program) -> float:
    """Return the CPU time that one call takes of this process in seconds.

    Of a program of one thread that is what the wall shows on an idle machine.
    """
    gc.collect()
    start = time.process_time()
    program()
    return time.process_time() - start


def _settled(program: Program) -> float:
    """Time a call or, if it is short, the one after it.

    A program that waits for its turn for many times its own length finds its memory gone: from
    the caches, and on some machines from RAM.
    """
    seconds = clock(program)
    return clock(program) if seconds < SHORT else seconds


def tell(line: str) -> None:
    """Return how far it is."""
    print(f"  {line}", file=sys.stderr, flush=True)


def table(rows: Sequence[Comparison], title: str = "") -> str:
    """Return rows as a Markdown table, with a heading if there is a title."""
    cells = []
    for row in rows:
        times = (show(row.seconds_a), show(row.seconds_b))
        spread = f"{row.low:.3g}–{row.high:.3g}" if row.repeats > 1 else "once"
        if row.repeats not in (1, REPEATS):
            spread += f", {row.repeats} pairs"
        cells.append((row.a, row.b, row.inputs, *times, f"**{row.ratio:.3g}**", spread))
    head = ("A", "B", "inputs", "A", "B", "B / A", "range")
    return markdown(head, cells, title, left=3)


def markdown(
    head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, left: int = 1
) -> str:
    """Return a Markdown table whose first `left` columns are texts, the others numbers."""
    lines = [f"### {title}", ""] if title else []
    lines.append(f"| {' | '.join(head)} |")
    lines.append(f"| {' | '.join(['---'] * left + ['---:'] * (len(head) - left))} |")
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, ""])


def show(seconds: float) -> str:
    """Return a time with a unit that fits."""
    if seconds >= 600:
        return f"{seconds / 60:.3g} min"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


class Test(NamedTuple):
    """Cost of testing at a few lengths.

    Attributes:
        lengths: of the strings.
        seconds: at each length.
        peak_bytes: the most memory the process ever held.
    """

    lengths: Sequence[int]
    seconds: Sequence[float]
    peak_bytes: int

    def integrated(self, first: int, last: int) -> float:
        """Return the seconds that all lengths first … last take, by straight lines between."""
        return sum(self._at(length) for length in range(first, last + 1))

    def _at(self, length: int) -> float:
        pairs = list(zip(self.lengths, self.seconds, strict=True))
        for (before, low), (after, high) in pairwise(pairs):
            if before <= length <= after:
                return low + (high - low) * (length - before) / (after - before)
        raise ValueError(f"length {length} lies outside {self.lengths[0]}–{self.lengths[-1]}")
