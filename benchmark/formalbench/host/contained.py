"""What a stranger's code may do while it is loaded: whatever it does comes back as an exception."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any, NoReturn

from formalbench.contracts.errors import PLUGIN_FAILURES

LIMIT = 120.0
"""Seconds that a plugin has to be imported and to say what it provides."""


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Load a plugin's code inside: it cannot end the process, nor take longer than `LIMIT`.

    The standard files are open afterwards, if they were before.

    What crashes the interpreter itself is not held up, nor what never returns to Python; and
    outside the main thread, or where there are no alarms (Windows), nothing is timed.

    Raises:
        TimeoutError: if it takes too long, from the line where it was.
        SystemExit: if it would end the process.
        RuntimeError: in place of what is no `Exception`; an interrupt passes through.
    """
    with as_failures(), _standard_files(), _no_sudden_end(), _alarm(LIMIT):
        yield


@contextlib.contextmanager
def as_failures() -> Iterator[None]:
    """Let nothing out but `PLUGIN_FAILURES`, and what comes from outside the plugin.

    Raises:
        RuntimeError: in place of any other exception, from the same line.
    """
    try:
        yield
    except (*PLUGIN_FAILURES, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # of a kind of its own
        line = f"{type(error).__name__}: {error}"
        raise RuntimeError(line).with_traceback(error.__traceback__) from None


@contextlib.contextmanager
def _standard_files() -> Iterator[None]:
    """Open the standard files again that the code closes: the next to be opened would be one."""
    copies = {number: copy for number in range(3) if (copy := _copy_of(number)) is not None}
    try:
        yield
    finally:
        for number, copy in copies.items():
            if not _is_open(number):
                os.dup2(copy, number)
            os.close(copy)


def _copy_of(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:  # it is closed already
        return None


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _no_sudden_end() -> Iterator[None]:
    """Make `os._exit` an exception in this process; one that it forks ends as ever."""
    here, end = os.getpid(), os._exit

    def refuse(status: int) -> NoReturn:
        if os.getpid() != here:
            end(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = end


class _TooLong(BaseException):
    """Nothing that expects an `Exception` handles it."""


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in what is still going on after so many seconds."""
    here = threading.current_thread() is threading.main_thread()
    if not here or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> NoReturn:
        raise _TooLong

    handler, began = signal.signal(signal.SIGALRM, ring), monotonic()
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TooLong as error:
        line = f"it is not loaded after {seconds:g} s"
        raise TimeoutError(line).with_traceback(error.__traceback__) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # somebody else's alarm
            signal.setitimer(signal.ITIMER_REAL, max(left - (monotonic() - began), 1e-3), every)
