"""The training examples of a cohort, drawn before they are needed.

Legend: T steps, U seeds, B strings, N symbols.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from formalbench.contracts.example import Example, stack
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.sampler import Sampler
from formalbench.contracts.task import Task
from formalbench.training.curriculum import UNIFORM


@dataclass(frozen=True)
class Interval:
    """The steps between two evaluations, at one stage.

    Attributes:
        first: the first step, counted from 0.
        batches: string length and number of strings of each batch; the protocol sets the number
            of batches per step.
        seeds: the distinct seeds of the runs.
    """

    first: int
    batches: tuple[tuple[int, int], ...]
    seeds: tuple[int, ...]

    @property
    def strings(self) -> int:
        """The number of strings that a run trains on."""
        return sum(count for _, count in self.batches)

    @property
    def tokens(self) -> int:
        """The number of symbols in these strings."""
        return sum(length * count for length, count in self.batches)


class TrainingData:
    """Draws the training examples of a task under a protocol.

    The strings of a step depend only on the task, its parameters, the protocol, the seed and the
    step: runs of one seed share them even if their learning rates differ.

    Args:
        task: the task.
        protocol: the protocol of the runs.
        device: the device for the strings. For a GPU, an interval is drawn in the background
            while the device works on the one before.
        sampler: draws the strings.

    Attributes:
        ahead: whether intervals are drawn in the background.
    """

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        device: torch.device,
        sampler: Sampler = UNIFORM,
    ) -> None:
        self._task, self._protocol, self._device = task.of("train"), protocol, device
        self._sampler = sampler
        self.ahead = device.type != "cpu"
        self._pool = ThreadPoolExecutor(1) if self.ahead else None
        self._waiting: dict[Interval, Future[list[list[Example]]]] = {}

    def close(self) -> None:
        """Stop drawing."""
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def draw_ahead(self, interval: Interval) -> None:
        """Begin to draw an interval that will probably be needed."""
        if self._pool is not None and interval not in self._waiting:
            self._waiting[interval] = self._pool.submit(self._draw, interval)

    def take(self, interval: Interval) -> list[tuple[Example, ...]]:
        """Return the batches (U, B, …) of an interval's steps, on the device."""
        waiting = self._waiting.pop(interval, None)
        # Intervals drawn for a stage that the runs have left are useless.
        for useless in [one for one in self._waiting if one.first <= interval.first]:
            if interval.first > useless.first:
                self._waiting.pop(useless).cancel()
        drawn = waiting.result() if waiting else self._draw(interval)
        return [tuple(one.map(self._on_device) for one in step) for step in drawn]

    def _draw(self, interval: Interval) -> list[list[Example]]:
        accumulate = self._protocol.accumulate
        drawn = [
            stack([self._sample(seed, batch, length, count) for seed in interval.seeds])
            for batch, (length, count) in enumerate(interval.batches, interval.first * accumulate)
        ]
        return [drawn[start : start + accumulate] for start in range(0, len(drawn), accumulate)]

    def _sample(self, seed: int, batch: int, length: int, count: int) -> Example:
        drawn = self._sampler.strings(self._task, self._protocol, seed, batch, length, count)
        if len(drawn.inputs) != count:
            told = f"{type(self._sampler).__name__}.strings gave {len(drawn.inputs)} strings"
            raise ValueError(f"{told}: expected {count}")
        primary = self._task.primary.name  # training computes no other metric
        return drawn._replace(known={k: v for k, v in drawn.known.items() if k == primary})

    def _on_device(self, array: npt.NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type != "cpu":
            tensor = tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.long() if array.dtype.kind in "iu" else tensor
