"""A verification carried out again, and held against its record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from formalbench.contracts.verification import VerificationRecord

from formalbench_leaderboard.publishing.verified import prepared, subject_of

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost
    from formalbench.verification.verify import StringsReport

_SHARE, _LEAST = 1e-3, 1e-9
"""By how much of itself, or by how much, a margin or a cross-entropy may change elsewhere."""


@dataclass(frozen=True, slots=True)
class Reverified:
    """A verification, done again.

    Attributes:
        errors: how many strings were answered wrong.
        otherwise: what came out otherwise, one line each.
        judged: whether that speaks against the record. In double precision nothing hangs on the
            machine; how far a lower one goes does, unless device, hardware and versions are those
            that the record names.
    """

    errors: int
    otherwise: list[str]
    judged: bool


def verify_again(
    record: VerificationRecord, host: PluginHost, device: str, report: StringsReport
) -> Reverified:
    """Judge every string of a verification again.

    Args:
        record: one that `Admission` takes.
        host: the plugins.
        device: ``cpu`` or ``cuda:i``.
        report: told of its progress.
    """
    from formalbench.verification.record import record_of
    from formalbench.verification.verify import carry_out

    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        subject = subject_of(record, host)
        found = prepared(record, subject)
        carry_out(subject, found, device, report)
    return compared(record, record_of(found, device))


def compared(told: VerificationRecord, now: VerificationRecord) -> Reverified:
    """Hold a verification against its record."""
    counts, ranges = _counts(told, now), _ranges(told, now)
    alike = _conditions(told) == _conditions(now)
    if told.dtype == "fp64":
        figures = _figures(told, now)
        return Reverified(now.errors, counts + figures + ranges, bool(counts or figures) or alike)
    return Reverified(now.errors, counts + ranges, alike)


def _conditions(record: VerificationRecord) -> tuple[object, ...]:
    where = record.environment
    return where.device, where.hardware, where.versions


def _counts(told: VerificationRecord, now: VerificationRecord) -> list[str]:
    """Return what was judged, and what of it was wrong, where that is otherwise."""
    pairs = {
        "exhaustive strings": (told.exhaustive, now.exhaustive),
        "adversarial strings": (told.adversarial, now.adversarial),
        "errors by length": (told.by_length.errors, now.by_length.errors),
        "first failure": (_failure(told), _failure(now)),
    }
    return [f"its {what} come out otherwise" for what, (a, b) in pairs.items() if a != b]


def _failure(record: VerificationRecord) -> tuple[object, ...]:
    failure = record.first_failure
    return () if failure is None else (failure.string, failure.expected)


def _ranges(told: VerificationRecord, now: VerificationRecord) -> list[str]:
    """Return how far each precision goes, where that is otherwise."""
    return [
        f"{dtype} goes up to length {(now.break_length or {}).get(dtype)}, not {length}"
        for dtype, length in (told.break_length or {}).items()
        if length != (now.break_length or {}).get(dtype)
    ]


def _figures(told: VerificationRecord, now: VerificationRecord) -> list[str]:
    """Return which margins and cross-entropies are otherwise."""
    return [
        f"its {name.replace('_', ' ')} come out otherwise"
        for name in ("min_margin", "mean_bits", "max_bits")
        if not _near(getattr(told.by_length, name), getattr(now.by_length, name))
    ]


def _near(told: Sequence[float | None], now: Sequence[float | None]) -> bool:
    return all(
        a is b
        or (
            (a is not None and b is not None) and math.isclose(a, b, rel_tol=_SHARE, abs_tol=_LEAST)
        )
        for a, b in zip(told, now, strict=True)
    )
