"""What seeds reach, claims about it, and when a cell of a paper's table agrees with ours.

One rule for all such tables, so that no table is judged more kindly than another. It asks for
agreement in both directions: a model that does better than in the paper differs, too. Where our
interval is wide it does not decide in favour of either answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from formalbench.contracts.paper_tables import PublishedResult
from formalbench.contracts.record import Record
from formalbench.documents.text import percent, plural
from formalbench.statistics.intervals import (
    RunAccuracy,
    Sample,
    mean_draws,
    measured,
    percentile_interval,
    scaled,
)
from formalbench.statistics.records import was_trained
from formalbench.statistics.result import Result

from formalbench_papers.framework.claims import (
    LEAST_SEEDS,
    Answer,
    Claim,
    Row,
    TableCell,
    best_reaches,
    of_learned,
    opposite,
    rises,
)
from formalbench_papers.framework.runs import CellRecords

TOLERANCE = 0.02
"""Numbers closer than this agree."""

FURTHEST = 0.10
"""A maximum of ours that is further below the paper's differs: nothing is known of how a maximum
scatters, but a seed that solves the task and one that does not are further apart."""

UNLEARNED = "; training lengths not learned"
"""What is added to the numbers of networks that did not learn them."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Score:
    """What the seeds of one cell reached; shares of one.

    Attributes:
        best: the best seed's accuracy; None if no run finished.
        mean: of the seeds; one that did not finish counts as chance. None if no run finished.
        low, high: interval of the mean.
        chance: accuracy of the best answer that sees only the length.
        outcome: how many seeds there are, and which did not finish.
        worst: the worst seed's accuracy; None if it is not known.
        missing: the number of planned seeds that have not been run.
        learned: whether a seed learned the training lengths; True if that is not asked.
        seeds: the number of seeds that `worst` and `best` are of.
        cut_off: whether a reduced budget ended a seed's training before it had learned the
            training lengths: the seed might have become better.
    """

    best: float | None
    mean: float | None
    low: float | None
    high: float | None
    chance: float | None
    outcome: str
    worst: float | None = None
    missing: int = 0
    learned: bool = True
    seeds: int = 0
    cut_off: bool = False

    @classmethod
    def of_test(cls, got: CellRecords) -> Score:
        """Return the test's accuracies on lengths beyond training."""
        result: Result = got.result
        return cls(
            best=result.max,
            mean=result.mean,
            low=result.low,
            high=result.high,
            chance=got.chance,
            outcome=_outcome(result.outcome, result.seeds),
            worst=_worst(result, got.chance),
            missing=got.missing,
            learned=got.learned is not None,
            seeds=result.seeds,
            cut_off=got.cut_off,
        )

    @classmethod
    def of_window(cls, got: CellRecords, lengths: range) -> Score:
        """Return the mean accuracy over some test lengths with equal weight.

        For tasks whose chance is the same at every length: a record has its mean only.
        """
        runs = []
        for cells in (run.test.cells for run in got.chosen if run.test is not None):
            inside = [i for i, length in enumerate(cells.length) if length in lengths]
            shares = [cells.correct[i] / cells.asked[i] for i in inside]
            if inside:
                mean = math.fsum(shares) / len(shares)
                runs.append(measured([cells.strings[i] for i in inside], mean))
        window = f"lengths {lengths.start} to {lengths.stop - 1}"
        key = window, got.plan.row, got.plan.column
        score = score_of(runs, got.chance, key, missing=got.missing)
        outcome = _outcome(got.result.outcome, len(runs))
        learned = got.learned is not None
        return replace(score, outcome=outcome, learned=learned, cut_off=got.cut_off)

    @classmethod
    def of_validation(cls, got: CellRecords) -> Score:
        """Return the selected checkpoints' accuracies on the training lengths."""
        runs = [run for one in got.chosen if (run := _validated(one)) is not None]
        key = ("validation", got.plan.row, got.plan.column)
        score = score_of(runs, None, key, len(got.chosen), got.chance, got.missing)
        return replace(score, cut_off=got.cut_off)

    @property
    def text(self) -> str:
        """The mean in percent, its interval, and how many seeds there are."""
        return f"{percent(self.mean)} % ({self.interval}; {self.outcome})"

    @property
    def interval(self) -> str:
        """The interval of the mean, in percent."""
        return f"{percent(self.low)}–{percent(self.high)}"

    @property
    def at_chance(self) -> Answer:
        """Whether it is at chance; None if that is not known.

        It is if a scaled accuracy of 0 is within its interval and chance within `TOLERANCE` of the
        mean of at least `LEAST_SEEDS` seeds; it is not if 0 is outside. A wide interval with 0 in
        it alone cannot tell, nor can some of the planned seeds.
        """
        interval = self.scaled_interval
        if interval is None or self.mean is None or self.chance is None:
            return None
        if self.missing:
            return "cannot tell"
        if interval[0] > _ROUNDING or interval[1] < -_ROUNDING:
            return False
        near = abs(self.mean - self.chance) <= TOLERANCE + _ROUNDING
        return (near and self.seeds >= LEAST_SEEDS) or "cannot tell"

    @property
    def scaled_interval(self) -> tuple[float, float] | None:
        """The interval of the scaled accuracy: 0 is chance, 1 is perfect."""
        if self.low is None or self.high is None or self.chance is None:
            return None
        low, high = scaled(self.low, self.chance), scaled(self.high, self.chance)
        return None if low is None or high is None else (low, high)


