"""Run a plugin's code in a process of its own, which answers in JSON or raw bytes.

The process that asks imports no plugin and checks what it gets. A plugin's code may crash its
process, or never return.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from formalbench.contracts.hooks import Workplace
from formalbench.host import LocalPlugin, PluginHost
from formalbench.running import processes
from formalbench.running.processes import MAX_BYTES, Report
from formalbench.running.units import home_of, least_of, look_at_task, plugins_of
from formalbench.running.worker import load_host

if TYPE_CHECKING:
    from formalbench.running.plan import Run

__all__ = ["NoAnswerError", "Preflight", "Report", "Sandbox"]

Q = TypeVar("Q")
T = TypeVar("T")


class NoAnswerError(Exception):
    """A plugin's code ended its process, did not come to an end, or sent something else.

    Attributes:
        problem: which of these.
        reports: what it was doing, and before: a line each.
    """

    def __init__(self, problem: str, reports: list[str]) -> None:
        what = reports[-1] if reports else "loading its plugins"
        super().__init__(f"{what}: its code {problem}")
        self.problem, self.reports = problem, reports


class Sandbox:
    """A process that answers questions until it is lost or has to run another plugin's code.

    Args:
        limit: seconds that it may be silent, once it has sent anything.

    Attributes:
        lost: the homes of questions that got no answer, and why not.
        holder: whose network it has built.
    """

    holder: object = None

    def __init__(self, limit: float) -> None:
        _hide_memory()
        self.lost: dict[object, NoAnswerError] = {}
        self.worker = processes.WorkerProcess(limit=limit, prepare=_give_up_privileges)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process; the next question starts another."""
        self.worker.kill()

    def ask(self, function: Callable[[Q, Report], Any], question: Q, most: int = MAX_BYTES) -> Any:
        """Return what a function answers there; see `processes.WorkerProcess.ask`.

        Raises:
            NoAnswerError: if there is no answer.
            Exception: what the function raises.
        """
        home = getattr(question, "home", None)
        self.worker.start(home)
        reports: list[str] = []
        try:
            return self.worker.ask(function, (question,), {}, most, reports.append)
        except processes.WorkerLostError as error:
            self.lost[home] = NoAnswerError(str(error), reports)
            raise self.lost[home] from None


def _hide_memory() -> None:
    """Keep the processes of this user from reading the memory of this one, where Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def _give_up_privileges() -> None:
    """Give up what root may do beyond other users: read the memory of any process."""
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: nor do programs that it starts
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
        system.capset(header, (ctypes.c_uint32 * 6)())


PATIENCE = 120.0
"""Seconds that a plugin's code has to make a task or a network."""


@dataclass(frozen=True)
class _Question:
    """What a process is asked of a run; plain data."""

    run: Run
    plugins: tuple[LocalPlugin, ...]
    device: str

    @property
    def home(self) -> object:
        return home_of(self.run, self.plugins)


class Preflight:
    """Asks about runs before they begin; what it is not told, the records of the runs will say.

    Args:
        host: the plugins.
        workplace: where the runs are to be.
    """

    def __init__(self, host: PluginHost, workplace: Workplace) -> None:
        self._host, self._workplace = host, workplace
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def hand_over(self) -> Executor | None:
        """Give away the processes that were asked, if any: they have loaded what the runs need."""
        executor, self._executor = self._executor, None
        return executor

    def look_at_task(self, run: Run) -> None:
        """Refuse what a task cannot be asked; see `units.look_at_task`."""
        if run.strangers:
            self._ask(_look, run)
        else:
            look_at_task(self._host, run)

    def least_of(self, run: Run) -> int | None:
        """Say from how many runs on they train together; see `units.least_of`."""
        if run.strangers:
            return self._ask(_least, run)
        return least_of(self._host, run, self._workplace.devices[0])

    def _ask(self, function: Callable[[_Question], T], run: Run) -> T | None:
        if self._executor is None:
            self._executor = processes.make_local(self._workplace)
        question = _Question(run, plugins_of(self._host, run), self._workplace.devices[0])
        answer = self._executor.submit(function, question)
        try:
            return answer.result(PATIENCE)
        except (TimeoutError, BrokenExecutor):
            answer.cancel()
            return None


def _look(question: _Question) -> None:
    look_at_task(load_host(question.plugins), question.run)


def _least(question: _Question) -> int | None:
    return least_of(load_host(question.plugins), question.run, question.device)
