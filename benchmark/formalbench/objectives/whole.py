"""What the objectives with an answer at every position share: a string counts as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.objective import Chance

ESTIMATE_FROM = 4096
"""Strings from which the trivial predictors are estimated, per length."""


def whole_string_chance(
    lengths: Sequence[int], draw: Callable[[int, int], npt.NDArray[Any]]
) -> Chance:
    """Return the chance of getting every position of a string right.

    The best predictor that sees only the length answers with the most frequent sequence of
    answers; the best constant one repeats the answer whose repetition is most frequent.
    Both are estimated from a sample; a sequence seen once counts as never guessed, since
    in a large space every sequence of a sample is seen once. A language with one string of
    a length gives chance 1 there.

    Args:
        lengths: one per cell.
        draw: called with (length, count), returns targets (count, positions, …).
    """
    by_length: list[float] = []
    constant: dict[bytes, float] = {}
    for length in lengths:
        targets = np.ascontiguousarray(draw(length, ESTIMATE_FROM))
        answers = targets.reshape(ESTIMATE_FROM, -1)
        _, counts = np.unique(answers, axis=0, return_counts=True)
        most = int(counts.max()) if answers.shape[1] else ESTIMATE_FROM
        by_length.append(most / ESTIMATE_FROM if most > 1 else 0.0)
        same = (targets == targets[:, :1]).reshape(ESTIMATE_FROM, -1).all(axis=1)
        for repeated in targets[same][:, :1]:
            key = repeated.tobytes()
            constant[key] = constant.get(key, 0.0) + 1 / (ESTIMATE_FROM * len(lengths))
    return Chance(max(constant.values(), default=0.0), tuple(by_length))