def score_of(
    runs: Sequence[RunAccuracy],
    chance: float | None,
    key: Sequence[object],
    planned: int = 0,
    failing: float | None = None,
    missing: int = 0,
) -> Score:
    """Return the scores of some seeds.

    Args:
        runs: one per seed that finished.
        chance: accuracy of the best answer that sees only the length, if it is of interest.
        key: names the stream of random numbers behind the interval.
        planned: how many seeds were run, if some may not have finished.
        failing: what a seed that learns nothing has, if `chance` is of no interest.
        missing: as of `Score`.
    """
    seeds = len(runs)
    outcome = f"{seeds} of {planned} finished" if seeds < planned else _outcome(str(seeds), seeds)
    if not runs:
        return Score(None, None, None, None, chance, outcome, missing=missing)
    accuracies = [run.accuracy for run in runs]
    mean = math.fsum(accuracies) / seeds
    sample = Sample.of("reproduction", runs, failing if chance is None else chance)
    low, high = percentile_interval(mean_draws([sample], key), around=mean)
    best, worst = max(accuracies), min(accuracies)
    return Score(best, mean, low, high, chance, outcome, worst, missing, seeds=seeds)


def averaged(scores: Sequence[Score]) -> Score:
    """Return the average of a model's scores on several tasks, each counting alike.

    The average of the intervals' ends, and that of the worst and best seeds, are further apart than
    those of the averages would be. Without a run that finished on one of the tasks there is none.

    Args:
        scores: one per task, at least one.
    """

    def mean(values: Iterable[float | None]) -> float | None:
        numbers = [value for value in values if value is not None]
        return math.fsum(numbers) / len(numbers) if len(numbers) == len(scores) else None

    return Score(
        best=mean(one.best for one in scores),
        mean=mean(one.mean for one in scores),
        low=mean(one.low for one in scores),
        high=mean(one.high for one in scores),
        chance=mean(one.chance for one in scores),
        outcome=plural(len(scores), "task"),
        worst=mean(one.worst for one in scores),
        missing=sum(one.missing for one in scores),
        learned=all(one.learned for one in scores),
        seeds=min(one.seeds for one in scores),
        cut_off=any(one.cut_off for one in scores),
    )


def _worst(result: Result, chance: float | None) -> float | None:
    """Return the worst seed's accuracy; one that did not finish is at chance."""
    if chance is None or not result.finished:
        return None
    return min(chance if run.accuracy is None else run.accuracy for run in result.runs)


def _validated(run: Record) -> RunAccuracy | None:
    if run.selected is None or not was_trained(run):
        return None
    return RunAccuracy(run.selected.accuracy, run.selected.strings)


def _outcome(outcome: str, seeds: int) -> str:
    return f"{outcome} seed{'' if seeds == 1 else 's'}" if outcome == str(seeds) else outcome


def agrees(paper: PublishedResult, ours: Score) -> Answer:
    """Return whether a cell holds by `tables.RULE`.

    "Cannot tell" while seeds are missing, and if no seed learned the training lengths: what such
    networks do neither confirms a paper's number nor refutes it. If some were cut off before they
    had, ours may still rise: then it can only be above the paper's.
    """
    if ours.missing or not ours.learned:
        return "cannot tell"
    if ours.mean is None or ours.low is None or ours.high is None:
        return False
    enough = ours.seeds >= LEAST_SEEDS
    if _close(paper.mean, ours.mean):  # the paper may give a maximum alone
        if ours.cut_off and (_close(paper.max, ours.best) or _below(ours.best, paper.max)):
            return "cannot tell"
        if _close(paper.max, ours.best):
            narrow = _close(paper.mean, ours.low) and _close(paper.mean, ours.high)
            return enough or (narrow and paper.max is None) or "cannot tell"
        most = (paper.max or 0.0) / 100
        lower = _over(most, ours.best, FURTHEST)
        return False if enough and (lower or _over(ours.worst, most)) else "cannot tell"
    average = (paper.mean or 0.0) / 100
    within = ours.low - _ROUNDING <= average <= ours.high + _ROUNDING
    differs = enough and (
        _over(average, ours.best) or _over(ours.worst, max(average, (paper.max or 0.0) / 100))
    )
    higher_later = ours.cut_off and _below(ours.mean, paper.mean)
    return "cannot tell" if higher_later or (within and not differs) else False


def _below(ours: float | None, paper: float | None) -> bool:
    return ours is not None and paper is not None and ours < paper / 100


def _over(one: float | None, other: float | None, by: float = TOLERANCE) -> bool:
    """Return whether a share is above another by more than so much."""
    return one is not None and other is not None and one - other > by + _ROUNDING


