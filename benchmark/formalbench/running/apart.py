"""Asking a stranger's code in a process of its own: it may end that, or never answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, wait
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, TypeVar

from formalbench.cache import temporary_folder
from formalbench.contracts.errors import BrokenPluginError
from formalbench.contracts.execution import Workplace
from formalbench.running.executors import local

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
        self._executor: local.LocalExecutor | None = None
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
            self._executor, self._folder = local.make(Workplace()), temporary_folder("apart")
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
                problem = f"did not come to an end within {self._limit:g} s"
                raise NoAnswerError(problem, _said(told))
        try:
            return done.result()
        except BrokenExecutor:
            raise NoAnswerError("ended the process that tried it", _said(told)) from None


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
