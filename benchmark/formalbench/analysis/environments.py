"""Where records come from: their machines and libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from formalbench.analysis.text import plural
from formalbench.contracts.record import Record


def environments_of(records: Iterable[Record]) -> tuple[str, ...]:
    """Return one line per kind of machine that records come from, and how many do."""
    seen: Counter[str] = Counter()
    for record in records:
        machine = record.environment
        versions = ", ".join(f"{name} {value}" for name, value in sorted(machine.versions.items()))
        seen[f"{machine.device}, {machine.hardware}; {versions}"] += 1
    return tuple(f"{line} ({plural(times, 'record')})" for line, times in sorted(seen.items()))
