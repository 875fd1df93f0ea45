"""The objective ``classify``: one label per string."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.network import Example
from formalbench.contracts.objective import Chance, Promise, as_lists, demand
from formalbench.contracts.source import Language, Stream, Symbols
from formalbench.metrics.answers import MOST_CLASSES, Accuracy, CrossEntropy, MutualInformation
from formalbench.objectives.answers import (
    ClassAnswers,
    first_difference,
    fixed_chance,
    fixed_test,
    some_lengths,
)

if TYPE_CHECKING:
    from formalbench.contracts.objective import Metric
    from formalbench.contracts.task import Task

ESTIMATE_FROM = 8192
"""Strings for estimating a class distribution that a language does not state."""

SAMPLE = 512
"""Strings for checking the class distribution that a language states."""


class Classify(ClassAnswers):
    """One label per string; a string is correct if its own class has the largest logit.

    Logits are (B, K) with K classes, targets (B,). Among equal largest logits the lowest class
    is the answer, so that with two classes a difference of exactly 0 is a reject.
    """

    name = "classify"
    layout = "last"
    needs = (Language,)
    sees_all = True

    def answers(self, source: Language) -> tuple[str, ...]:
        """Return the numbers of the classes."""
        return tuple(map(str, range(source.num_classes)))

    def examples(self, source: Language, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for the class of each string, (B,)."""
        return Example(strings_BN, source.classify(strings_BN))

    def metrics(self, source: Language) -> tuple[Metric, ...]:
        """Return accuracy, cross-entropy and, for few classes, mutual information."""
        few = source.num_classes <= MOST_CLASSES
        information = (MutualInformation(source.num_classes),) if few else ()
        return Accuracy(), CrossEntropy(), *information

    def chance(self, source: Language, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the accuracy of the best constant class and of the best class per length."""
        stated = self.stated_chance(source, lengths)
        return stated or _chance([_distribution(source, length, stream) for length in lengths])

    def stated_chance(self, source: Language, lengths: Sequence[int]) -> Chance | None:
        """Return the chance level if the language states its class distribution."""
        if (test := fixed_test(source)) is not None:
            return fixed_chance(source, test, lengths)
        stated = [source.class_distribution(length) for length in lengths]
        known = [shares for shares in stated if shares is not None]
        return _chance(known) if len(known) == len(stated) else None

    def show(self, source: Language, string: Symbols) -> str:
        """Return the class as a number."""
        return str(int(source.classify(string[None, :])[0]))

    def to_json(self, source: Language, example: Example) -> list[Any]:
        """Return the classes as numbers."""
        return as_lists(example.targets)

    def expected(self, source: Language, string: Symbols, example: Example) -> int | str:
        """Return the class."""
        return int(example.targets[0])

    def contradicts(self, source: Language, example: Example) -> int | None:
        """Compare classes with the oracle's."""
        answers = [[target] for target in example.targets.tolist()]
        return first_difference(example, answers, lambda string: [source.oracle(string)])

    def promises(self, task: Task) -> Iterator[Promise]:
        """Check the class distribution that a language states."""
        yield "states its true class distribution", lambda: _check_distribution(task)


def _chance(shares: Sequence[Sequence[float]]) -> Chance:
    shares_LK = np.array(shares)
    constant = float(shares_LK.mean(axis=0).max())
    return Chance(constant, tuple(float(best) for best in shares_LK.max(axis=1)))


def _distribution(source: Language, length: int, stream: Stream) -> tuple[float, ...]:
    stated = source.class_distribution(length)
    if stated is not None:
        return tuple(stated)
    strings = source.sample(stream.child(length), length, ESTIMATE_FROM)
    counts = np.bincount(source.classify(strings), minlength=source.num_classes)
    return tuple(counts / ESTIMATE_FROM)


def _check_distribution(task: Task) -> None:
    source: Any = task.source
    for length in some_lengths(task):
        classes = source.classify(source.sample(Stream("check classes"), length, SAMPLE))
        shares = np.bincount(classes, minlength=source.num_classes) / SAMPLE
        stated = source.class_distribution(length)
        if stated is not None:
            demand(abs(sum(stated) - 1) < 1e-9, f"length {length}: it does not sum to 1")
            worst = float(np.abs(shares - np.array(stated)).max())
            # Five standard deviations of a share in a sample of this size.
            demand(
                worst < 2.5 / SAMPLE**0.5, f"length {length}: stated {stated}, but sampled {shares}"
            )
