"""Claims of a paper, the cells and rows they rest on, and the rule for all verdicts.

The rule (`RULE`) is the same for claims and cells. The 95 % interval of the mean decides if it lies
on one side of a limit, or of the paper's number. So do the seeds if they all lie on one side and
are at least `LEAST_SEEDS`. Everything else is "cannot tell": each seed that has not been run may be
on the other side; a training that a reduced budget ended might have gone on to learn; and a claim
about every setting of the paper needs every setting, although one that was run can refute it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import TYPE_CHECKING, Literal

from formalbench.documents.figures import Figure
from formalbench.documents.reproduction import Answer, Claim, TableCell, all_hold
from formalbench.documents.text import percent, plural
from scipy.stats import t

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

    from formalbench_papers.framework.scores import Score


__all__ = ["Answer", "Claim", "TableCell"]

Row = Mapping[str, str | int | float]

LEAST_SEEDS = 3
"""This number of seeds decides if they all lie on one side; fewer may do so by chance."""

RULE = (
    "A verdict about trained networks needs the 95 % interval of our mean on one side, or "
    f"{LEAST_SEEDS} or more seeds that all agree; otherwise it is “cannot tell”, as it is where "
    "planned runs or settings of the paper are missing, and where networks did not learn the "
    "training lengths within a reduced budget."
)
"""The rule as every page prints it."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a reproduction.

    Attributes:
        rows: the data of the figure, one mapping per line of the CSV, all with the same keys.
        claims: each checked.
        draw: draws the figure from the data; None for a table.
        remarks: how this differs from the paper, one line each; what the scale left out, too.
        cells: of the paper's table, if it is one.
        records: of the models it rests on, if any were trained.
    """

    rows: Sequence[Row]
    claims: Sequence[Claim]
    draw: Callable[[], Figure] | None
    remarks: Sequence[str] = ()
    cells: Sequence[TableCell] = ()
    records: Sequence[Record] = ()

    @property
    def holds(self) -> bool:
        """Whether a claim holds and none differs."""
        return all_hold(claim.verdict for claim in self.claims)


def at_least(score: Score, limit: float) -> Answer:
    """Return whether a model reaches a share of one; a model of which no run finished does not.

    One whose training was cut off might have reached it later.
    """
    if score.missing:
        return "cannot tell"
    if score.mean is None:
        return False
    ends = [(score.low, score.high)]
    if score.seeds >= LEAST_SEEDS:
        ends.append((score.worst, score.best))
    if any(low is not None and low >= limit for low, _ in ends):
        return True
    under = any(high is not None and high < limit for _, high in ends)
    return False if under and not score.cut_off else "cannot tell"


def below(score: Score, limit: float) -> Answer:
    """Return whether a model stays under a share of one; no run that finished is no evidence."""
    return "cannot tell" if score.mean is None else opposite(at_least(score, limit))


def at_most(score: Score, limit: float) -> Answer:
    """Return whether a model gets no further than a share of one."""
    # The next number above the limit is the first that is more.
    return below(score, limit + 1e-9)


def best_reaches(score: Score, limit: float) -> Answer:
    """Return whether a model's best seed reaches a share of one; one seed is enough to show it.

    That none does takes `LEAST_SEEDS`, or that no run finished; a missing seed may be the best.
    """
    if score.best is not None and score.best >= limit:
        return True
    few = score.best is not None and score.seeds < LEAST_SEEDS
    return "cannot tell" if score.missing or few or score.cut_off else False


def rises(first: Score, second: Score, by: float = 0.0) -> Answer:
    """Return whether the second is better than the first, by more than so much.

    A second whose training was cut off might have become better later.
    """
    if first.missing or second.missing:
        return "cannot tell"
    enough = min(first.seeds, second.seeds) >= LEAST_SEEDS
    if _over(second.low, first.high, by) or (enough and _over(second.worst, first.best, by)):
        return True
    if _over(first.low, second.high, -by) or (enough and _over(first.worst, second.best, -by)):
        return "cannot tell" if second.cut_off else False
    return "cannot tell"


def higher(
    ones: Sequence[float], others: Sequence[float], by: float = 0.0, *, missing: int = 0
) -> Answer:
    """Return whether some seeds are above others, by more than so much; None without either.

    They are if the least difference of two seeds, or the lower end of the 95 % interval of the
    difference of the means (Welch's), is more than that. They are not if the greatest difference,
    or the upper end, is not more. Both sides need `LEAST_SEEDS`.

    Args:
        ones: a number of each seed.
        others: the same of the seeds that these are compared with.
        by: how much more it must be.
        missing: the number of planned seeds, of both, that have not been run.
    """
    if not ones or not others:
        return None
    if missing or min(len(ones), len(others)) < LEAST_SEEDS:
        return "cannot tell"
    gaps = [one - other for one in ones for other in others]
    low, high = min(gaps), max(gaps)
    if low <= by <= high:
        low, high = _welch(ones, others)
    return True if low > by else False if high <= by else "cannot tell"


def _welch(ones: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two means (Welch 1947)."""
    parts = [variance(some) / len(some) for some in (ones, others)]
    gap, error = fmean(ones) - fmean(others), math.sqrt(sum(parts))
    if error == 0:
        return gap, gap
    lost = sum(part**2 / (len(some) - 1) for part, some in zip(parts, (ones, others), strict=True))
    half = float(t.ppf(0.975, sum(parts) ** 2 / lost)) * error
    return gap - half, gap + half


def of_learned(answer: Answer, *scores: Score) -> Answer:
    """Return an answer about longer strings; what learned no training lengths does not say no.

    Args:
        answer: by the scores.
        scores: of the models that it takes to have learned.
    """
    return "cannot tell" if answer is False and not all(s.learned for s in scores) else answer


def learned_reach(score: Score, learned: Score | None, limit: float) -> Answer:
    """Return whether a model reaches a share of one on longer strings.

    Args:
        score: of all seeds.
        learned: of those that learned the training lengths; None if none did. The others do not
            say no.
        limit: the share.
    """
    reached = at_least(score, limit)
    refuted = learned is not None and at_least(learned, limit) is False
    return reached if refuted or reached is not False else "cannot tell"


def every(answers: Iterable[Answer], of: int = 0) -> Answer:
    """Join answers by *and*.

    Args:
        answers: one for each setting that a claim speaks of; None for one that was not run.
        of: how many settings it speaks of, if the answers leave out those that were not run.

    Returns:
        None if nothing was run; False if a setting refutes the claim; True only if all confirm it.
    """
    each = list(answers)
    values = {*each, *[None] * (of - len(each))}
    if values <= {None}:
        return None
    return False if False in values else values == {True} or "cannot tell"


def across(seeds: Iterable[bool], missing: int = 0) -> Answer:
    """Join the answers of seeds: True or False if `LEAST_SEEDS` agree, else "cannot tell".

    Args:
        seeds: what those say that finished.
        missing: the number of seeds that have not been run, or did not finish: any of them might
            have said otherwise.
    """
    answers = list(seeds)
    if not answers and not missing:
        return None
    agreed = len(answers) >= LEAST_SEEDS and len(set(answers)) == 1
    return answers[0] if agreed and not missing else "cannot tell"


def opposite(answer: Answer) -> Answer:
    """Return the answer to the opposite question."""
    return not answer if isinstance(answer, bool) else answer


def _over(one: float | None, other: float | None, by: float) -> bool:
    return one is not None and other is not None and one - other > by


def value_range(values: Iterable[float], digits: int) -> str:
    """Return the least and the greatest value, or the only one; empty if there is none."""
    texts = [f"{value:.{digits}f}" for value in sorted(values)]
    return " to ".join(dict.fromkeys([*texts[:1], *texts[-1:]]))


def seeds_text(seeds: Sequence[float], digits: int) -> str:
    """Return the mean of some seeds, and how many there are; empty without any."""
    return f"{fmean(seeds):.{digits}f} ({plural(len(seeds), 'seed')})" if seeds else ""


def seeds_row(keys: Row, paper: float, seeds: Sequence[float]) -> Row:
    """Return the data of a cell: `keys`, the paper's number, the mean and the ends of ours."""
    return {
        **keys,
        "paper": paper,
        "ours": fmean(seeds) if seeds else "",
        "low": min(seeds, default=""),
        "high": max(seeds, default=""),
        "seeds": len(seeds),
    }


def at_worst(found: Mapping[str, Score], value: Literal["mean", "best"], of: str = "") -> str:
    """Return the least of some scores, and whose it is; empty without any.

    Args:
        found: by name.
        value: what is compared.
        of: what the scores are of, as ``task``; if given, they are counted.
    """
    if not found:
        return ""
    worst = min(found, key=lambda name: getattr(found[name], value) or 0.0)
    counted = f", of {plural(len(found), of)}" if of else ""
    return f"{percent(getattr(found[worst], value))} at least ({worst}){counted}"
