"""Where a published record lies: ``leaderboard/results/<suite>/<model>/<task>/<run>.json``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.record import Origin
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.host.calls import PROJECT
from formalbench.host.registry import Entry, S
from formalbench.running.used import full_name
from formalbench.store import Store
from formalbench.store.repository import PUBLISHED_RESULTS

from formalbench_leaderboard.sources import DEFAULT_SUITE

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

VERIFIED, REST = "exact", "other"
"""The folders of verifications, which are of no suite, and of tasks that are in none."""


def published_path(record: AnyRecord, host: PluginHost) -> Path:
    """Return the path, below the repository's root, that a record is published at.

    A task can be in several suites. Its records lie in the default suite if that has it, else
    in the smallest that has it.
    """
    return path_among(record, lambda task: home_suite(task, host))


def path_among(record: AnyRecord, home: Callable[[str], str]) -> Path:
    """Return it likewise, where the suite of each task is known: that is the same for thousands.

    Args:
        record: of either kind.
        home: `home_suite` of a task.
    """
    verified = isinstance(record, VerificationRecord)
    folder = VERIFIED if verified else home(record.task.name)
    return Store(PUBLISHED_RESULTS / folder).path_of(record)


def built_in(entries: Iterable[Entry[S]]) -> list[S]:
    """Return what comes with formalbench itself.

    What somebody has installed besides, or named with --plugin, must change no page, or it would
    be stale wherever that is missing.
    """
    return [entry.spec for entry in entries if is_built_in(entry.plugin.source)]


def is_built_in(source: Origin) -> bool:
    """Say whether code comes with formalbench itself: a local file can be called the same."""
    return source.distribution == PROJECT and not source.sha256


def home_suite(task: str, host: PluginHost) -> str:
    """Return the suite under which the records of a task are published."""
    suites = built_in(host.suites.all())
    suites.sort(key=lambda suite: (suite.name != DEFAULT_SUITE, len(suite.tasks), suite.name))
    having = (suite.name for suite in suites if task in (full_name(host, t) for t in suite.tasks))
    return next(having, REST)
