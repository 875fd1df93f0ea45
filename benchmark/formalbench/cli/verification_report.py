"""The text report of a verification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from formalbench.contracts.verification import dtype_title

if TYPE_CHECKING:
    from formalbench.verification.judge import Tally
    from formalbench.verification.verify import Verification


SHOWN_SYMBOLS = 120
"""Maximum displayed characters of a failing string; ``--json`` has all."""

SHOWN_LENGTHS = 40
"""Maximum rows of the table; with more lengths, those with errors and some others."""


def lines_above(found: Verification) -> list[str]:
    """Return the lines above the table of lengths."""
    parameters = ", ".join(f"{name}={_short(value)}" for name, value in found.parameters.items())
    lines = [
        f"{found.model.name} on {found.task.name}, {dtype_title(found.dtype)}"
        + (f" ({parameters})" if parameters else "")
    ]
    if found.plan.asked.exhaustive is None:
        lines.append("exhaustive: skipped")
    else:
        total = found.total("exhaustive")
        lines.append(
            f"exhaustive: {total.strings:,} strings, all {_lengths(found)}: {_errors(total.errors)}"
        )
    return lines


def table(found: Verification) -> tuple[Sequence[str], list[list[str]]]:
    """Return columns and rows of the table of random strings by length."""
    columns = ("length", "strings", "errors", "accuracy", "min margin", "mean bits", "worst bits")
    lengths = found.lengths()
    step = -(-len(lengths) // SHOWN_LENGTHS)
    last = len(lengths) - 1
    rows = [
        _row(length, tally)
        for index, (length, tally) in enumerate(lengths.items())
        if index % step == 0 or index == last or tally.errors
    ]
    return columns, rows


def lines_below(found: Verification) -> list[str]:
    """Return the lines below the table of lengths."""
    total = found.total("adversarial")
    lines = [f"adversarial: {total.strings:,} strings: {_errors(total.errors)}"]
    if failure := found.first_failure:
        logit = "not finite" if failure.logit is None else f"{failure.logit:.6g}"
        string = _cut(failure.string) or "the empty string"
        expected = _cut(str(failure.expected))
        lines.append(f"first failure: {string}: expected {expected}, logit {logit}")
    if found.break_length:
        parts = [
            f"{dtype_title(dtype)} {'none' if n is None else n}"
            for dtype, n in found.break_length.items()
        ]
        lines.append(f"right at every tested length up to: {', '.join(parts)}")
    lines += found.remarks
    if not found.complete:
        lines.append(f"not complete; so far {_errors(found.errors)}")
    else:
        lines.append("passed" if found.passed else f"FAILED: {_errors(found.errors)}")
    return lines


def _cut(text: str) -> str:
    """Return a text; if it is long, its beginning and its length."""
    if len(text) <= SHOWN_SYMBOLS:
        return text
    return f"{text[:SHOWN_SYMBOLS]}… ({len(text):,} characters)"


def _lengths(found: Verification) -> str:
    """Return the lengths of the exhaustive strings as text."""
    shortest = min(part.length for part in found.plan.portions if part.kind == "exhaustive")
    longest = found.plan.asked.exhaustive
    if shortest == longest:
        return f"of length {longest}"
    return f"of length {shortest} to {longest}" if shortest > 1 else f"up to length {longest}"


def _row(length: int, tally: Tally) -> list[str]:
    figures = ["–", "–", "–"]
    if tally.finite:
        margin, mean, worst = tally.min_margin, tally.mean_bits, tally.max_bits
        figures = [f"{margin:.3g}" if math.isfinite(margin) else "–", f"{mean:.6g}", f"{worst:.6g}"]
    accuracy = f"{100 * tally.accuracy:.1f} %"
    return [str(length), f"{tally.strings:,}", str(tally.errors), accuracy, *figures]


def _errors(count: int) -> str:
    return {0: "no error", 1: "1 error"}.get(count, f"{count:,} errors")


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
