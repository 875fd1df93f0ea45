"""The table of exact models: what verifications say of each."""

from __future__ import annotations

from formalbench.analysis.columns import Column, Sheet, number, words
from formalbench.analysis.constructions import DTYPES, SHOWN_LENGTHS, ExactModel, ExactModels
from formalbench.analysis.text import MISSING, grouped
from formalbench.contracts.verification import dtype_title

LEGEND = (
    "Verified by `formalbench verify` in fp64, not trained. All to: every string up to this "
    "length, of those the model is made for, was right. Drawn to: random and adversarial strings "
    "were right at every tested length up to this one. Margin: the least |logit| of the random "
    "strings. Bits at n: the worst cross-entropy at string length n. Breaks: the largest tested "
    "length up to which nothing was wrong, by precision; mixed: sums, softmax and norms in fp32. "
    "Depth in layers (for the longest string, if it grows), "
    "width in numbers per position."
)
"""How the table of exact models is read."""


_DIGITS = "{:.3g}".format
"""Writes a margin or a cross-entropy with three digits, as in ``0.00144``."""


def _bits(place: int) -> Column[ExactModel]:
    length = SHOWN_LENGTHS[place]
    meaning = "the worst cross-entropy at this string length"
    return number(
        f"bits at {length:,}", meaning, lambda row: row.bits[place], f"bits_{length}", _DIGITS
    )


def _break(dtype: str) -> Column[ExactModel]:
    def shown(row: ExactModel) -> str:
        if row.break_length is None or dtype not in row.break_length:
            return MISSING
        length = row.break_length[dtype]
        return "none" if length is None else grouped(length)

    return Column(
        dtype_title(dtype),
        "the largest tested length up to which nothing was wrong in this precision",
        shown,
        {f"break_{dtype}": lambda row: (row.break_length or {}).get(dtype)},
    )


EXACT: tuple[Column[ExactModel], ...] = (
    words(
        "model",
        "with the options set",
        lambda row: row.model,
        form="name",
        more={
            "kind": lambda row: "exact",
            "parameters_min": lambda row: row.parameters,
            "parameters_max": lambda row: row.parameters,
        },
    ),
    words(
        "task",
        "what was asked",
        lambda row: row.task,
        more={"command": lambda row: "; ".join(row.commands)},
    ),
    number(
        "all to",
        "every string up to this length was right",
        lambda row: row.exhaustive,
        "exhaustive",
        grouped,
    ),
    number(
        "drawn to",
        "random and adversarial strings were right at every tested length up to this one",
        lambda row: row.tested_to,
        "tested_to",
        grouped,
        {"strings": lambda row: row.strings},
    ),
    number("errors", "strings that were wrong", lambda row: row.errors, told=grouped),
    number(
        "margin",
        "the least |logit| of the random strings",
        lambda row: row.margin,
        told=_DIGITS,
    ),
    *map(_bits, range(len(SHOWN_LENGTHS))),
    *map(_break, DTYPES),
    number("depth", "in layers", lambda row: row.depth, told=grouped),
    number("width", "in numbers per position", lambda row: row.width, told=grouped),
)
"""What a verification says of an exact model."""


def exact_table(exact: ExactModels) -> Sheet[ExactModel]:
    """Return the table of exact models."""
    return Sheet(EXACT, exact.rows)
