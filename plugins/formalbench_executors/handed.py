"""Units that were handed over: what comes of each, and which are submitted together."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formalbench.running.units import Unit

QUIET = 1.0
"""Seconds in which nothing more is handed over, after which an array is submitted."""

AT_MOST = 30.0
"""Seconds after which it is submitted in any case."""


class JobFuture(Future[Any]):
    """What comes of a unit; to cancel it ends its job."""

    end: Callable[[], None] | None = None

    def cancel(self) -> bool:
        """Do it no more, whether it waits to be submitted, waits in the queue, or runs."""
        if self.end is not None:
            self.end()
        return super().cancel()

    def tell(self, error: BaseException | None, value: Any = None) -> None:
        """Tell whoever waits; one who has cancelled waits no more."""
        self.end = None
        with contextlib.suppress(InvalidStateError):
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)


@dataclass
class Handed:
    """A unit that was handed over and is not submitted yet."""

    future: JobFuture
    function: Callable[[Any], Any]
    unit: Unit
    since: float = field(default_factory=time.monotonic)


class Waiting:
    """The units that wait to be submitted; whoever uses it holds a lock."""

    def __init__(self) -> None:
        self._units: list[Handed] = []

    def __bool__(self) -> bool:
        return bool(self._units)

    def add(self, one: Handed) -> None:
        """Have a unit wait."""
        self._units.append(one)

    def ready(self) -> list[Handed]:
        """Return what is to be submitted now: all of it, or nothing yet."""
        self._units = [one for one in self._units if not one.future.cancelled()]
        now = time.monotonic()
        if self._units and (
            now - self._units[-1].since >= QUIET or now - self._units[0].since >= AT_MOST
        ):
            return [*self._units]
        return []

    def take_out(self, batch: Collection[Handed]) -> None:
        """Have some wait no more."""
        gone = set(map(id, batch))
        self._units = [one for one in self._units if id(one) not in gone]

    def clear(self) -> list[JobFuture]:
        """Have none wait any more, and return their futures."""
        futures = [one.future for one in self._units]
        self._units = []
        return futures


def batches(
    units: Collection[Handed], minutes_of: Callable[[Unit], int], size: int
) -> Iterator[tuple[int, list[Handed]]]:
    """Give the units that go into one array, which has one time limit, and that in minutes."""
    groups: dict[int, list[Handed]] = {}
    for one in units:
        groups.setdefault(minutes_of(one.unit), []).append(one)
    for minutes, group in groups.items():
        rest = iter(group)
        while batch := list(islice(rest, size)):
            yield minutes, batch
