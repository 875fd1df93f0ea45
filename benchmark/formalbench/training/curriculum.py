"""Curriculum: the lengths of stages and batches; when a run's stage, decay and end begin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from formalbench.contracts.objective import process_of
from formalbench.contracts.optimiser import Schedule
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.sampler import Sampler, Weights
from formalbench.contracts.source import Stream
from formalbench.contracts.task import Task
from formalbench.training.run_state import RunState

UNIFORM = Sampler()


class Staged(Sampler):
    """Lengths up to `first`, then up to `growth` times that plus one, and so on to all lengths."""

    def stages(self, protocol: Protocol, lengths: Sequence[int]) -> list[list[int]]:
        """Return the lengths of each stage; see `Sampler.stages`.

        Example:
            >>> quick = Protocol(name="quick", version=1)
            >>> [stage[-1] for stage in Staged().stages(quick, range(1, 41))]
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


class InterleavedStages(Staged):
    """Intervals between evaluations alternate between the stage's lengths and all lengths."""

    def stage(self, protocol: Protocol, reached: int, done: int) -> int:
        return -1 if done // protocol.evaluate_every % 2 else reached


class Generated(Sampler):
    """All lengths, with the frequencies of the task's generating process.

    A length's share of steps, times its strings per step, is proportional to its share of the
    strings that the process generates.
    """

    def weights(self, task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights:
        found = process_of(task.source, task.objective).length_distribution(lengths[-1])
        weights: Weights = found[list(lengths)] / [protocol.strings_at(n) for n in lengths]
        return weights


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
    drawn = sampler.lengths(protocol, stage, batch, stream, 1, weighted)
    if len(drawn) != 1 or int(drawn[0]) not in stage:
        told = f"{type(sampler).__name__}.lengths gave {drawn.tolist()[:5]} for batch {batch}"
        raise ValueError(
            f"{told}: expected 1 of the lengths {stage[0]} to {stage[-1]} of its stage"
        )
    return int(drawn[0])


@dataclass(frozen=True)
class Regime:
    """The training rules of a cohort's runs. Callers pass in all values; it reads no device.

    Attributes:
        protocol: the protocol.
        stages: the lengths of each stage; the last stage is the whole training split.
        schedule: the learning-rate schedule before the decay.
        primary: the name of the task's primary metric.
        sampler: chooses the stage that a run trains on.
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
            trained_on = self.lengths(run, done - self.protocol.evaluate_every)
            if len(trained_on) < len(self.stages[-1]):
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
        needed = self.protocol.decay.validated
        if needed is None or (validation is not None and validation >= needed):
            self._begin_decay(run, done, "mastered")
        elif validation is not None:
            run.fits = False

    def _judge_patience(self, run: RunState, done: int) -> None:
        """Begin the decay of a run whose validation has not improved within the patience."""
        patience = self.protocol.patience
        if patience is None:
            return
        known = [point.accuracy for point in run.points if not math.isnan(point.accuracy)]
        before = known[: -(patience.steps // self.protocol.validation.every)]
        if done < patience.after or not before:
            return
        if max(known) < max(before) + patience.gain:
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
        self, run: RunState, step: int, why: Literal["mastered", "budget", "capped"]
    ) -> None:
        run.decay_from = step
        run.ended = why
        run.reached = self.stages[run.stage][-1]
        run.stage = len(self.stages) - 1
