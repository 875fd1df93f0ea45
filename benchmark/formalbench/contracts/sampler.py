"""Samplers: which lengths and strings each training batch has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.source import HasFixedStrings

if TYPE_CHECKING:
    from formalbench.contracts.example import Example
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.source import Stream
    from formalbench.contracts.task import Task

Weights = npt.NDArray[np.float64]


class Sampler:
    """Selects lengths and strings of batches; a protocol names it in its curriculum.

    This class is the kind ``uniform``: all lengths of the training split are equally frequent.
        Override what differs. Results of methods must depend only on their arguments, so that runs
        of one seed train on the same strings and resumed runs continue with the strings that they
        would have had.

    Args:
        config: its options.

    Example:
        >>> class LongFirst(Sampler):
        ...     def weights(self, task, protocol, lengths):
        ...         return np.array(lengths, dtype=float)
    """

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def stages(self, protocol: Protocol, lengths: Sequence[int]) -> list[list[int]]:
        """Return the lengths of each stage of a run; the last stage has all.

        A run advances to the next stage at an evaluation if its training error since the last one
        is at most ``curriculum.error``.

        Args:
            protocol: of the run.
            lengths: lengths of the training split, in order.
        """
        return [list(lengths)]

    def stage(self, protocol: Protocol, reached: int, done: int) -> int:
        """Return the stage of a run until its next evaluation; -1 for the last stage.

        Args:
            protocol: of the run.
            reached: highest stage reached, counted from 0.
            done: number of steps taken.
        """
        return reached

    def weights(self, task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights | None:
        """Return the relative frequency of each length; None for equal ones.

        With fixed strings the default frequencies sample every string equally often.

        Args:
            task: the training task.
            protocol: of the run; a batch has ``protocol.strings_at(length)`` strings.
            lengths: of the training split, in order.
        """
        source = task.of("train").source
        if not isinstance(source, HasFixedStrings):
            return None
        shares = np.array([source.number(n) for n in lengths], dtype=np.float64)
        weights: Weights = shares / [protocol.strings_at(n) for n in lengths]
        return weights

    def lengths(
        self,
        protocol: Protocol,
        stage: Sequence[int],
        batch: int,
        stream: Stream,
        count: int,
        weights: Weights | None,
    ) -> npt.NDArray[np.int64]:
        """Sample the length of a batch, one for all of its strings.

        Args:
            protocol: of the run.
            stage: allowed lengths, in order.
            batch: which, counted from 0.
            stream: random numbers; depends on the other arguments and the seed.
            count: number of lengths: 1.
            weights: from `weights`, for this stage or for all lengths.
        """
        every = np.asarray(stage, dtype=np.int64)
        if weights is None:
            return every[stream.integers(len(stage), count)]
        sums = np.cumsum(weights[: len(stage)])  # a stage is a prefix of all lengths
        indices = np.searchsorted(sums, stream.uniform(count) * sums[-1], side="right")
        drawn: npt.NDArray[np.int64] = every[np.minimum(indices, len(stage) - 1)]
        return drawn

    def strings(
        self, task: Task, protocol: Protocol, seed: int, batch: int, length: int, count: int
    ) -> Example:
        """Return the strings of one length in a batch, with their targets.

        Args:
            task: the training part of the task (`formalbench.Task.of`).
            protocol: of the run.
            seed: of the run.
            batch: which, counted from 0.
            length: string length.
            count: number of strings.
        """
        return task.sample(task.stream("train", *protocol.key, seed, batch), length, count)
