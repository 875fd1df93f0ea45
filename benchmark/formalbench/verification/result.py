"""What a verification found, and the JSON object that tells it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from formalbench.contracts.record import ModelUsed, TaskUsed
from formalbench.contracts.verification import Dtype
from formalbench.verification.judge import Tally, WrongAnswer
from formalbench.verification.plan import PortionKind, VerificationPlan


@dataclass
class Verification:
    """The findings so far; complete once `complete` is set.

    Attributes:
        model, task: as a record names them, options and source included.
        dtype: in which the strings were judged.
        constants: of the paper's formulas, as the network tells them.
        depth, width: layers, and numbers per position, as the network tells them.
        plan: the strings.
        tallies: by kind and length.
        first_failure: the first string answered wrong.
        break_length: by dtype, if all were tested.
        remarks: what else a reader must know, one line each.
        complete: whether all strings were judged.
    """

    model: ModelUsed
    task: TaskUsed
    dtype: Dtype
    constants: Mapping[str, float]
    depth: int | None
    width: int | None
    plan: VerificationPlan
    tallies: dict[tuple[PortionKind, int], Tally] = field(default_factory=dict)
    first_failure: WrongAnswer | None = None
    break_length: dict[Dtype, int | None] | None = None
    remarks: list[str] = field(default_factory=list)
    complete: bool = False

    def total(self, kind: PortionKind) -> Tally:
        """Return strings and errors of one kind, over all lengths."""
        parts = [tally for (part, _), tally in self.tallies.items() if part == kind]
        return Tally(sum(part.strings for part in parts), sum(part.errors for part in parts))

    def lengths(self) -> dict[int, Tally]:
        """Return the tallies of the random strings, by length; those with any."""
        found = {length: t for (kind, length), t in self.tallies.items() if kind == "random"}
        return {length: tally for length, tally in sorted(found.items()) if tally.strings}

    @property
    def errors(self) -> int:
        """The strings answered wrong."""
        return sum(tally.errors for tally in self.tallies.values())

    @property
    def passed(self) -> bool:
        """Whether every string was judged, and none wrong."""
        return self.complete and not self.errors

    @property
    def parameters(self) -> dict[str, Any]:
        """The options set and the constants; a task's options have ``task.`` before them."""
        of_task = {f"task.{key}": value for key, value in self.task.options.items()}
        return {**self.model.options, **of_task, **self.constants}

    def unbroken(self) -> int | None:
        """Return the largest tested length with no error at any tested length up to it."""
        return unbroken(self.tallies)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``verify --json`` prints."""
        exhaustive, adversarial = self.total("exhaustive"), self.total("adversarial")
        failure = self.first_failure
        return {
            "model": self.model.name,
            "task": self.task.name,
            "dtype": self.dtype,
            "parameters": self.parameters,
            "passed": self.passed,
            "exhaustive": None
            if self.plan.exhaustive is None
            else {
                "max_length": self.plan.exhaustive,
                "strings": exhaustive.strings,
                "errors": exhaustive.errors,
            },
            "lengths": [_row(length, tally) for length, tally in self.lengths().items()],
            "adversarial": {"strings": adversarial.strings, "errors": adversarial.errors},
            "first_failure": None
            if failure is None
            else {
                "string": failure.string,
                "expected": failure.expected,
                "logit": failure.logit,
            },
            "break_length": self.break_length,
        }


def _row(length: int, tally: Tally) -> dict[str, Any]:
    known = tally.finite > 0
    return {
        "length": length,
        "strings": tally.strings,
        "errors": tally.errors,
        "accuracy": tally.accuracy,
        "min_margin": tally.min_margin if math.isfinite(tally.min_margin) else None,
        "mean_bits": tally.mean_bits if known else None,
        "max_bits": tally.max_bits if known else None,
    }


def unbroken(tallies: Mapping[tuple[PortionKind, int], Tally]) -> int | None:
    """Return the largest length with no error at any length up to it, None if there is none."""
    wrong = [length for (_, length), tally in tallies.items() if tally.errors]
    first = min(wrong, default=math.inf)
    right = [length for (_, length), t in tallies.items() if t.strings and length < first]
    return max(right, default=None)
