"""From the findings of a verification to its record."""

from __future__ import annotations

import datetime
import math
import shlex
from collections.abc import Callable, Sequence

from formalbench.contracts.reading import SCHEMA_VERSION
from formalbench.contracts.verification import (
    MAX_ENTRIES,
    Asked,
    ByLength,
    Failure,
    Judged,
    VerificationRecord,
)
from formalbench.device import describe_environment
from formalbench.verification.command import verifying
from formalbench.verification.judge import Tally
from formalbench.verification.result import Verification

MAX_SYMBOLS = 200
"""Characters of a failing string that a record keeps."""


def record_of(found: Verification, device: str, plugins: Sequence[str] = ()) -> VerificationRecord:
    """Return the record of a complete verification.

    Args:
        found: the findings.
        device: ``cpu`` or ``cuda:i``.
        plugins: file names of the local plugins it needs.
    """
    exhaustive, adversarial = found.total("exhaustive"), found.total("adversarial")
    now = datetime.datetime.now(datetime.UTC)
    record = VerificationRecord(
        schema_version=SCHEMA_VERSION,
        kind="verification",
        verification_id="0" * 16,
        model=found.model,
        task=found.task,
        constants=dict(found.constants),
        depth=found.depth,
        width=found.width,
        asked=_asked(found),
        dtype=found.dtype,
        exhaustive=None
        if found.plan.exhaustive is None
        else Judged(strings=exhaustive.strings, errors=exhaustive.errors),
        adversarial=Judged(strings=adversarial.strings, errors=adversarial.errors),
        by_length=_by_length([tally for _, tally in found.lengths().items()]),
        first_failure=_failure(found),
        break_length=found.break_length,
        environment=describe_environment(device),
        command=command_of(found, plugins),
        date=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return record.model_copy(update={"verification_id": record.identity})


def command_of(found: Verification, plugins: Sequence[str] = ()) -> str:
    """Return the command line that repeats a verification."""
    dtype = found.dtype if found.break_length is None else "all"
    words = verifying(found.model, found.task, _asked(found), dtype)
    for plugin in plugins:
        words += ["--plugin", plugin]
    return shlex.join(words)


def _asked(found: Verification) -> Asked:
    plan = found.plan
    return Asked(exhaustive=plan.exhaustive, lengths=plan.lengths, count=plan.count, seed=plan.seed)


def _by_length(tallies: Sequence[Tally]) -> ByLength:
    window = max(1, -(-len(tallies) // MAX_ENTRIES))
    groups = [
        [tally for tally in tallies[start : start + window] if tally.finite]
        for start in range(0, len(tallies), window)
    ]

    def figures(take: Callable[[Sequence[Tally]], float]) -> tuple[float | None, ...]:
        found = (take(group) if group else math.inf for group in groups)
        return tuple(float(f"{x:.6g}") if math.isfinite(x) else None for x in found)

    return ByLength(
        errors=tuple(tally.errors for tally in tallies),
        min_margin=figures(lambda group: min(tally.min_margin for tally in group)),
        mean_bits=figures(lambda group: sum(t.mean_bits for t in group) / len(group)),
        max_bits=figures(lambda group: max(tally.max_bits for tally in group)),
        window=window,
    )


def _failure(found: Verification) -> Failure | None:
    failure = found.first_failure
    if failure is None:
        return None

    def cut(text: str) -> str:
        return text if len(text) <= MAX_SYMBOLS else f"{text[:MAX_SYMBOLS]}…"

    expected = failure.expected
    return Failure(
        string=cut(failure.string),
        expected=cut(expected) if isinstance(expected, str) else expected,
        logit=failure.logit,
    )
