"""Which lengths the strings of a training batch have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from formalbench.contracts.language import HasFixedStrings
from formalbench.contracts.objective import process_of
from formalbench.contracts.protocol import Curriculum, Protocol
from formalbench.contracts.stream import Stream
from formalbench.contracts.task import Task

Weights = npt.NDArray[np.float64]

Mix = tuple[tuple[int, int], ...]
"""The lengths of a batch, shortest first, and how many strings of it have each."""


def stages(curriculum: Curriculum, lengths: Sequence[int]) -> list[list[int]]:
    """Return the lengths of each stage, the whole training split last.

    Args:
        curriculum: the protocol's.
        lengths: the lengths of the training split, in order.

    Example:
        >>> [stage[-1] for stage in stages(Curriculum(), range(1, 41))]
        [2, 4, 7, 11, 17, 26, 40]
    """
    whole = list(lengths)
    if curriculum.kind in ("uniform", "generated"):
        return [whole]
    longest = max(curriculum.first, whole[0])
    result: list[list[int]] = []
    while longest < whole[-1]:
        stage = [length for length in whole if length <= longest]
        if not result or len(stage) > len(result[-1]):
            result.append(stage)
        longest = int(longest * curriculum.growth) + 1
    return [*result, whole]


def length_weights(task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights | None:
    """Return how often each length is drawn, relatively; None for all alike.

    For ``generated`` a length's share of steps, times the strings that a step of it has, is
    proportional to its share of the process's strings; where the strings are fixed, to its share of
    these, so that each is drawn equally often.
    """
    source = task.of("train").source
    shares: Weights
    if protocol.curriculum.kind == "generated":
        found = process_of(task.source, task.objective).length_distribution(lengths[-1])
        shares = found[list(lengths)]
    elif isinstance(source, HasFixedStrings):
        shares = np.array([source.number(n) for n in lengths], dtype=np.float64)
    else:
        return None
    weights: Weights = shares / [protocol.strings_at(n) for n in lengths]
    return weights


def draw_mix(
    protocol: Protocol,
    stage: Sequence[int],
    batch: int,
    weighted: Weights | None = None,
    seed: int | None = None,
) -> Mix:
    """Return the lengths of a batch's strings: one or, under some protocols, each its own.

    A function of (protocol, seed, stage, batch) alone, and of what `length_weights` says of the
    task, so that runs of one seed can train together while they are at one stage.

    Args:
        protocol: of the run.
        stage: the lengths that may be drawn.
        batch: which, counted from 0.
        weighted: how often each length is drawn, of this stage or of a later one; None for all
            alike.
        seed: of the run; None under a protocol whose seeds share lengths.
    """
    if not protocol.mixed_lengths:
        length = draw_length(protocol, stage, batch, weighted, seed)
        return ((length, protocol.strings_at(length)),)
    stream = _stream("lengths", protocol, stage, batch, seed)
    drawn, counts = np.unique(_draw(stream, stage, weighted, protocol.batch), return_counts=True)
    return tuple(zip(drawn.tolist(), counts.tolist(), strict=True))


def draw_length(
    protocol: Protocol,
    stage: Sequence[int],
    batch: int,
    weighted: Weights | None = None,
    seed: int | None = None,
) -> int:
    """Return the length of a batch whose strings all have one; `draw_mix` names the arguments."""
    stream = _stream("length", protocol, stage, batch, seed)
    return int(_draw(stream, stage, weighted, 1)[0])


def _stream(
    name: str, protocol: Protocol, stage: Sequence[int], batch: int, seed: int | None
) -> Stream:
    own = () if seed is None else (seed,)
    return Stream(name, *protocol.key, stage[0], stage[-1], batch, *own)


def _draw(
    stream: Stream, stage: Sequence[int], weighted: Weights | None, count: int
) -> npt.NDArray[np.int64]:
    lengths = np.asarray(stage, dtype=np.int64)
    if weighted is None:
        return lengths[stream.integers(len(stage), count)]
    sums = np.cumsum(weighted[: len(stage)])  # a stage has the first of all lengths
    indices = np.searchsorted(sums, stream.uniform(count) * sums[-1], side="right")
    drawn: npt.NDArray[np.int64] = lengths[np.minimum(indices, len(stage) - 1)]
    return drawn
