"""The executor ``serial``: one unit after another, in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.execution import Workplace

T = TypeVar("T")
P = ParamSpec("P")


class SerialExecutor(Executor):
    """Does what it is given before `submit` returns; Ctrl-C passes through."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do it now."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except PLUGIN_FAILURES as error:
            future.set_exception(error)
        return future


def make(workplace: Workplace) -> SerialExecutor:
    """Return the executor; it does one unit at a time, wherever it works."""
    return SerialExecutor()
