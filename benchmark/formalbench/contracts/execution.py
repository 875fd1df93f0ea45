"""What an executor is told of the work it will be given, and what one that outlives us promises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where units are worked on, and how many at a time.

    Attributes:
        devices: of this machine, ``cpu`` or ``cuda:i``; of several, each unit gets one. ``cuda``
            for the GPU that another machine gives a unit.
        jobs: how many units are handed over at a time.
        store: the folder that records go to; None where there is none.
    """

    devices: tuple[str, ...] = ("cpu",)
    jobs: int = 1
    store: Path | None = None

    @property
    def device(self) -> str:
        """What a unit is told to compute on; ``cuda`` for the GPU its process was given."""
        return self.devices[0] if len(self.devices) == 1 else "cuda"


class DetachedExecutor(Executor):
    """An executor whose units live on when the process that handed them over ends.

    The same request again finds them. A run is known by a name that is the same in every process
    (`formalbench.running.unit.Unit.names`).
    """

    @abstractmethod
    def holder(self, run: str) -> str | None:
        """Say what works on a run already, or will; None for nothing. Runs of one go together."""

    @abstractmethod
    def progress_file(self, runs: Sequence[str]) -> Path:
        """Return the file that tells how far the runs of a unit are."""

    @abstractmethod
    def detach(self) -> int:
        """Follow nothing any more; return how many units live on."""

    @abstractmethod
    def cancel_left(self) -> None:
        """End those that `detach` left."""


class JobsLeft(KeyboardInterrupt):
    """Ctrl-C, while units were worked on that live on.

    Args:
        count: how many.
        cancel: ends them.
    """

    def __init__(self, count: int, cancel: Callable[[], None]) -> None:
        super().__init__()
        self.count, self.cancel = count, cancel
