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


AGAIN, BOUNDED, ASKED, WORD, PARTS = Trust

RUNS: Mapping[type[Part], Mapping[str, Trust]] = {
    Record: {
        **dict.fromkeys(("schema_version", "kind", "train_id", "test_id"), AGAIN),
        **dict.fromkeys(("model", "task", "training", "selected", "test", "environment"), PARTS),
        **dict.fromkeys(("protocol", "learning_rate", "seed", "code", "command"), AGAIN),
        **dict.fromkeys(("message", "place"), BOUNDED),
        "status": ASKED,
        "weights": AGAIN,
        "date": WORD,
    },
    ModelUsed: {
        **dict.fromkeys(("name", "version", "kind", "options", "parameters"), AGAIN),
        "source": PARTS,
    },
    TaskUsed: {**dict.fromkeys(("name", "version", "options"), AGAIN), "source": PARTS},
    Origin: {"distribution": AGAIN, "sha256": AGAIN, "version": WORD},
    Training: {
        **dict.fromkeys(("steps", "ended", "stage", "strings"), BOUNDED),
        **dict.fromkeys(("strings_per_second", "cohort"), BOUNDED),
        "seconds": WORD,
        "history": PARTS,
    },
    CohortMember: {"learning_rate": BOUNDED, "seed": BOUNDED},
    History: {"every": AGAIN, "fingerprint": AGAIN, "curves": PARTS},
    Curve: {
        **dict.fromkeys(("length", "strings"), AGAIN),
        **dict.fromkeys(("answers", "correct", "millibits", "probes"), WORD),
    },
    Selected: {
        **dict.fromkeys(("strings", "answers"), AGAIN),
        "step": BOUNDED,
        "correct": ASKED,
        "metrics": PARTS,
    },
    Summed: {"total": ASKED, "count": AGAIN},
    TestResult: {
        **dict.fromkeys(("metric", "fingerprint", "chance_constant", "chance_length"), AGAIN),
        "extra_metrics": AGAIN,
        "signatures": WORD,
        "seconds": WORD,
        "cells": PARTS,
    },
    Cells: {
        **dict.fromkeys(("length", "first", "group", "strings", "answers", "window"), AGAIN),
        "correct": ASKED,
        "metrics": PARTS,
    },
    Sums: {"total": ASKED, "count": AGAIN},
    Environment: dict.fromkeys(
        ("device", "hardware", "threads", "peak_memory_mib", "versions"), WORD
    ),
    Place: dict.fromkeys(("file", "line", "frames"), WORD),
}
"""Of the record of a run, class by class."""

VERIFICATIONS: Mapping[type[Part], Mapping[str, Trust]] = {
    VerificationRecord: {
        **dict.fromkeys(("schema_version", "kind", "verification_id"), AGAIN),
        **dict.fromkeys(("model", "task", "asked", "environment"), PARTS),
        **dict.fromkeys(("constants", "depth", "width", "dtype", "command"), AGAIN),
        **dict.fromkeys(("exhaustive", "adversarial", "by_length", "first_failure"), PARTS),
        "break_length": ASKED,
        "date": WORD,
    },
    Asked: dict.fromkeys(("version", "exhaustive", "lengths", "count", "seed"), AGAIN),
    Judged: {"strings": ASKED, "errors": ASKED},
    ByLength: {
        **dict.fromkeys(("errors", "min_margin", "mean_bits", "max_bits"), ASKED),
        "window": AGAIN,
    },
    Failure: dict.fromkeys(("string", "expected", "logit"), ASKED),
    **{part: RUNS[part] for part in (ModelUsed, TaskUsed, Origin, Environment)},
}
"""Of the record of a verification."""


def as_markdown(table: Mapping[type[Part], Mapping[str, Trust]]) -> str:
    """Return the table for the docs: a line per part of a record and way of holding it."""
    lines = ["| part | fields | how |", "| --- | --- | --- |"]
    for part, fields in table.items():
        for how in (one for one in Trust if one is not PARTS):
            if named := [f"`{name}`" for name in sorted(fields) if fields[name] is how]:
                lines.append(f"| {part.__name__} | {', '.join(named)} | {how} |")
    return "\n".join(lines)