def _close(paper: float | None, ours: float | None) -> bool:
    """Return whether a number in percent agrees with a share; one the paper lacks always does."""
    if paper is None:
        return True
    return ours is not None and abs(paper / 100 - ours) <= TOLERANCE + _ROUNDING


def cell(row: str, column: str, paper: PublishedResult, ours: Score | None) -> TableCell:
    """Return a cell of the table with its verdict; ours is None if nothing was run."""
    holds = None if ours is None else agrees(paper, ours)
    return TableCell(
        row, column, paper_text(paper), "" if ours is None else ours_text(paper, ours), holds
    )


def paper_text(paper: PublishedResult) -> str:
    """Return the paper's numbers, as in ``100.0 / 98.9``, the maximum first."""
    return " / ".join(f"{value:.1f}" for value in (paper.max, paper.mean) if value is not None)


def ours_text(paper: PublishedResult, ours: Score) -> str:
    """Return our numbers alike, with the mean's interval, the number of seeds, and `UNLEARNED`."""
    if ours.mean is None:
        return ours.outcome
    shown = [percent(ours.best)] if paper.max is not None else []
    numbers = " / ".join([*shown, percent(ours.mean)])
    some = f"{UNLEARNED} by all" if ours.cut_off else ""
    outcome = f"{ours.outcome}{some if ours.learned else UNLEARNED}"
    return f"{numbers} ({ours.interval}; {outcome})"


def data(
    one: TableCell, paper: PublishedResult, ours: Score | None, got: CellRecords | None
) -> Row:
    """Return a line of the CSV; accuracies are shares of one, the paper's are in percent."""
    runs = [] if got is None else got.chosen
    rate = runs[0].learning_rate if runs else None
    numbers = {
        "max": None if ours is None else ours.best,
        "mean": None if ours is None else ours.mean,
        "low": None if ours is None else ours.low,
        "high": None if ours is None else ours.high,
        "chance": None if ours is None else ours.chance,
        "learning_rate": rate,
    }
    return {
        "row": one.row,
        "column": one.column,
        "paper_max": _or_empty(paper.max),
        "paper_mean": _or_empty(paper.mean),
        **{name: _or_empty(value) for name, value in numbers.items()},
        "seeds": len(runs),
        "finished": sum(run.status == "finished" for run in runs),
        "runs": " ".join(run.test_id for run in runs),
        "verdict": str(one.verdict),
    }


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value


def reaches(said: str, paper: str, score: Score | None, share: float) -> Claim:
    """Claim that a model's best seed reaches a share of one.

    Args:
        said: the claim in words.
        paper: the paper's number, or where it says so.
        score: ours; None if it was not run.
        share: at least so much.

    Returns:
        The claim; while seeds are missing, one of them may still reach it. If no seed learned the
        training lengths, it cannot be told.
    """
    if score is None:
        return Claim(said, paper, "", None)
    unlearned = "" if score.learned else "; no seed learned the training lengths"
    ours = f"{percent(score.best)}, {score.outcome}{unlearned}"
    return Claim(said, paper, ours, of_learned(best_reaches(score, share), score))


def stays_below(said: str, paper: str, score: Score | None, share: float) -> Claim:
    """Claim that not even a model's best seed reaches a share of one (as `reaches`).

    Returns:
        The claim; where no run finished, it cannot be told.
    """
    one = reaches(said, paper, score, share)
    if score is None:
        return one
    unknown = score.best is None
    return replace(one, verdict="cannot tell" if unknown else opposite(best_reaches(score, share)))


def is_ahead(
    said: str,
    paper: str,
    one: Score | None,
    other: Score | None,
    by: float,
    value: Literal["mean", "best"] = "best",
) -> Claim:
    """Claim that a model is ahead of another.

    Args:
        said: the claim in words.
        paper: the paper's numbers, or where it says so.
        one: its score; None if it was not run.
        other: that of the other.
        by: how much more it must be, as a share.
        value: what is shown of both.

    Returns:
        The claim; a model that did not learn the training lengths does not refute it.
    """
    if one is None or other is None:
        return Claim(said, paper, "", None)
    ours = " and ".join(percent(getattr(score, value)) for score in (one, other))
    if value == "best":
        ours += " (maximum)"
    return Claim(said, paper, ours, of_learned(rises(other, one, by), one))


def is_at_chance(said: str, paper: str, score: Score | None, *, learned: bool = True) -> Claim:
    """Claim that a model is at chance, by `Score.at_chance`.

    Args:
        said: the claim in words.
        paper: the paper's number, or where it says so.
        score: ours; None if it was not run.
        learned: whether the seeds of the score learned the training lengths: of others nothing can
            be told.
    """
    interval = None if score is None else score.scaled_interval
    ours = (
        ""
        if score is None or interval is None
        else f"{percent(score.mean)}; scaled {percent(interval[0])} … {percent(interval[1])}"
        f"{'' if learned else '; no seed learned the training lengths'}"
    )
    if score is None:
        holds: Answer = None
    elif interval is None:
        # That no run finished is a difference from the paper, once all planned seeds were run.
        holds = "cannot tell" if score.missing else False
    else:
        holds = score.at_chance
    return Claim(said, paper, ours, holds if learned or holds is None else "cannot tell")
