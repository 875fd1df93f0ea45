"""Shared by objectives: answers that are classes, comparison with oracles, chance levels.

The most frequent class of a sample is correct more often on that sample than on other strings of
the language: of ten fair coin flips, the more frequent side has about six. So the chance level of
whole strings and of fixed strings predicts each string from the other strings of its length.

Legend: B strings, A answers of each, K classes, U different lengths.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.objective import Chance, Objective, Patience, demand
from formalbench.contracts.source import HasFixedStrings, HasParts, Language, Source, Stream
from formalbench.metrics.answers import class_nats, mean_scored

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.network import Example
    from formalbench.contracts.objective import Metric
    from formalbench.contracts.task import Task


LONGEST_TRIED = 1_000
"""Maximum length of strings in checks, if a task has shorter ones; longer strings take longer and
show the same."""


def some_lengths(task: Task) -> list[int]:
    """Return six lengths spread over the training and test lengths of a task."""
    from formalbench.evaluation.cells import spread

    return spread([*tried_lengths(task, "train"), *tried_lengths(task, "test")], 6)


def tried_lengths(task: Task, split: str) -> list[int]:
    """Return the lengths of a split that are short enough for checks; the shortest if none is."""
    from formalbench.evaluation.cells import split_lengths

    lengths = split_lengths(task, split)
    return [length for length in lengths if length <= LONGEST_TRIED] or lengths[:1]


END = "$"
"""Display symbol for the end of a string."""


def check_members(task: Task) -> None:
    """Check that the oracle accepts all sampled members."""
    source: Any = task.source
    patience = Patience()
    for length in some_lengths(task):
        for string in task.objective.strings(source, Stream("check members"), length, 16):
            one = [int(symbol) for symbol in string]
            demand(source.oracle(one) == 1, f"{one} is not a member, according to the oracle")
            if patience.ended:
                break


class ClassAnswers(Objective):
    """What objectives share whose answers are classes: each the one with the largest logit."""

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over all answers in nats."""
        return mean_scored(class_nats(logits, example.targets), example.scored)

    def margin(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return the least gap between the two largest logits of any answer, (B,)."""
        first, second = logits.topk(2, dim=-1).values.unbind(-1)
        return least_margin(first - second, example.scored)

    def decisive_logit(self, logits: Tensor, example: Example, primary: Metric) -> float:
        """Return the logit that decided the first wrong answer.

        For two classes the logit of class 1 minus that of class 0; for more, the logit of the
        correct class minus the greatest other.
        """
        logits_AK, right_A1 = logits.reshape(-1, logits.shape[-1]), example.targets.reshape(-1, 1)
        if example.scored is not None:
            scored_A = example.scored.reshape(-1)
            logits_AK, right_A1 = logits_AK[scored_A], right_A1[scored_A]
        if logits.shape[-1] == 2:
            answers_A = logits_AK[:, 1] - logits_AK[:, 0]
            wrong_A = (answers_A > 0) != (right_A1[:, 0] == 1)
        else:
            others_A = logits_AK.scatter(1, right_A1, -math.inf).amax(-1)
            answers_A = logits_AK.gather(1, right_A1)[:, 0] - others_A
            wrong_A = answers_A <= 0
        bad = (wrong_A | ~answers_A.isfinite()).nonzero()
        return float(answers_A[bad[0, 0] if len(bad) else 0])


def least_margin(margins_BA: Tensor, scored_BA: Tensor | None) -> Tensor:
    """Return the smallest margin of each string's scored answers, (B,), of (B,) or (B, A)."""
    if margins_BA.ndim == 1:
        return margins_BA
    if scored_BA is not None:
        margins_BA = margins_BA.where(scored_BA, math.inf)
    return margins_BA.amin(-1)


def strings_of(example: Example) -> Iterator[list[int]]:
    """Yield the strings of an example without padding."""
    rows = example.inputs.tolist()
    if example.lengths is None:
        yield from rows
    else:
        for row, length in zip(rows, example.lengths.tolist(), strict=True):
            yield row[:length]


def first_difference(
    example: Example,
    told: Sequence[Any],
    oracle: Callable[[list[int]], Sequence[int]],
) -> int | None:
    """Return the index of the first string with a different answer by the oracle, if any.

    Args:
        example: of the strings.
        told: answers of each string; anything after the oracle's answers is padding.
        oracle: returns a string's answers.
    """
    for index, (string, answers) in enumerate(zip(strings_of(example), told, strict=True)):
        expected = list(oracle(string))
        if not np.array_equal(np.asarray(answers, dtype=int)[: len(expected)], expected):
            return index
    return None


Counts = npt.NDArray[np.int64]


def fixed_test(source: Source) -> HasFixedStrings | None:
    """Return the strings that a source is tested on, if they are fixed."""
    part = source.part("test") if isinstance(source, HasParts) else source
    return part if isinstance(part, HasFixedStrings) else None


def fixed_chance(source: Language, test: HasFixedStrings, lengths: Sequence[int]) -> Chance:
    """Return the chance level on fixed strings.

    Returns:
        By length, the accuracy of predicting each string from the others; that of the best
        constant class if predicting by length is worse overall.
    """
    different, places = np.unique(np.asarray(lengths), return_inverse=True)
    counts_UK = np.array([_counts(source, test, length) for length in different.tolist()])
    shares_UK = counts_UK / counts_UK.sum(axis=1, keepdims=True)
    means_K = shares_UK[places].mean(axis=0)
    best = int(means_K.argmax())
    constant = float(means_K[best])
    by_length_U = np.array([_guess_accuracy(counts_K, best) for counts_K in counts_UK])
    if by_length_U[places].mean() < constant:
        by_length_U = shares_UK[:, best]
    return Chance(constant, tuple(by_length_U[places].tolist()))


def _counts(source: Language, test: HasFixedStrings, length: int) -> Counts:
    strings_BN = np.concatenate([test.fixed(length, group) for group in test.groups])
    return np.bincount(source.classify(strings_BN), minlength=source.num_classes)


def _guess_accuracy(counts_K: Counts, best: int) -> float:
    """Return the share of strings whose class is the most frequent among the others.

    Args:
        counts_K: strings of each class.
        best: class to prefer in a tie.
    """
    right = 0
    for label in np.flatnonzero(counts_K).tolist():
        others_K = counts_K.astype(np.float64)
        others_K[label] -= 1
        others_K[best] += 0.5
        right += int(counts_K[label]) * (int(others_K.argmax()) == label)
    return right / int(counts_K.sum())


ESTIMATE_FROM = 4096
"""Strings per length for estimating the trivial predictors."""


class WholeString(Objective):
    """An objective whose primary metric is the share of strings with only correct answers.

    Answers within a string depend on each other, so only whole strings are independent trials.
    """

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Estimate the chance of guessing all answers of a string."""

        def draw(length: int, count: int) -> npt.NDArray[Any]:
            stream_at = stream.child(length)
            strings = self.strings(source, stream_at, length, count)
            targets: npt.NDArray[Any] = self.examples(source, strings, stream_at).targets
            return targets

        return whole_string_chance(lengths, draw)


def whole_string_chance(
    lengths: Sequence[int], draw: Callable[[int, int], npt.NDArray[Any]]
) -> Chance:
    """Estimate the chance of getting every position of a string right.

    The best predictor by length answers with the most frequent sequence of answers; the best
    constant one repeats the answer whose repetition is most frequent. Both are estimated from a
    sample; a sequence seen once counts as never guessed, since in a large space every sequence of a
    sample is seen once. A language with one string of a length gives chance 1 there.

    Args:
        lengths: one per cell.
        draw: called with (length, count), returns targets (count, positions, …).
    """
    by_length: list[float] = []
    constant: dict[bytes, float] = {}
    for length in lengths:
        shares = _repeated_answers(np.ascontiguousarray(draw(length, ESTIMATE_FROM)))
        by_length.append(max((share for share, _ in shares), default=0.0))
        for share, repeated in shares:
            if repeated is not None:
                constant[repeated] = constant.get(repeated, 0.0) + share / len(lengths)
    return Chance(max(constant.values(), default=0.0), tuple(by_length))


def _repeated_answers(targets: npt.NDArray[Any]) -> list[tuple[float, bytes | None]]:
    """Return the share of every sequence of answers seen more than once.

    Args:
        targets: (B, positions, …).

    Returns:
        Pairs of the share and, if the sequence repeats one answer, that answer.
    """
    # As bytes, because np.unique sorts rows, which takes minutes with many symbols.
    counts = Counter(sequence.tobytes() for sequence in targets)
    shares: list[tuple[float, bytes | None]] = []
    for sequence in targets:
        if (count := counts.pop(sequence.tobytes(), 1)) > 1:  # pop, to count each sequence once
            same = bool((sequence == sequence[:1]).all())
            shares.append((count / len(targets), sequence[:1].tobytes() if same else None))
    return shares
