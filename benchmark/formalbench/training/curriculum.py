"""Which length a training step has."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench.contracts.protocol import Curriculum, Protocol
from formalbench.contracts.stream import Stream


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
    if curriculum.kind == "uniform":
        return [whole]
    longest = max(curriculum.first, whole[0])
    result: list[list[int]] = []
    while longest < whole[-1]:
        stage = [length for length in whole if length <= longest]
        if not result or len(stage) > len(result[-1]):
            result.append(stage)
        longest = int(longest * curriculum.growth) + 1
    return [*result, whole]


def draw_length(protocol: Protocol, stage: Sequence[int], step: int) -> int:
    """Return the length of a step's strings.

    A function of (protocol, stage, step) alone, so that runs at one stage can train together.
    """
    stream = Stream("length", protocol.name, protocol.version, stage[0], stage[-1], step)
    return stage[int(stream.integers(len(stage), 1)[0])]
