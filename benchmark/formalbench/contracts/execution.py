"""A workplace: what an executor is told of the work it will be given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where units are worked on, and how many at a time.

    Attributes:
        devices: of this machine, ``cpu`` or ``cuda:i``; of several, each unit gets one.
        jobs: how many units are handed over at a time.
    """

    devices: tuple[str, ...] = ("cpu",)
    jobs: int = 1

    @property
    def device(self) -> str:
        """What a unit is told to compute on; ``cuda`` for the GPU its process was given."""
        return self.devices[0] if len(self.devices) == 1 else "cuda"
