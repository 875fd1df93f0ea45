"""How each field of a record is held to the truth: the table that code, tests and docs follow.

A new field has no place in a published record until it is here: a test asks for every one, forges
it, and expects what the table says.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from formalbench.contracts.cells import Cells, Sums
from formalbench.contracts.part import Part
from formalbench.contracts.record import (
    CohortMember,
    Curve,
    Environment,
    History,
    LearningCurve,
    ModelUsed,
    Origin,
    Place,
    Record,
    Selected,
    Summed,
    TaskUsed,
    TestResult,
    Training,
)
from formalbench.contracts.verification import (
    Asked,
    ByLength,
    Failure,
    Judged,
    VerificationRecord,
)


class Trust(StrEnum):
    """How a field is held to the truth."""

    AGAIN = "worked out again, by `publish` and `check`"
    BOUNDED = "within bounds, and in agreement with the rest (`publish`, `check`)"
    ASKED = "asked again by `audit`: of the weights, by training, or by verifying"
    WORD = "the author's word, as far as it can be true at all (`publish`, `check`)"
    PARTS = "by its parts"


Table = Mapping[type[Part], Mapping[str, Trust]]
"""Class by class, how each field is held."""


def _held(**fields: str) -> dict[str, Trust]:
    """Say which fields are held how: by the way, their names with blanks between."""
    return {name: Trust[how] for how, names in fields.items() for name in names.split()}


_USED: Table = {
    ModelUsed: _held(AGAIN="name version kind options parameters", PARTS="source"),
    TaskUsed: _held(AGAIN="name version options", PARTS="source"),
    Origin: _held(AGAIN="distribution sha256", WORD="version"),
}
_MACHINE: Table = {
    Environment: _held(WORD="device hardware threads peak_memory_mib versions commit source")
}

RUNS: Table = {
    Record: _held(
        AGAIN="schema_version kind train_id test_id protocol learning_rate seed code command",
        PARTS="model task training selected test environment",
        BOUNDED="message place",
        ASKED="status weights",
        WORD="date",
    ),
    **_USED,
    Training: _held(
        BOUNDED="steps ended stage strings strings_per_second cohort",
        WORD="seconds",
        PARTS="history curve",
    ),
    LearningCurve: _held(BOUNDED="steps", WORD="loss error accuracy"),
    CohortMember: _held(BOUNDED="learning_rate seed"),
    History: _held(AGAIN="every fingerprint", PARTS="curves"),
    Curve: _held(AGAIN="length strings", WORD="answers correct millibits probes"),
    Selected: _held(AGAIN="strings answers", BOUNDED="step", ASKED="correct", PARTS="metrics"),
    Summed: _held(ASKED="total", AGAIN="count"),
    TestResult: _held(
        AGAIN="metric fingerprint chance_constant chance_length extra_metrics",
        WORD="signatures seconds",
        PARTS="cells",
    ),
    Cells: _held(
        AGAIN="length first group strings answers window",
        ASKED="correct not_finite",
        PARTS="metrics",
    ),
    Sums: _held(ASKED="total", AGAIN="count"),
    **_MACHINE,
    Place: _held(WORD="file line frames"),
}
"""Of the record of a run."""

VERIFICATIONS: Table = {
    VerificationRecord: _held(
        AGAIN="schema_version kind verification_id constants depth width dtype command",
        PARTS="model task asked environment exhaustive adversarial by_length first_failure",
        ASKED="break_length",
        WORD="date",
    ),
    Asked: _held(AGAIN="version exhaustive lengths count seed"),
    Judged: _held(ASKED="strings errors"),
    ByLength: _held(ASKED="errors min_margin mean_bits max_bits", AGAIN="window"),
    Failure: _held(ASKED="string expected logit"),
    **_USED,
    **_MACHINE,
}
"""Of the record of a verification."""


def as_markdown(table: Table) -> str:
    """Return the table for the docs: a line per part of a record and way of holding it."""
    lines = ["| part | fields | how |", "| --- | --- | --- |"]
    for part, fields in table.items():
        for how in (one for one in Trust if one is not Trust.PARTS):
            if named := [f"`{name}`" for name in sorted(fields) if fields[name] is how]:
                lines.append(f"| {part.__name__} | {', '.join(named)} | {how} |")
    return "\n".join(lines)
