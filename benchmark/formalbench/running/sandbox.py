"""Run plugin code in a separate process that answers in JSON or raw bytes.

The calling process imports no plugin and checks every answer. Plugin code may crash its process, or
never return.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Self, TypeVar

from formalbench.running import processes
from formalbench.running.processes import MAX_BYTES, Report

__all__ = ["NoAnswerError", "Report", "Sandbox"]

Q = TypeVar("Q")
T = TypeVar("T")


class NoAnswerError(Exception):
    """Plugin code ended its process, did not return in time, or sent an invalid answer.

    Attributes:
        problem: the problem, as a text.
        reports: the steps that it reported, one line each; the last one failed.
    """

    def __init__(self, problem: str, reports: list[str]) -> None:
        step = reports[-1] if reports else "loading its plugins"
        super().__init__(f"{step}: its code {problem}")
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
        """Return the result of a function that runs there; see `processes.WorkerProcess.ask`."""
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
