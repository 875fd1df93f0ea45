"""What seeds say of a limit: yes, no, or that they cannot tell.

A claim about a limit holds if every seed is on the right side of it, or the 95 % interval of their
mean is; it differs if every seed, or the interval, is on the wrong side. Where seeds disagree and
the interval has both sides, they cannot tell, however near or far their mean is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from formalbench_papers.framework.findings import Answer

if TYPE_CHECKING:
    from formalbench_papers.framework.accuracies import Score


def at_least(score: Score, limit: float) -> Answer:
    """Say whether a model reaches a share of one; no run that finished does not."""
    if score.mean is None:
        return False
    return _side([score.low, score.worst], [score.high, score.best], limit)


def below(score: Score, limit: float) -> Answer:
    """Say whether a model stays under a share of one."""
    return opposite(at_least(score, limit))


def at_most(score: Score, limit: float) -> Answer:
    """Say whether a model gets no further than a share of one."""
    # The next number above the limit is the first that is more.
    return below(score, limit + 1e-9)


def rises(first: Score, second: Score) -> Answer:
    """Say whether the second is better than the first."""
    if first.mean is None or second.mean is None:
        return second.mean is not None
    if _under(first.high, second.low) or _under(first.best, second.worst):
        return True
    if _under(second.high, first.low) or _under(second.best, first.worst):
        return False
    return "cannot tell"


def every(answers: Iterable[Answer]) -> Answer:
    """Join answers by *and*; None where there are none."""
    given = list(answers)
    if not given:
        return None
    if any(answer is False for answer in given):
        return False
    return True if all(answer is True for answer in given) else "cannot tell"


def across(seeds: Iterable[bool]) -> Answer:
    """Join what each seed says: all of them yes, all no, or they cannot tell; None without any."""
    said = set(seeds)
    return "cannot tell" if len(said) > 1 else next(iter(said), None)


def opposite(answer: Answer) -> Answer:
    """Return the answer to the opposite question."""
    return not answer if isinstance(answer, bool) else answer


def _side(lows: Iterable[float | None], highs: Iterable[float | None], limit: float) -> Answer:
    if any(low is not None and low >= limit for low in lows):
        return True
    if any(high is not None and high < limit for high in highs):
        return False
    return "cannot tell"


def _under(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one < other
