"""A sampler: which lengths and which strings a run trains on next."""

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
    """Decides which lengths and strings each batch has; a protocol names it in its curriculum.

    This class is the kind ``uniform``: every batch has a length of the training split, each as
    often as any other. Override what differs. What a method returns must depend on its arguments
    alone: runs of one seed then train on the same strings, and a run that was killed goes on with
    those it would have had.

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

        A run begins at the first. It moves on after an evaluation at which its training error since
        the last one was at most ``curriculum.error``.

        Args:
            protocol: of the run.
            lengths: of the training split, in order.
        """
        return [list(lengths)]

    def stage(self, protocol: Protocol, reached: int, done: int) -> int:
        """Return the stage that a run trains at until its next evaluation; -1 for the last one.

        Args:
            protocol: of the run.
            reached: the stage that it has reached, counted from 0.
            done: the steps that it has taken.
        """
        return reached

    def weights(self, task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights | None:
        """Return the relative frequency of each length; None for equal ones.

        With fixed strings the default frequencies sample every string equally often.

        Args:
            task: that is trained on.
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
        """Return lengths of the stage for a batch, one for all of its strings.

        Args:
            protocol: of the run.
            stage: the lengths that may be sampled, in order.
            batch: which, counted from 0.
            stream: where random numbers come from; it depends on all of these and on the seed.
            count: how many lengths: 1.
            weights: as `weights` returned them, of this stage or of all lengths.
        """
        every = np.asarray(stage, dtype=np.int64)
        if weights is None:
            return every[stream.integers(len(stage), count)]
        sums = np.cumsum(weights[: len(stage)])  # a stage has the first of all lengths
        indices = np.searchsorted(sums, stream.uniform(count) * sums[-1], side="right")
        drawn: npt.NDArray[np.int64] = every[np.minimum(indices, len(stage) - 1)]
        return drawn

    def strings(
        self, task: Task, protocol: Protocol, seed: int, batch: int, length: int, count: int
    ) -> Example:
        """Return the strings of one length in a batch, with their targets.

        Args:
            task: the part of the task that is for training (`formalbench.Task.of`).
            protocol: of the run.
            seed: of the run.
            batch: which, counted from 0.
            length: of the strings.
            count: how many.
        """
        return task.sample(task.stream("train", *protocol.key, seed, batch), length, count)
