"""The chance level on fixed strings, of which there may be few of a length.

The most frequent class of a length is right more often among the very strings that it was counted
on than among others of the language: of ten fair coins the more frequent side is right for six. So
each string is guessed from the others of its length.

Legend: U different lengths, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from formalbench.contracts.language import HasFixedStrings, HasParts, Language
from formalbench.contracts.objective import Chance
from formalbench.contracts.source import Source

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
        By length, the accuracy of guessing each string from the others; of the best constant class
        where guessing by length is worse on the whole.
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
    """Return the share of strings whose class is the most frequent one of the others.

    Args:
        counts_K: strings of each class.
        best: the class that wins a tie.
    """
    right = 0
    for one in np.flatnonzero(counts_K).tolist():
        others_K = counts_K.astype(np.float64)
        others_K[one] -= 1
        others_K[best] += 0.5
        right += int(counts_K[one]) * (int(others_K.argmax()) == one)
    return right / int(counts_K.sum())
