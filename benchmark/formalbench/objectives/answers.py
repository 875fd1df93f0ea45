"""What the objectives whose answers are classes share, and how answers meet an oracle.

Legend: B strings, A answers of each, K classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Example


def class_margin(logits: Tensor) -> Tensor:
    """Return the largest logit minus the second largest, (…), for logits (…, K)."""
    first, second = logits.topk(2, dim=-1).values.unbind(-1)
    return first - second


def least_margin(margins_BA: Tensor, scored_BA: Tensor | None) -> Tensor:
    """Return the least margin of each string's scored answers, (B,)."""
    if scored_BA is not None:
        margins_BA = margins_BA.where(scored_BA, math.inf)
    return margins_BA.amin(-1)


def telling_class(logits: Tensor, example: Example) -> float:
    """Return the logit that decided the first wrong class of a string; B is 1.

    For two classes the logit of class 1 less that of class 0, for more that of the right class
    less the greatest other.
    """
    logits_AK, right_A1 = logits.reshape(-1, logits.shape[-1]), example.targets.reshape(-1, 1)
    if example.scored is not None:
        asked_A = example.scored.reshape(-1)
        logits_AK, right_A1 = logits_AK[asked_A], right_A1[asked_A]
    if logits.shape[-1] == 2:
        answers_A = logits_AK[:, 1] - logits_AK[:, 0]
        wrong_A = (answers_A > 0) != (right_A1[:, 0] == 1)
    else:
        others_A = logits_AK.scatter(1, right_A1, -math.inf).amax(-1)
        answers_A = logits_AK.gather(1, right_A1)[:, 0] - others_A
        wrong_A = answers_A <= 0
    bad = (wrong_A | ~answers_A.isfinite()).nonzero()
    return float(answers_A[bad[0, 0] if len(bad) else 0])


def strings_of(example: Example) -> Iterator[list[int]]:
    """Yield the strings of an example that is not more than these, without padding."""
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
    """Return the index of the first string that an oracle answers otherwise, if any.

    Args:
        example: of the strings.
        told: a string's answers each; what is behind those that the oracle gives is padding.
        oracle: gives a string's answers, slowly.
    """
    for index, (string, answers) in enumerate(zip(strings_of(example), told, strict=True)):
        known = list(oracle(string))
        if not np.array_equal(np.asarray(answers, dtype=int)[: len(known)], known):
            return index
    return None
