"""The search of `formalbench.evaluation.search`, slow and obvious: one string, lists, no tensors.

It shares no code with that one; tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Say = Callable[[Sequence[int]], Sequence[float]]
"""From what has been said to the log-probability of each output next, END last."""


class Hypothesis(NamedTuple):
    """An answer, or the beginning of one.

    Attributes:
        said: its symbols, without END.
        ended: whether END was said.
        sum: of log-probabilities.
    """

    said: tuple[int, ...]
    ended: bool
    sum: float


def search_naive(say: Say, room: int, beam: int, length_penalty: float) -> list[int]:
    """Return the best answer that is found; `formalbench.evaluation.search.search` says how."""

    def score(one: Hypothesis) -> float:
        length = len(one.said) + one.ended
        return one.sum / math.pow((5 + length) / 6, length_penalty)

    kept = [Hypothesis((), ended=False, sum=0.0)]
    while not all(one.ended for one in kept):
        candidates = []
        for one in kept:
            if one.ended:
                candidates.append(one)
                continue
            *symbols, end = say(one.said)
            candidates.append(Hypothesis(one.said, True, one.sum + end))
            if len(one.said) < room:
                candidates += [
                    Hypothesis((*one.said, symbol), False, one.sum + logarithm)
                    for symbol, logarithm in enumerate(symbols)
                ]
        kept = sorted(candidates, key=score, reverse=True)[:beam]
    return list(kept[0].said)
