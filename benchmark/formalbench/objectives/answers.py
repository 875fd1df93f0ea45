"""Shared by objectives: answers that are classes, lengths, comparison with oracles.

Legend: B strings, A answers of each, K classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.objective import Objective, Patience, demand
from formalbench.contracts.source import Stream
from formalbench.metrics.cross_entropy import class_nats, mean_scored

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Example
    from formalbench.contracts.metric import Metric
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


def class_margin(logits: Tensor) -> Tensor:
    """Return the largest logit minus the second largest, (…), for logits (…, K)."""
    first, second = logits.topk(2, dim=-1).values.unbind(-1)
    return first - second


class ClassAnswers(Objective):
    """What objectives share whose answers are classes: each the one with the largest logit."""

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean cross-entropy over all answers in nats."""
        return mean_scored(class_nats(logits, example.targets), example.scored)

    def margin(self, logits: Tensor, example: Example, primary: Metric) -> Tensor:
        """Return the least gap between the two largest logits of any answer, (B,)."""
        return least_margin(class_margin(logits), example.scored)

    def telling(self, logits: Tensor, example: Example, primary: Metric) -> float:
        """Return the logit that decided the first wrong answer (`telling_class`)."""
        return telling_class(logits, example)


def least_margin(margins_BA: Tensor, scored_BA: Tensor | None) -> Tensor:
    """Return the smallest margin of each string's scored answers, (B,), of (B,) or (B, A)."""
    if margins_BA.ndim == 1:
        return margins_BA
    if scored_BA is not None:
        margins_BA = margins_BA.where(scored_BA, math.inf)
    return margins_BA.amin(-1)


def telling_class(logits: Tensor, example: Example) -> float:
    """Return the logit that decided the first wrong class of a string; B is 1.

    For two classes the logit of class 1 minus that of class 0; for more, the logit of the correct
    class minus the greatest other.
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
        known = list(oracle(string))
        if not np.array_equal(np.asarray(answers, dtype=int)[: len(known)], known):
            return index
    return None
