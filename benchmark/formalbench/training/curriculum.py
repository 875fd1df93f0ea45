"""Curriculum: the lengths of stages and batches; when a run's stage, decay and end begin.

The strings of a cohort's batches are drawn before they are needed.

Legend: T steps, U seeds, B strings, N symbols.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from formalbench.contracts.network import Example, stack
from formalbench.contracts.objective import process_of
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.source import Split, Stream
from formalbench.contracts.task import Task
from formalbench.contracts.training import Sampler, Schedule, Weights
from formalbench.training.run_state import RunState

if TYPE_CHECKING:
    from formalbench.task_handle import TaskHandle

UNIFORM = Sampler()


class StagedSampler(Sampler):
    """Lengths up to `first`, then up to `growth` times that plus one, and so on to all lengths."""

    def stages(self, protocol: Protocol, lengths: Sequence[int]) -> list[list[int]]:
        """Return the lengths of each stage; see `Sampler.stages`.

        Example:
            >>> quick = Protocol(name="quick", version=1)
            >>> [stage[-1] for stage in StagedSampler().stages(quick, range(1, 41))]
            [2, 4, 7, 11, 17, 26, 40]
        """
        whole, curriculum = list(lengths), protocol.curriculum
        longest = max(curriculum.first, whole[0])
        result: list[list[int]] = []
        while longest < whole[-1]:
            stage = [length for length in whole if length <= longest]
            if not result or len(stage) > len(result[-1]):
                result.append(stage)
            longest = int(longest * curriculum.growth) + 1
        return [*result, whole]


class InterleavedSampler(StagedSampler):
    """Intervals between evaluations alternate between the stage's lengths and all lengths."""

    def stage(self, protocol: Protocol, reached: int, done: int) -> int:
        return -1 if done // protocol.evaluate_every % 2 else reached


