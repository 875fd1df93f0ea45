"""The chance level at each test length, as the task states it.

A record has the mean over its cells, by which it is scored. At some lengths an answer may tell
nothing: of odd length no string is in D_n, and whoever rejects all is always right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from formalbench.analysis.current import current_task
from formalbench.analysis.keys import task_contents
from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.record import Record

if TYPE_CHECKING:
    from formalbench.host import PluginHost

MOST = 20_000
"""Symbols of a string up to which it is asked: a record may claim any length."""

_ROUNDING = 1e-6


Chances = Callable[[Record], tuple[float, ...] | None]
"""Says of a test what the best answer that sees only the length gets right at each cell."""


def chances_here(host: PluginHost, record: Record) -> tuple[float, ...] | None:
    """Return the accuracy, at each cell of a test, of the best answer that sees only the length.

    None if it is not known without drawing strings, a cell has several lengths, or the task is not
    the one that is at hand here.

    Args:
        host: knows tasks.
        record: of a run.
    """
    test, used = record.test, record.task
    if test is None or test.cells.first not in (None, test.cells.length):
        return None
    lengths = test.cells.length
    if max(lengths) > MOST or current_task(host, used.name) != task_contents(record):
        return None
    try:
        chances = _stated(host, record, lengths)
    except FormalbenchError:  # its options are refused here
        return None
    mean = math.fsum(chances or [math.nan]) / len(lengths)
    return tuple(chances) if chances and abs(mean - test.chance_length) <= _ROUNDING else None


def known_chances(host: PluginHost) -> Chances:
    """Return `chances_here` for many records: of those of one test it is asked once."""
    known: dict[tuple[object, ...], tuple[float, ...] | None] = {}

    def asked(record: Record) -> tuple[float, ...] | None:
        if record.test is None:
            return None
        key = (
            *(record.task.model_dump_json(), record.protocol.title, record.test.fingerprint),
            *(record.test.cells.length, record.test.chance_length),
        )
        if key not in known:
            known[key] = chances_here(host, record)
        return known[key]

    return asked


def _stated(host: PluginHost, record: Record, lengths: tuple[int, ...]) -> list[float] | None:
    from formalbench import __version__
    from formalbench.cache import cached, package_digest

    used, protocol = record.task, record.protocol
    entry, _, _ = host.task_entry(used.name)

    def compute() -> list[float] | None:
        with host.blaming(entry.plugin):
            task = protocol.apply(host.task(used.name, dict(used.options)))
            chance = task.objective.stated_chance(task.source, lengths)
        return None if chance is None else list(chance.by_length)

    home = getattr(entry.plugin.module, "__name__", "").partition(".")[0]
    code = [package_digest(home), package_digest("formalbench"), __version__]
    splits = protocol.model_dump(mode="json", include={"splits", "label_smoothing"})
    kept = cached(["chances", code, used.model_dump(mode="json"), splits, lengths], compute)
    return kept if kept is None else [float(one) for one in kept]
