"""The examples that a cohort trains on, drawn before they are needed.

Legend: T steps, U seeds, B strings, N symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from formalbench.contracts.example import Example, pad, stack
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.sampler import Sampler
from formalbench.contracts.task import Task
from formalbench.training.curriculum import UNIFORM, Mix
from formalbench.training.step import Share


class _Drawn(NamedTuple):
    """A share of a step, not yet on the device: arrays (U, B, …), and its weight, (U,)."""

    example: Example
    weight: npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class Interval:
    """The steps between two evaluations, at one stage.

    Attributes:
        first: the first step, counted from 0.
        mixes: the lengths of each batch's strings; a step has as many batches as the protocol
            says.
        longest: string length of the stage; mixed lengths are padded to it.
        seeds: of the runs, each once.
    """

    first: int
    mixes: tuple[Mix, ...]
    longest: int
    seeds: tuple[int, ...]

    @property
    def strings(self) -> int:
        """How many strings a run trains on."""
        return sum(count for mix in self.mixes for _, count in mix)

    @property
    def tokens(self) -> int:
        """How many symbols they have."""
        return sum(length * count for mix in self.mixes for length, count in mix)


class TrainingData:
    """Draws the training examples of a task under a protocol.

    What a step's strings are depends on (task, parameters, protocol, seed, step) only: runs
    of one seed share them, whatever their learning rate.

    Args:
        task: whose strings.
        protocol: of the runs.
        device: where they are wanted. For a GPU an interval is drawn in the background while
            the device works on the one before.
        padded: whether strings of several lengths come padded, as one example; else length by
            length, each with its share of the gradient.
        sampler: draws the strings.

    Attributes:
        ahead: whether it draws in the background.
    """

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        device: torch.device,
        padded: bool = False,
        sampler: Sampler = UNIFORM,
    ) -> None:
        self._task, self._protocol, self._device = task.of("train"), protocol, device
        self._padded, self._sampler = padded, sampler
        self._rooms: dict[int, Example] = {}
        self.ahead = device.type != "cpu"
        self._pool = ThreadPoolExecutor(1) if self.ahead else None
        self._waiting: dict[Interval, Future[list[list[_Drawn]]]] = {}

    def close(self) -> None:
        """Stop drawing."""
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def draw_ahead(self, interval: Interval) -> None:
        """Begin to draw an interval that will probably be asked for."""
        if self._pool is not None and interval not in self._waiting:
            self._waiting[interval] = self._pool.submit(self._draw, interval)

    def take(self, interval: Interval) -> list[tuple[Share, ...]]:
        """Return an interval's steps on the device: examples (U, B, …) and weights (U,)."""
        waiting = self._waiting.pop(interval, None)
        # Guesses that were wrong, since the runs moved on, are of no use to anybody.
        for useless in [one for one in self._waiting if one.first <= interval.first]:
            if interval.first > useless.first:
                self._waiting.pop(useless).cancel()
        drawn = waiting.result() if waiting else self._draw(interval)
        return [tuple(self._moved(share) for share in step) for step in drawn]

    def _draw(self, interval: Interval) -> list[list[_Drawn]]:
        batches = self._protocol.accumulate
        steps = []
        for start in range(0, len(interval.mixes), batches):
            shares = []
            for index in range(start, min(start + batches, len(interval.mixes))):
                shares += self._draw_batch(interval, index)
            steps.append(_averaged(shares, batches))
        return steps

    def _draw_batch(self, interval: Interval, index: int) -> list[_Drawn]:
        """Draw a batch of all seeds; its shares have weights that sum up to 1."""
        mix = interval.mixes[index]
        batch = interval.first * self._protocol.accumulate + index
        parts = [
            [self._sample(seed, batch, length, count) for seed in interval.seeds]
            for length, count in mix
        ]
        if not self._protocol.mixed_lengths:
            return [self._stacked(parts[0])]
        if self._padded:
            room = self._room(interval.longest)
            whole = [pad([room, *same], self._task.layout) for same in zip(*parts, strict=True)]
            return [self._stacked(whole)]
        answers = np.array([[_answers(self._task, one) for one in part] for part in parts])
        weights = answers / np.maximum(answers.sum(0), 1)
        return [
            self._stacked(part)._replace(weight=weight)
            for part, weight in zip(parts, weights, strict=True)
        ]

    def _room(self, length: int) -> Example:
        """Return an example of no string at all, as wide as strings of a length are."""
        if length not in self._rooms:
            self._rooms[length] = self._known(
                self._task.sample(self._task.stream("room", length), length, 1)
            ).rows(slice(0))
        return self._rooms[length]

    def _sample(self, seed: int, batch: int, length: int, count: int) -> Example:
        drawn = self._sampler.strings(self._task, self._protocol, seed, batch, length, count)
        if len(drawn.inputs) != count:
            told = f"{type(self._sampler).__name__}.strings gave {len(drawn.inputs)} strings"
            raise ValueError(f"{told}: expected {count}")
        return self._known(drawn)

    def _known(self, example: Example) -> Example:
        primary = self._task.primary.name  # no other metric is asked in training
        return example._replace(known={k: v for k, v in example.known.items() if k == primary})

    def _stacked(self, examples: Sequence[Example]) -> _Drawn:
        return _Drawn(stack(examples), None)

    def _moved(self, share: _Drawn) -> Share:
        example = share.example.map(self._on_device)
        weight = share.weight
        if weight is None:
            return Share(example)
        return Share(example, self._on_device(weight))

    def _on_device(self, array: npt.NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type != "cpu":
            tensor = tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.long() if array.dtype.kind in "iu" else tensor


def _averaged(shares: Sequence[_Drawn], batches: int) -> list[_Drawn]:
    """Return the shares of a step's batches with weights that sum up to 1."""
    if len(shares) == 1:
        return [shares[0]._replace(weight=None)]
    one = np.ones(len(shares[0].example.inputs))
    return [
        share._replace(weight=(one if share.weight is None else share.weight) / batches)
        for share in shares
    ]


def _answers(task: Task, example: Example) -> int:
    """Return how many answers of strings of one length count."""
    if example.scored is not None:
        return int(example.scored.sum())
    count, length = example.inputs.shape
    said = 0 if example.decoded is None else example.decoded.shape[1]
    per_string: dict[str, int] = {
        "last": 1,
        "each": length,
        "prefixes": length + 1,
        "decoded": said + 1,
    }
    return int(count) * per_string[task.layout]
