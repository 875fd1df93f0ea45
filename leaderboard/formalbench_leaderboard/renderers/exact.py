"""The table of exact models as plain text, before a renderer escapes it."""

from __future__ import annotations

from formalbench.analysis.text import MISSING, grouped
from formalbench.contracts.verification import dtype_title

from formalbench_leaderboard.constructions import DTYPES, SHOWN_LENGTHS, ExactModel

LEGEND = (
    "Verified by `formalbench verify` in fp64, not trained. All to: every string up to this "
    "length, of those the model is made for, was right. Drawn to: random and adversarial strings "
    "were right at every tested length up to this one. Margin: the least |logit| of the random "
    "strings. Bits at n: the worst cross-entropy at string length n. Breaks: the largest tested "
    "length up to which nothing was wrong, by precision; mixed: sums, softmax and norms in fp32. "
    "Depth in layers (for the longest string, if it grows), "
    "width in numbers per position."
)

BITS = tuple(f"bits at {length:,}" for length in SHOWN_LENGTHS)
HEADER = (
    *("model", "task", "all to", "drawn to", "errors", "margin"),
    *BITS,
    *map(dtype_title, DTYPES),
    *("depth", "width"),
)
LEFT = ("model", "task")


def cells(row: ExactModel) -> list[str]:
    """Return the cells of a row under `HEADER`."""
    breaks = row.break_length
    return [
        row.model,
        row.task,
        _length(row.exhaustive),
        _length(row.tested_to),
        grouped(row.errors),
        figure(row.margin),
        *map(figure, row.bits),
        *(_break(breaks, dtype) for dtype in DTYPES),
        _length(row.depth),
        _length(row.width),
    ]


def figure(value: float | None) -> str:
    """Return a margin or a cross-entropy with three digits, as in ``0.00144``."""
    return MISSING if value is None else f"{value:.3g}"


def _break(breaks: dict[str, int | None] | None, dtype: str) -> str:
    if breaks is None or dtype not in breaks:
        return MISSING
    length = breaks[dtype]
    return "none" if length is None else grouped(length)


def _length(value: int | None) -> str:
    return MISSING if value is None else grouped(value)
