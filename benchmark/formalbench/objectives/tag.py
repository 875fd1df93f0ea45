"""The objective ``tag``: the class of every prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.network import Example
from formalbench.contracts.objective import Patience, Promise, as_lists, demand
from formalbench.contracts.source import HasPrefixClasses, HasQuestions, Language, Stream, Symbols
from formalbench.metrics.answers import CrossEntropy, StringAccuracy
from formalbench.objectives.answers import (
    ClassAnswers,
    WholeString,
    first_difference,
    some_lengths,
    strings_of,
)

if TYPE_CHECKING:
    from formalbench.contracts.objective import Metric
    from formalbench.contracts.task import Task


class Tag(ClassAnswers, WholeString):
    """One label per position: the class of the prefix that ends there.

    Logits are (B, N, K), targets (B, N). A string is correct if every label is. If a source
    restricts the scored prefixes (`HasQuestions`), others have target 0.
    """

    name = "tag"
    layout = "each"
    needs = (Language, HasPrefixClasses)

    def answers(self, source: Any) -> tuple[str, ...]:
        """Return the numbers of the classes."""
        return tuple(map(str, range(source.num_classes)))

    def has_length(self, source: Any, length: int) -> bool:
        """Return whether strings of this length have a scored label."""
        return length >= 1 and bool(source.has_length(length))

    def examples(self, source: Any, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for the class of every non-empty (or scored) prefix, (B, N)."""
        classes_BN = source.classify_prefixes(strings_BN)
        if not isinstance(source, HasQuestions):
            return Example(strings_BN, classes_BN)
        scored_BN = source.asked(strings_BN)
        return Example(strings_BN, np.where(scored_BN, classes_BN, 0), scored=scored_BN)

    def metrics(self, source: Any) -> tuple[Metric, ...]:
        """Return the accuracies of strings and labels, and cross-entropy."""
        return StringAccuracy(), CrossEntropy()

    def show(self, source: Any, string: Symbols) -> str:
        """Return the labels, separated by spaces; ``-`` where none is scored."""
        example = self.examples(source, string[None], Stream("show"))
        (labels,) = self.to_json(source, example)
        return " ".join("-" if label is None else str(label) for label in labels)

    def to_json(self, source: Any, example: Example) -> list[Any]:
        """Return the labels as lists of numbers, with None where none is scored."""
        labels = as_lists(example.targets)
        if example.scored is None:
            return labels
        return [
            [label if scored else None for label, scored in zip(*rows, strict=True)]
            for rows in zip(labels, example.scored.tolist(), strict=True)
        ]

    def contradicts(self, source: Any, example: Example) -> int | None:
        """Compare labels with the oracle for every prefix."""

        def labels(string: list[int]) -> list[int]:
            return [source.oracle(string[:end]) for end in range(1, len(string) + 1)]

        if isinstance(source, HasQuestions):
            return _first_contradicted(source, example)
        return first_difference(example, example.targets, labels)

    def promises(self, task: Task) -> Iterator[Promise]:
        """Compare labels with the oracle."""
        yield "labels every prefix as its oracle does", lambda: _check_labels(task)


def _first_contradicted(source: Any, example: Example) -> int | None:
    """Return the index of the first string with a scored label that the oracle contradicts."""
    rows = zip(strings_of(example), example.targets.tolist(), example.scored.tolist(), strict=True)
    for index, (string, labels, scored) in enumerate(rows):
        for end, is_scored in enumerate(scored[: len(string)], 1):
            if is_scored and source.oracle(string[:end]) != labels[end - 1]:
                return index
    return None


def _check_labels(task: Task) -> None:
    source: Any = task.source
    if isinstance(source, HasQuestions):
        for length in some_lengths(task)[:3]:
            example = task.sample(Stream("check tags"), length, 8)
            wrong = task.objective.contradicts(source, example)
            demand(wrong is None, f"length {length}: a label asked for is not the oracle's")
        return
    patience = Patience()
    for length in (1, 2, 7, some_lengths(task)[2]):
        strings = source.sample(Stream("check tags"), length, 8)
        labels = source.classify_prefixes(strings)
        demand(labels.shape == strings.shape, f"shape {labels.shape} for {strings.shape}")
        for string, row in zip(strings, labels, strict=True):
            for end in range(1, length + 1):
                true = source.oracle([int(symbol) for symbol in string[:end]])
                demand(int(row[end - 1]) == true, f"prefix of length {end} of {string}: not {true}")
                if patience.ended:
                    return
