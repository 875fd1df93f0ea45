"""A paper's table of accuracies held against trained models: when a cell holds, and how it reads.

One rule for all such tables, so that no table is judged more kindly than another. It asks for
agreement in both directions: a model that does better than in the paper differs, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from formalbench.contracts.cells import Cells
from formalbench.contracts.record import Record

from formalbench_leaderboard.aggregate import facts_of
from formalbench_leaderboard.board import Result
from formalbench_leaderboard.published import PublishedResult
from formalbench_leaderboard.reproductions.framework import Bench, Row, TableCell
from formalbench_leaderboard.reproductions.runs import Got, Wanted
from formalbench_leaderboard.statistics import (
    Measured,
    bootstrap,
    measured,
    percentile_interval,
    scaled,
)
from formalbench_leaderboard.text import percent

TOLERANCE = 0.02
"""Numbers closer than this agree."""

FURTHEST = 0.10
"""Numbers further apart than this differ, whatever the interval: that of three seeds of which one
failed is 50 points wide, and would agree with almost anything."""

_ROUNDING = 1e-9

RULE = (
    "A cell holds if the paper's average is no more than 2 points from ours, or within our 95 % "
    "interval (bootstrap over seeds and test strings) and no more than 10 points away, and if its "
    "maximum, where there is one, is no more than 2 points from ours. To be better than the paper "
    "is to differ."
)


@dataclass(frozen=True, slots=True)
class Score:
    """What the seeds of one cell reached; shares of one.

    Attributes:
        best: the best seed's accuracy; None if no run finished.
        mean: of the seeds, likewise; what did not finish counts as chance.
        low, high: interval of the mean.
        chance: accuracy of the best answer that sees only the length.
        outcome: how many seeds there are, and which did not finish.
    """

    best: float | None
    mean: float | None
    low: float | None
    high: float | None
    chance: float | None
    outcome: str

    @classmethod
    def of_test(cls, got: Got) -> Score:
        """Return what the test says: lengths beyond those trained on."""
        result: Result = got.result
        facts = facts_of(got.records)
        return cls(
            best=result.max,
            mean=result.mean,
            low=result.low,
            high=result.high,
            chance=None if facts is None else facts.chance_length,
            outcome=_outcome(result.outcome, result.seeds),
        )

    @classmethod
    def without_first_length(cls, got: Got) -> Score:
        """Return what the test says of all its lengths but the first, as Chi et al. count.

        For tasks whose chance is the same at every length: a record has its mean only.
        """
        tests = [run.test for run in got.chosen if run.test is not None]
        runs = [_beyond_first(test.cells) for test in tests if len(test.cells.length) > 1]
        facts = facts_of(got.records)
        chance = None if facts is None else facts.chance_length
        outcome = got.result.outcome
        return score_of(runs, outcome, chance, ("later", got.wanted.row, got.wanted.column))

    @classmethod
    def of_validation(cls, got: Got) -> Score:
        """Return what the selected checkpoints reached on strings as long as those trained on."""
        runs = [run for one in got.chosen if (run := _validated(one)) is not None]
        finished, seeds = len(runs), len(got.chosen)
        outcome = str(seeds) if finished == seeds else f"{finished} of {seeds} finished"
        key = ("validation", got.wanted.row, got.wanted.column)
        return score_of(runs, outcome, None, key)

    @property
    def at_chance(self) -> bool | None:
        """Whether a scaled accuracy of 0 is within its interval; None if that is not known."""
        interval = self.scaled_interval
        return None if interval is None else interval[0] <= _ROUNDING and interval[1] >= -_ROUNDING

    @property
    def scaled_interval(self) -> tuple[float, float] | None:
        """The interval of the scaled accuracy: 0 is chance, 1 is perfect."""
        if self.low is None or self.high is None or self.chance is None:
            return None
        low, high = scaled(self.low, self.chance), scaled(self.high, self.chance)
        return None if low is None or high is None else (low, high)


def score_of(
    runs: Sequence[Measured], outcome: str, chance: float | None, key: Sequence[object]
) -> Score:
    """Return what some seeds reached.

    Args:
        runs: one per seed that finished.
        outcome: how many seeds there are, as in `Result.outcome`.
        chance: accuracy of the best answer that sees only the length, if it is of interest.
        key: names the bootstrap's stream of random numbers.
    """
    seeds = len(runs)
    if not runs:
        return Score(None, None, None, None, chance, outcome)
    accuracies = [run.accuracy for run in runs]
    mean = math.fsum(accuracies) / seeds
    draws = bootstrap(runs, ("reproduction", *key)).mean(axis=1)
    low, high = percentile_interval(draws, around=mean)
    return Score(max(accuracies), mean, low, high, chance, _outcome(outcome, seeds))


def _beyond_first(cells: Cells) -> Measured:
    pairs = zip(cells.correct[1:], cells.asked[1:], strict=True)
    shares = [right / count for right, count in pairs]
    return measured(cells.strings[1:], math.fsum(shares) / len(shares))


def _validated(run: Record) -> Measured | None:
    if run.selected is None or run.status != "finished":
        return None
    return Measured(run.selected.accuracy, run.selected.strings)


def _outcome(outcome: str, seeds: int) -> str:
    return f"{outcome} seed{'' if seeds == 1 else 's'}" if outcome == str(seeds) else outcome


def obtain(
    bench: Bench, wanted: Sequence[Wanted], now: Callable[[Wanted], bool]
) -> list[Got | None]:
    """Train what belongs to the scale; of the rest, take what has records already.

    Args:
        bench: trains, unless it was told not to.
        wanted: the cells, the most telling first: an interruption then costs the least.
        now: whether a cell belongs to the scale.
    """
    if bench.training:
        bench.train([one for one in wanted if now(one)])
    return bench.held(wanted)


def agrees(paper: PublishedResult, ours: Score) -> bool:
    """Say whether a cell holds, by `RULE`."""
    return _mean_agrees(paper.mean, ours) and _close(paper.max, ours.best)


def _mean_agrees(paper: float | None, ours: Score) -> bool:
    if _close(paper, ours.mean):
        return True
    if paper is None or ours.low is None or ours.high is None:
        return False
    within = ours.low - _ROUNDING <= paper / 100 <= ours.high + _ROUNDING
    return within and _close(paper, ours.mean, FURTHEST)


def _close(paper: float | None, ours: float | None, tolerance: float = TOLERANCE) -> bool:
    """Say whether a number in percent agrees with a share; one the paper lacks always does."""
    if paper is None:
        return True
    return ours is not None and abs(paper / 100 - ours) <= tolerance + _ROUNDING


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
    """Return our numbers alike, with the mean's interval and the number of seeds."""
    if ours.mean is None:
        return ours.outcome
    shown = [percent(ours.best)] if paper.max is not None else []
    numbers = " / ".join([*shown, percent(ours.mean)])
    return f"{numbers} ({percent(ours.low)}–{percent(ours.high)}; {ours.outcome})"


def data(one: TableCell, paper: PublishedResult, ours: Score | None, got: Got | None) -> Row:
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
        "verdict": one.verdict,
    }


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value
