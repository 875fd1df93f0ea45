"""A promise, and what is written down about keeping it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from formalbench.contracts.errors import PLUGIN_FAILURES


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, and whether it was kept.

    Attributes:
        subject: what was checked, as ``task parity:classify``.
        promise: what should hold.
        problem: one line; empty if it holds.
    """

    subject: str
    promise: str
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the promise was kept."""
        return not self.problem


class BrokenPromiseError(AssertionError):
    """A check found something wrong."""


def demand(holds: object, problem: str) -> None:
    """Raise `BrokenPromiseError` unless `holds`."""
    if not holds:
        raise BrokenPromiseError(problem)


Promise = tuple[str, Callable[[], None]]


def keep(subject: str, promises: Iterator[Promise]) -> Iterator[Check]:
    """Run promises one by one; an exception in a plugin's code is a promise not kept."""
    for promise, run in promises:
        try:
            run()
        except BrokenPromiseError as error:
            yield Check(subject, promise, str(error))
        except PLUGIN_FAILURES as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(f"{type(error).__name__}: {error}".split())
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            yield Check(subject, promise, f"{text} ({place})")
        else:
            yield Check(subject, promise)
