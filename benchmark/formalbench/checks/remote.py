"""Checking a stranger's code in a process of its own: it may end that, or never return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from formalbench.checks.plugins import check_plugin, check_spec
from formalbench.checks.promises import Check, begun
from formalbench.running.sandbox import Apart, NoAnswerError, Tell
from formalbench.running.worker import load_host

if TYPE_CHECKING:
    from formalbench.host import LocalPlugin, PluginHost


LIMIT = 120.0
"""Seconds that one promise has."""


Q = TypeVar("Q")


@dataclass(frozen=True)
class _Request:
    """What a process is to check: everything of a plugin, or what has a name."""

    what: str | Path
    plugins: tuple[LocalPlugin, ...]


def check_apart(host: PluginHost, what: str | Path) -> list[Check]:
    """Check a plugin's path, or a task or model by its name.

    What does not come to an end, or ends its process, is a promise not kept, and the last that is
    tried.

    Raises:
        RequestError: if there is no such thing.
        BrokenPluginError: if the plugin cannot be loaded.
    """
    with Apart(LIMIT) as apart:
        begin = Check(str(what), "can be loaded")
        return tried(apart, _check, _Request(what, tuple(host.locals())), begin)


def tried(
    apart: Apart, function: Callable[[Q, Tell], list[Check]], question: Q, begin: Check
) -> list[Check]:
    """Return the checks that a function makes in another process, or how far it came.

    Args:
        apart: has the process.
        function: hands what it is told to `follow`.
        question: what it is asked.
        begin: what is tried before anything else.
    """
    try:
        return apart.ask(function, question)
    except NoAnswerError as error:
        checks = [Check(*line.split("\t", 1)) for line in error.said] or [begin]
        return [*checks[:-1], replace(checks[-1], problem=error.problem)]


def follow(tell: Tell, begin: Check) -> None:
    """Tell of every promise before it is tried."""

    def told(check: Check) -> None:
        tell(f"{check.subject}\t{check.promise}")

    begun.set(told)
    told(begin)


def _check(request: _Request, tell: Tell) -> list[Check]:
    follow(tell, Check(str(request.what), "can be loaded"))
    host = load_host(request.plugins)
    if isinstance(request.what, Path):
        return check_plugin(request.what, host)
    return check_spec(host, request.what)
