"""Check a plugin in a separate process, which it may end or block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from formalbench.checks.plugins import Check, begun, check_plugin, check_spec
from formalbench.running.sandbox import NoAnswerError, Report, Sandbox
from formalbench.running.worker import load_host

if TYPE_CHECKING:
    from formalbench.host import LocalPlugin, PluginHost


LIMIT = 120.0
"""Time limit of one check in seconds."""


Q = TypeVar("Q")


Rows = list[tuple[str, ...]]
"""Checks as JSON data."""


@dataclass(frozen=True)
class _Request:
    """What a process checks: everything of a plugin, or a name."""

    what: str | Path
    plugins: tuple[LocalPlugin, ...]


def check_remotely(host: PluginHost, what: str | Path) -> list[Check]:
    """Check a plugin's path, or a task or model by its name.

    A check that does not end, or ends its process, has failed; no other check follows it.
    """
    with Sandbox(LIMIT) as sandbox:
        begin = Check(str(what), "can be loaded")
        return ask_for_checks(sandbox, _check, _Request(what, tuple(host.locals())), begin)


def ask_for_checks(
    sandbox: Sandbox, function: Callable[[Q, Report], Rows], question: Q, begin: Check
) -> list[Check]:
    """Run a function's checks in another process; return those that it completed.

    The function passes the process's reports to `report_promises`, and returns `rows_of` checks.
    `begin` is the first step, for error messages.
    """
    try:
        return [Check(*map(str, row)) for row in sandbox.ask(function, question)]
    except NoAnswerError as error:
        checks = [Check(*line.partition("\t")[::2]) for line in error.reports] or [begin]
        return [*checks[:-1], replace(checks[-1], problem=error.problem)]
    except TypeError:  # malformed rows
        return [replace(begin, problem="sent something that is no check")]


def rows_of(checks: list[Check]) -> Rows:
    """Convert checks to JSON data."""
    return [astuple(check) for check in checks]


def report_promises(report: Report, begin: Check) -> None:
    """Report every check before it runs."""

    def report_check(check: Check) -> None:
        report(f"{check.subject}\t{check.promise}")

    begun.set(report_check)
    report_check(begin)


def _check(request: _Request, report: Report) -> Rows:
    report_promises(report, Check(str(request.what), "can be loaded"))
    host = load_host(request.plugins)
    if isinstance(request.what, Path):
        return rows_of(check_plugin(request.what, host))
    return rows_of(check_spec(host, request.what))
