"""Which lengths the strings of a training batch have: samplers, and how they are asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from formalbench.contracts.objective import process_of
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.sampler import Sampler, Weights
from formalbench.contracts.stream import Stream
from formalbench.contracts.task import Task

Mix = tuple[tuple[int, int], ...]
"""The lengths of a batch, shortest first, and how many strings of it have each."""

UNIFORM = Sampler()


class Staged(Sampler):
    """Lengths up to `first`, then up to `growth` times as many and one more, and so on to all."""

    def stages(self, protocol: Protocol, lengths: Sequence[int]) -> list[list[int]]:
        """Return the lengths of each stage; `Sampler.stages` says more.

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
    """The same in every other interval between two evaluations, and all lengths in the others."""

    def stage(self, protocol: Protocol, reached: int, done: int) -> int:
        """Return the stage that a run trains at next; `Sampler.stage` says more."""
        return -1 if done // protocol.evaluate_every % 2 else reached


class Generated(Sampler):
    """All lengths, as the task's own process gives them.

    A length's share of steps, times the strings that a step of it has, is proportional to its
    share of the process's strings.
    """

    def weights(self, task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights:
        """Return how often each length is drawn; `Sampler.weights` says more."""
        found = process_of(task.source, task.objective).length_distribution(lengths[-1])
        weights: Weights = found[list(lengths)] / [protocol.strings_at(n) for n in lengths]
        return weights


def draw_mix(
    protocol: Protocol,
    stage: Sequence[int],
    batch: int,
    weighted: Weights | None = None,
    seed: int | None = None,
    sampler: Sampler = UNIFORM,
) -> Mix:
    """Return the lengths of a batch's strings: one or, under some protocols, each its own.

    A function of (protocol, seed, stage, batch) alone, and of the sampler's weights for the task,
    so that runs of one seed can train together while they are at one stage.

    Args:
        protocol: of the run.
        stage: the lengths that may be drawn.
        batch: which, counted from 0.
        weighted: how often each length is drawn, of this stage or of a later one; None for all
            alike.
        seed: of the run; None under a protocol whose seeds share lengths.
        sampler: draws them.

    Raises:
        ValueError: if the sampler gives others than those, or another number of them.
    """
    if not protocol.mixed_lengths:
        length = draw_length(protocol, stage, batch, weighted, seed, sampler)
        return ((length, protocol.strings_at(length)),)
    every = _draw("lengths", protocol.batch, protocol, stage, batch, weighted, seed, sampler)
    drawn, counts = np.unique(every, return_counts=True)
    return tuple(zip(drawn.tolist(), counts.tolist(), strict=True))


def draw_length(
    protocol: Protocol,
    stage: Sequence[int],
    batch: int,
    weighted: Weights | None = None,
    seed: int | None = None,
    sampler: Sampler = UNIFORM,
) -> int:
    """Return the length of a batch whose strings all have one; `draw_mix` names the arguments."""
    return int(_draw("length", 1, protocol, stage, batch, weighted, seed, sampler)[0])


def _draw(
    name: str,
    count: int,
    protocol: Protocol,
    stage: Sequence[int],
    batch: int,
    weighted: Weights | None,
    seed: int | None,
    sampler: Sampler,
) -> npt.NDArray[np.int64]:
    own = () if seed is None else (seed,)
    stream = Stream(name, *protocol.key, stage[0], stage[-1], batch, *own)
    drawn = sampler.lengths(protocol, stage, batch, stream, count, weighted)
    if len(drawn) != count or not set(drawn.tolist()) <= set(stage):
        told = f"{type(sampler).__name__}.lengths gave {drawn.tolist()[:5]} for batch {batch}"
        raise ValueError(
            f"{told}: expected {count} of the lengths {stage[0]} to {stage[-1]} of its stage"
        )
    return drawn
