"""Chance levels of whole strings and of fixed strings.

The most frequent class of a sample is correct more often on that sample than on other strings of
the language: of ten fair coin flips, the more frequent side has about six. So each string is
predicted from the other strings of its length.

Legend: U different lengths, K classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.objective import Chance, Objective
from formalbench.contracts.source import HasFixedStrings, HasParts, Language, Source, Stream

Counts = npt.NDArray[np.int64]


def fixed_test(source: Source) -> HasFixedStrings | None:
    """Return the strings that a source is tested on, if they are fixed."""
    part = source.part("test") if isinstance(source, HasParts) else source
    return part if isinstance(part, HasFixedStrings) else None


def fixed_chance(source: Language, test: HasFixedStrings, lengths: Sequence[int]) -> Chance:
    """Return the chance level on fixed strings.

    Args:
        source: knows their classes.
        test: the strings.
        lengths: one per cell.

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
    by_length_U = np.array([_guessed(counts_K, best) for counts_K in counts_UK])
    if by_length_U[places].mean() < constant:
        by_length_U = shares_UK[:, best]
    return Chance(constant, tuple(by_length_U[places].tolist()))


def _counts(source: Language, test: HasFixedStrings, length: int) -> Counts:
    strings_BN = np.concatenate([test.fixed(length, group) for group in test.groups])
    return np.bincount(source.classify(strings_BN), minlength=source.num_classes)


def _guessed(counts_K: Counts, best: int) -> float:
    """Return the share of strings whose class is the most frequent among the others.

    Args:
        counts_K: strings of each class.
        best: class to prefer in a tie.
    """
    right = 0
    for one in np.flatnonzero(counts_K).tolist():
        others_K = counts_K.astype(np.float64)
        others_K[one] -= 1
        others_K[best] += 0.5
        right += int(counts_K[one]) * (int(others_K.argmax()) == one)
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
