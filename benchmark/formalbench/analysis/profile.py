"""The profile of a row: how many languages it solved, learned, did not learn, and its horizon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formalbench.analysis.results import SOLVED, Result, SeedResult


@dataclass(frozen=True, slots=True)
class Profile:
    """What became of the languages that a row was trained on.

    A seed *solves* a language if it learned the training lengths and is right on 99 % of the
    strings at every tested length. What is said of a language, two thirds of its seeds do.

    Attributes:
        solved: languages.
        learned: languages of which the training lengths were learned, and which are not solved.
        unlearned: the other languages.
        solved_seeds, learned_seeds: the share of all seeds that solve their language, and that
            learned its training lengths, whether they solve it or not.
        horizon: the longest tested length up to which half of the seeds that learned their
            language are right on 99 % of the strings at every tested length; None if there is none.
    """

    solved: int
    learned: int
    unlearned: int
    solved_seeds: float
    learned_seeds: float
    horizon: int | None


def profile_of(results: Sequence[Result]) -> Profile | None:
    """Return the profile of a row by its results on the languages that count; None without any."""
    runs = [run for result in results for run in result.runs]
    if not runs:
        return None
    solved = [_most(run.solved for run in result.runs) for result in results]
    learned = [_most(run.learned for run in result.runs) for result in results]
    reached = sorted((_reach(run) for run in runs if run.learned), reverse=True)
    horizon = reached[(len(reached) - 1) // 2] if reached else 0
    return Profile(
        solved=sum(solved),
        learned=sum(learned) - sum(solved),
        unlearned=len(results) - sum(learned),
        solved_seeds=sum(run.solved for run in runs) / len(runs),
        learned_seeds=sum(run.learned for run in runs) / len(runs),
        horizon=horizon or None,
    )


def _reach(run: SeedResult) -> int:
    """Return the last tested length before the first at which a run is below 99 %; 0 for none.

    A length counts only if all parts of a test with named parts are right there.
    """
    cells = run.cells
    if cells is None:
        return 0
    shares = list(zip(cells.length, cells.strings, cells.correct, strict=True))
    wrong = [length for length, strings, right in shares if right < SOLVED * strings]
    first = min(wrong, default=math.inf)
    return max((length for length in cells.length if length < first), default=0)


def _most(flags: Iterable[bool]) -> bool:
    """Return whether two thirds of the flags are true."""
    held = list(flags)
    return 3 * sum(held) >= 2 * len(held)
