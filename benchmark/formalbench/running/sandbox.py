"""Ask a plugin's code in a process of its own.

A stranger's code may end its process, or never return: it is asked in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self, TypeVar

from formalbench.cache import temporary_folder
from formalbench.contracts.errors import BrokenPluginError
from formalbench.contracts.hooks import Workplace
from formalbench.host import LocalPlugin, PluginHost
from formalbench.running import processes
from formalbench.running.units import home_of, least_of, look_at_task, plugins_of
from formalbench.running.worker import load_host

if TYPE_CHECKING:
    from formalbench.running.plan import Run


POLL = 0.2


Q = TypeVar("Q")


T = TypeVar("T")


Tell = Callable[[str], None]
"""Told in one line what is tried next, and called with nothing where it goes on."""


class NoAnswerError(Exception):
    """A stranger's code ended its process, or did not come to an end.

    Attributes:
        problem: which of these.
        said: what it was at, and before: a line each.
    """

    def __init__(self, problem: str, said: list[str]) -> None:
        super().__init__(problem)
        self.problem, self.said = problem, said


class Apart:
    """One process after another, each asked until it is lost or asked of other code.

    Args:
        limit: seconds that one may be silent, once it has said anything.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._executor: processes.LocalExecutor | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        if self._folder is not None:
            self._folder.cleanup()

    def ask(self, function: Callable[[Q, Tell], T], question: Q) -> T:
        """Return what a function answers there; what it raises is raised here.

        Args:
            function: found by its module's name.
            question: plain data; if it has a `home`, the process has none of another's code.

        Raises:
            NoAnswerError: if it does not.
        """
        if self._executor is None or self._folder is None:
            self._executor, self._folder = (
                processes.make_local(Workplace()),
                temporary_folder("apart"),
            )
        told = Path(self._folder.name) / "told"
        told.write_bytes(b"")
        return self._followed(self._executor.submit(_answer, question, function, told), told)

    def _followed(self, done: Future[T], told: Path) -> T:
        last, since = 0, time.monotonic()
        while not wait([done], POLL).done:
            if (now := told.stat().st_size) != last:
                last, since = now, time.monotonic()
            elif last and time.monotonic() - since > self._limit:
                done.cancel()
                problem = f"did not finish within {self._limit:g} s"
                raise NoAnswerError(problem, _said(told))
        try:
            return done.result()
        except BrokenExecutor:
            raise NoAnswerError("ended the process that loaded it", _said(told)) from None


def _said(told: Path) -> list[str]:
    return [line for line in told.read_text("utf-8").splitlines() if line]


def _answer(question: Q, function: Callable[[Q, Tell], T], told: Path) -> T:
    try:
        return function(question, partial(_tell, told))
    except KeyboardInterrupt:  # nobody else's: interrupts do not reach this process
        raise BrokenPluginError("a plugin raises KeyboardInterrupt") from None


def _tell(told: Path, line: str) -> None:
    with told.open("a", encoding="utf-8", newline="") as file:
        file.write(f"{line}\n")


PATIENCE = 120.0
"""Seconds that a stranger's code has to make a task or a network."""


@dataclass(frozen=True)
class _Question:
    """What a process is asked of a run; plain data."""

    run: Run
    plugins: tuple[LocalPlugin, ...]
    device: str

    @property
    def home(self) -> object:
        return home_of(self.run, self.plugins)


class Scout:
    """Asks about runs; what it is not told is left to the runs, whose records will tell.

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
        """Refuse what a task cannot be asked; see `grouping.look_at_task`."""
        if run.strangers:
            self._ask(_look, run)
        else:
            look_at_task(self._host, run)

    def least_of(self, run: Run) -> int | None:
        """Say from how many runs on they train together; see `grouping.least_of`."""
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
