"""A task: a source with an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Example, Layout
from formalbench.contracts.objective import Chance, Metric, Objective, process_of
from formalbench.contracts.source import HasParts, Source, Split, Stream, Symbols
from formalbench.contracts.specs import Splits

if TYPE_CHECKING:
    from formalbench.contracts.network import Batch


def expected_shape(task: Task, batch: Batch) -> tuple[int, ...]:
    """Return the shape of a task's logits for a batch.

    (B, K) for the layout ``last``, (B, N, K) for ``each``, (B, N+1, K) for ``prefixes`` and
    (B, M+1, K) for ``decoded``.
    """
    count, length = batch.symbols.shape
    if task.layout == "last":
        return count, task.outputs
    if task.layout == "decoded":
        length = 0 if batch.decoded is None else batch.decoded.shape[1]
    return count, length + (task.layout != "each"), task.outputs


@dataclass(frozen=True, eq=False)  # compared by identity, as the key of caches
class Task:
    """A source with one objective.

    Attributes:
        source_name: the source's full name, as in ``dyck-2-3``.
        version: the task version.
        source: the language, string function or corpus.
        objective: the question about its strings.
        splits: training and test lengths.
        parameters: options that differ from their defaults.
        extra_metrics: metrics in addition to the objective's own.
    """

    source_name: str
    version: int
    source: Source
    objective: Objective
    splits: Splits = field(default_factory=Splits)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    extra_metrics: tuple[Metric, ...] = ()

    @property
    def name(self) -> str:
        """The full name, as in ``parity:classify``."""
        return f"{self.source_name}:{self.objective.name}"

    @cached_property
    def alphabet(self) -> tuple[str, ...]:
        """The input symbols of a network; a symbol's id is its index."""
        return self.objective.alphabet(self.source)

    @property
    def layout(self) -> Layout:
        """Where a network answers (see `formalbench.contracts.network.Layout`)."""
        return self.objective.layout

    @cached_property
    def outputs(self) -> int:
        """K, the number of outputs per answer."""
        return len(self.objective.answers(self.source))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, the primary one first."""
        return (*self.objective.metrics(self.source), *self.extra_metrics)

    @property
    def primary(self) -> Metric:
        """The metric that a board ranks by."""
        return self.metrics[0]

    def lengths(self, first: int, last: int) -> list[int]:
        """Return the lengths first … last at which strings have something to answer."""
        return [
            length
            for length in range(first, last + 1)
            if self.objective.has_length(self.source, length)
        ]

    def at_lengths(self, train: tuple[int, int] | None, test: tuple[int, int] | None) -> Task:
        """Return this task with other training and test lengths; None keeps its own.

        The task's step between lengths also applies to the new ones.

        Raises:
            RequestError: if none of them can be used.
        """
        own = self.splits
        windows = (self._window(train, own.train), self._window(test, own.test))
        return replace(self, splits=Splits(*windows, own.step))

    def _window(self, requested: tuple[int, int] | None, own: tuple[int, int]) -> tuple[int, int]:
        if requested is None:
            return own
        first = requested[0] + (own[0] - requested[0]) % self.splits.step
        if first > requested[1]:
            raise RequestError(
                f"task {self.name} has no strings of length {requested[0]} to {requested[1]}: "
                f"it takes lengths {own[0]}, {own[0] + self.splits.step}, …"
            )
        return first, requested[1]

    def of(self, split: Split) -> Task:
        """Return this task with the strings of a split; itself if splits share strings."""
        if not isinstance(self.source, HasParts):
            return self
        part = self.source.part(split)
        return self if part is self.source else replace(self, source=part)

    def sample(self, stream: Stream, length: int, count: int) -> Example:
        """Sample an example of `count` strings of one length.

        Raises:
            TypeError: if the source draws anything else than 64-bit ids of this shape.
        """
        return self.examples(self.strings(stream, length, count), stream)

    def strings(self, stream: Stream, length: int, count: int) -> Symbols:
        """Sample `count` strings of one length from the source, (count, length).

        Raises:
            TypeError: if the source draws anything else than 64-bit ids of this shape.
        """
        strings = self.objective.strings(self.source, stream, length, count)
        if strings.shape != (count, length) or strings.dtype != np.int64:
            raise TypeError(
                f"{self.name} drew {strings.dtype} of shape {strings.shape}, "
                f"not int64 of shape {(count, length)}"
            )
        return strings

    def examples(self, strings_BN: Symbols, stream: Stream | None = None) -> Example:
        """Make an example of strings of one length.

        Args:
            strings_BN: strings of the source.
            stream: random numbers for the objective; None for the task's own stream.
        """
        stream = stream or self.stream("examples", strings_BN.shape[1])
        example = self.objective.examples(self.source, strings_BN, stream)
        known = {
            metric.name: fact
            for metric in self.metrics
            if (fact := metric.precompute(self.source, strings_BN)) is not None
        }
        return example._replace(known=known) if known else example

    def sample_window(
        self, stream: Stream, window: tuple[int, int], tokens: int
    ) -> tuple[Example, ...]:
        """Sample strings of the source's process within a window of lengths.

        Args:
            stream: random numbers.
            window: smallest and largest length, without END.
            tokens: number of tokens, END included.

        Returns:
            One example per length, shortest first, with strings in the order of sampling.

        Raises:
            RequestError: if the source has no string process.
        """
        # The process's lengths include END.
        ends = (window[0] + 1, window[1] + 1)
        symbols_T, lengths_B = process_of(self.source, self.objective).sample_corpus(
            stream, ends, tokens
        )
        starts_B = np.cumsum(lengths_B) - lengths_B
        examples = []
        for length in np.unique(lengths_B).tolist():
            starts_C1 = starts_B[lengths_B == length][:, None]
            examples.append(self.examples(symbols_T[starts_C1 + np.arange(length)]))
        return tuple(examples)

    def stream(self, *key: object) -> Stream:
        """Return this task's stream: its key is name, version and parameters, then `key`."""
        return Stream("task", self.name, self.version, dict(self.parameters), *key)

    def chance(self, lengths: Sequence[int]) -> Chance:
        """Return the chance level over cells of these lengths."""
        return self.objective.chance(self.source, lengths, self.stream("chance"))

    def to_json(self, example: Example) -> list[Any]:
        """Return each string's correct answer in JSON format."""
        return self.objective.to_json(self.source, example)