class ProcessSampler(Sampler):
    """All lengths, with the frequencies of the task's generating process.

    A length's share of steps, times its strings per step, is proportional to its share of the
    strings that the process generates.
    """

    def weights(self, task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights:
        shares = process_of(task.source, task.objective).length_distribution(lengths[-1])
        weights: Weights = shares[list(lengths)] / [protocol.strings_at(n) for n in lengths]
        return weights


def stages_of(sampler: Sampler, protocol: Protocol, lengths: Sequence[int]) -> list[list[int]]:
    """Return a sampler's stages for the lengths of the training split.

    Raises:
        ValueError: if a stage is empty or has other lengths, or the last has not all of them.
    """
    stages = [list(stage) for stage in sampler.stages(protocol, lengths)]
    if not stages or stages[-1] != list(lengths):
        raise _bad(sampler, "stages", "the last stage must contain all training lengths")
    known = set(lengths)
    for stage in stages:
        if not stage or stage != sorted(known & set(stage)):
            raise _bad(sampler, "stages", f"{stage[:5]} are not some training lengths, in order")
    return stages


def weights_of(
    sampler: Sampler, task: Task, protocol: Protocol, lengths: Sequence[int]
) -> Weights | None:
    """Return a sampler's relative frequency of each training length; None for equal ones.

    Raises:
        ValueError: if there is not one for each length, one is negative or not finite, or all are
            0.
    """
    given = sampler.weights(task, protocol, lengths)
    if given is None:
        return None
    weights: Weights = np.asarray(given, dtype=np.float64)
    if np.shape(weights) != (len(lengths),):
        problem = f"shape {np.shape(weights)}, not one for each of {len(lengths)} lengths"
        raise _bad(sampler, "weights", problem)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise _bad(sampler, "weights", "all must be finite and at least 0, and one above 0")
    return weights


def _bad(sampler: Sampler, method: str, problem: str) -> ValueError:
    return ValueError(f"{type(sampler).__name__}.{method}: {problem}")


def draw_length(
    protocol: Protocol,
    stage: Sequence[int],
    batch: int,
    weighted: Weights | None = None,
    seed: int | None = None,
    sampler: Sampler = UNIFORM,
) -> int:
    """Return the length of a batch's strings.

    The length depends only on the protocol, seed, stage, batch, and the sampler's weights for the
    task, so that runs of one seed can train together while they are at one stage.

    Args:
        protocol: the protocol of the run.
        stage: the lengths that may be drawn.
        batch: index of the batch, from 0.
        weighted: the weight of each length, for this stage or a later one; None for equal weights.
        seed: the seed of the run; None under a protocol whose seeds share lengths.
        sampler: draws the length.

    Raises:
        ValueError: if the sampler returns a length outside the stage, or not exactly one.
    """
    own = () if seed is None else (seed,)
    stream = Stream("length", *protocol.key, stage[0], stage[-1], batch, *own)
    lengths = sampler.lengths(protocol, stage, batch, stream, 1, weighted)
    if len(lengths) != 1 or int(lengths[0]) not in stage:
        problem = f"{type(sampler).__name__}.lengths gave {lengths.tolist()[:5]} for batch {batch}"
        raise ValueError(
            f"{problem}: expected 1 of the lengths {stage[0]} to {stage[-1]} of its stage"
        )
    return int(lengths[0])


@dataclass(frozen=True)
class TrainingSchedule:
    """The training rules of a cohort's runs. Callers pass in all values; it reads no device.

    Attributes:
        stages: the lengths of each stage; the last stage is the whole training split.
        primary: the name of the task's primary metric.
    """

    protocol: Protocol
    stages: Sequence[Sequence[int]]
    schedule: Schedule
    primary: str
    sampler: Sampler

    def lengths(self, run: RunState, done: int) -> Sequence[int]:
        """Return the string lengths that a run trains on in the interval after `done` steps."""
        return self.stages[self.sampler.stage(self.protocol, run.stage, done)]

    def end(self, run: RunState) -> int:
        """Return the step before which a run ends, as known so far."""
        if run.decay_from is None:
            return self.protocol.steps
        return run.decay_from + self._decay_steps(run)

    def _decay_steps(self, run: RunState) -> int:
        if run.ended == "mastered" and run.decay_from is not None:
            return self.protocol.decay_steps(run.decay_from)
        return self.protocol.decay.steps

    def begin_interval(self, run: RunState, done: int) -> None:
        """Begin a run's decay if the remaining budget equals the steps of the decay."""
        if run.decay_from is None and done == self.protocol.steps - self.protocol.decay.steps:
            self._begin_decay(run, done, "budget")

    def rate(self, run: RunState, base: float, step: int) -> float:
        """Return the learning rate of a step, counted from 0; `base` is the run's base rate."""
        rate = self.schedule.rate(step, self.protocol.steps, base, run.schedule)
        if run.decay_from is None:
            return rate
        share = (step - run.decay_from + 1) / self._decay_steps(run)
        return rate * (1.0 + (self.protocol.decay.final - 1.0) * share)

    def validates(self, run: RunState, done: int) -> bool:
        """Return whether a run is validated after `done` steps."""
        return done % self.protocol.validation.every == 0 or done == self.end(run)

    def watched(self, done: int) -> bool:
        """Return whether learning curves are recorded after `done` steps."""
        watch = self.protocol.watch
        return watch is not None and done % watch.every == 0

    def judge(self, run: RunState, done: int, metrics: Mapping[str, float]) -> None:
        """Update a run's stage, decay and status after an evaluation.

        Args:
            run: the run; its points include a validation after these steps, if there was one.
            done: steps taken.
            metrics: the metrics of its progress, those of validation only if it was validated
                after these steps; the training loss is not finite if the run diverged.
        """
        if not math.isfinite(metrics["train/loss"]):
            with_penalties = " with its penalties" if self.protocol.penalties else ""
            self.diverge(run, done, f"the loss{with_penalties} is not finite")
            return
        run.steps = done
        error, validation = metrics["train/error"], metrics.get(f"validation/{self.primary}")
        if run.decay_from is None:
            lengths = self.lengths(run, done - self.protocol.evaluate_every)
            if len(lengths) < len(self.stages[-1]):
                run.stage += error <= self.protocol.curriculum.error
            elif error <= self.protocol.decay.mastered > 0:
                run.fits = True
            if run.fits:
                self._judge_mastery(run, done, validation)
            if run.decay_from is None and validation is not None:
                self._judge_patience(run, done)
        elif done == self.end(run):
            run.status = "finished"
        self.schedule.evaluated(run.schedule, metrics)

    def _judge_mastery(self, run: RunState, done: int, validation: float | None) -> None:
        """Begin the decay of a run with small training error, if its validation is good enough."""
        threshold = self.protocol.decay.validated
        if threshold is None or (validation is not None and validation >= threshold):
            self._begin_decay(run, done, "mastered")
        elif validation is not None:
            run.fits = False

    def _judge_patience(self, run: RunState, done: int) -> None:
        """Begin the decay of a run whose validation has not improved within the patience."""
        patience = self.protocol.patience
        if patience is None:
            return
        accuracies = [point.accuracy for point in run.points if not math.isnan(point.accuracy)]
        earlier = accuracies[: -(patience.steps // self.protocol.validation.every)]
        if done < patience.after or not earlier:
            return
        if max(accuracies) < max(earlier) + patience.gain:
            self._begin_decay(run, done, "capped")

    def diverge(self, run: RunState, done: int, why: str) -> None:
        """End a run because a value was not finite."""
        run.steps, run.status, run.ended, run.message = done, "diverged", "stopped", why

    def check_time(self, run: RunState) -> None:
        """End a run that has trained for longer than its protocol's time limit."""
        limit = self.protocol.time_limit
        if run.status == "running" and limit is not None and run.seconds > limit:
            run.status, run.ended = "timeout", "stopped"

    def _begin_decay(
        self, run: RunState, step: int, reason: Literal["mastered", "budget", "capped"]
    ) -> None:
        run.decay_from = step
        run.ended = reason
        run.reached = self.stages[run.stage][-1]
        run.stage = len(self.stages) - 1


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
        device: the device for the strings. For a GPU, an interval is drawn in the background
            while the device works on the one before.

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
        future = self._waiting.pop(interval, None)
        # Intervals drawn for a stage that the runs have left are useless.
        for old in [one for one in self._waiting if one.first <= interval.first]:
            if interval.first > old.first:
                self._waiting.pop(old).cancel()
        steps = future.result() if future else self._draw(interval)
        return [tuple(one.map(self._on_device) for one in step) for step in steps]

    def _draw(self, interval: Interval) -> list[list[Example]]:
        accumulate = self._protocol.accumulate
        batches = [
            stack([self._sample(seed, batch, length, count) for seed in interval.seeds])
            for batch, (length, count) in enumerate(interval.batches, interval.first * accumulate)
        ]
        return [batches[start : start + accumulate] for start in range(0, len(batches), accumulate)]

    def _sample(self, seed: int, batch: int, length: int, count: int) -> Example:
        example = self._sampler.strings(self._task, self._protocol, seed, batch, length, count)
        if len(example.inputs) != count:
            problem = f"{type(self._sampler).__name__}.strings gave {len(example.inputs)} strings"
            raise ValueError(f"{problem}: expected {count}")
        primary = self._task.primary.name  # training computes no other metric
        return example._replace(known={k: v for k, v in example.known.items() if k == primary})

    def _on_device(self, array: npt.NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type != "cpu":
            tensor = tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.long() if array.dtype.kind in "iu" else tensor


class BatchDataset(IterableDataset[tuple[Tensor, Tensor]]):
    """Batches of strings of one length, and their targets (`TaskHandle.batches`)."""

    def __init__(self, handle: TaskHandle, split: Split, batch: int, seed: int) -> None:
        self._handle, self._split, self._batch, self._seed = handle, split, batch, seed

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        pairs = self._handle.batches(self._split, self._batch, self._seed, first=first, step=step)
        for strings, targets in pairs:
            yield torch.from_numpy(strings), torch.from_numpy(targets)
