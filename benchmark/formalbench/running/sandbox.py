"""Run plugin code in a separate process that answers in JSON or raw bytes.

The calling process imports no plugin and checks every answer. Plugin code may crash its process, or
never return.
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
    """Plugin code ended its process, did not return in time, or sent an invalid answer.

    Attributes:
        problem: the problem, as a text.
        reports: the steps that it reported, one line each; the last one failed.
    """

    def __init__(self, problem: str, reports: list[str]) -> None:
        what = reports[-1] if reports else "loading its plugins"
        super().__init__(f"{what}: its code {problem}")
        self.problem, self.reports = problem, reports


class Sandbox:
    """A process that runs calls until it is lost or a call needs another plugin's code.

    Args:
        limit: seconds that the process may be silent after its first message.

    Attributes:
        lost: the homes of calls without an answer, with the error of each.
        holder: the owner of the network that the process has built.
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
        """End the process; the next call starts another."""
        self.worker.kill()

    def ask(self, function: Callable[[Q, Report], Any], question: Q, most: int = MAX_BYTES) -> Any:
        """Return the result of a function that runs there; see `processes.WorkerProcess.ask`.

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
    """Keep other processes of this user from reading this one's memory, if Linux supports it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def _give_up_privileges() -> None:
    """Give up root's privileges, such as reading the memory of any process."""
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: also for programs that it starts
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
        system.capset(header, (ctypes.c_uint32 * 6)())


PATIENCE = 120.0
"""Time limit for plugin code that makes a task or a network, in seconds."""


@dataclass(frozen=True)
class _Question:
    """A question about a run to a sandbox process; plain data."""

    run: Run
    plugins: tuple[LocalPlugin, ...]
    device: str

    @property
    def home(self) -> object:
        return home_of(self.run, self.plugins)


class Preflight:
    """Checks runs before they begin; problems that it misses appear in the records of the runs.

    Args:
        host: the plugins.
        workplace: the devices and processes of the runs.
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
        """Hand over the processes used so far, if any: they have loaded the code of the runs."""
        executor, self._executor = self._executor, None
        return executor

    def look_at_task(self, run: Run) -> None:
        """Refuse a protocol that the task does not support; see `units.look_at_task`."""
        if run.strangers:
            self._ask(_look, run)
        else:
            look_at_task(self._host, run)

    def least_of(self, run: Run) -> int | None:
        """Return the smallest number of runs that train together; see `units.least_of`."""
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
