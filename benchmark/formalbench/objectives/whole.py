"""What the objectives with an answer at every position share: a string counts as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.objective import Chance, Objective
from formalbench.contracts.stream import Stream

ESTIMATE_FROM = 4096
"""Strings from which the trivial predictors are estimated, per length."""


class WholeString(Objective):
    """An objective whose primary metric is the share of strings answered right throughout.

    Answers of one string depend on each other, so only whole strings are independent trials.
    """

    def chance(self, source: Any, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the chance of guessing all answers of a string, estimated."""

        def draw(length: int, count: int) -> npt.NDArray[Any]:
            stream_at = stream.child(length)
            strings = self.strings(source, stream_at, length, count)
            targets: npt.NDArray[Any] = self.examples(source, strings, stream_at).targets
            return targets

        return whole_string_chance(lengths, draw)


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
    # As bytes: sorting rows, as np.unique does, takes minutes where there are many symbols.
    counts = Counter(sequence.tobytes() for sequence in targets)
    shares: list[tuple[float, bytes | None]] = []
    for sequence in targets:
        if (count := counts.pop(sequence.tobytes(), 1)) > 1:  # popped: each sequence once
            same = bool((sequence == sequence[:1]).all())
            shares.append((count / len(targets), sequence[:1].tobytes() if same else None))
    return shares
