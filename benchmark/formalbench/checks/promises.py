"""Results of checks."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError
from formalbench.contracts.objective import BrokenPromiseError
from formalbench.host.loader import as_failures

if TYPE_CHECKING:
    from formalbench.contracts.objective import Promise


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        subject: what was checked, such as ``task parity:classify``.
        promise: what should hold.
        problem: one line; empty if it holds.
    """

    subject: str
    promise: str
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return not self.problem


begun: ContextVar[Callable[[Check], None]] = ContextVar("begun", default=lambda check: None)
"""Called before each check, which might not end."""


def keep(subject: str, promises: Iterator[Promise]) -> Iterator[Check]:
    """Run checks one by one; an exception in a plugin's code is a failed check."""
    for promise, run in promises:
        begun.get()(Check(subject, promise))
        yield Check(subject, promise, _problem(run))


def _problem(run: Callable[[], None]) -> str:
    try:
        with as_failures():
            run()
    except BrokenPromiseError as error:
        return str(error)
    except FormalbenchError as error:  # it says what is wrong, and where
        return " ".join(str(error).split())
    except PLUGIN_FAILURES as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{text} ({Path(frame.filename).name}:{frame.lineno})"
    return ""
