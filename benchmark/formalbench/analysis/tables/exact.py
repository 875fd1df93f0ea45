"""The table of exact models: what verifications say of each."""

from __future__ import annotations

from formalbench.analysis.columns import Column, Table
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


def _whole(value: int | None) -> str:
    return MISSING if value is None else grouped(value)


def _figure(value: float | None) -> str:
    """Return a margin or a cross-entropy with three digits, as in ``0.00144``."""
    return MISSING if value is None else f"{value:.3g}"


def _bits(place: int) -> Column[ExactModel]:
    length = SHOWN_LENGTHS[place]
    return Column(
        f"bits at {length:,}",
        "the worst cross-entropy at this string length",
        lambda row: _figure(row.bits[place]),
        {f"bits_{length}": lambda row: row.bits[place]},
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
    Column(
        "model",
        "with the options set",
        lambda row: row.model,
        {
            "model": lambda row: row.model,
            "kind": lambda row: "exact",
            "parameters_min": lambda row: row.parameters,
            "parameters_max": lambda row: row.parameters,
        },
        "name",
    ),
    Column(
        "task",
        "what was asked",
        lambda row: row.task,
        {"task": lambda row: row.task, "command": lambda row: "; ".join(row.commands)},
        "words",
    ),
    Column(
        "all to",
        "every string up to this length was right",
        lambda row: _whole(row.exhaustive),
        {"exhaustive": lambda row: row.exhaustive},
    ),
    Column(
        "drawn to",
        "random and adversarial strings were right at every tested length up to this one",
        lambda row: _whole(row.tested_to),
        {"tested_to": lambda row: row.tested_to, "strings": lambda row: row.strings},
    ),
    Column(
        "errors",
        "strings that were wrong",
        lambda row: grouped(row.errors),
        {"errors": lambda row: row.errors},
    ),
    Column(
        "margin",
        "the least |logit| of the random strings",
        lambda row: _figure(row.margin),
        {"margin": lambda row: row.margin},
    ),
    *map(_bits, range(len(SHOWN_LENGTHS))),
    *map(_break, DTYPES),
    Column("depth", "in layers", lambda row: _whole(row.depth), {"depth": lambda row: row.depth}),
    Column(
        "width",
        "in numbers per position",
        lambda row: _whole(row.width),
        {"width": lambda row: row.width},
    ),
)
"""What a verification says of an exact model."""


def exact_table(exact: ExactModels) -> Table[ExactModel]:
    """Return the table of exact models."""
    return Table(EXACT, exact.rows)
