"""What papers usually say of a table, as claims."""

from __future__ import annotations

from dataclasses import replace

from formalbench.analysis.text import percent

from formalbench_papers.framework.accuracies import Score
from formalbench_papers.framework.answers import best_reaches, of_learned, opposite
from formalbench_papers.framework.findings import Answer, Claim


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
    """Claim that not even a model's best seed reaches a share of one: that it does not learn.

    Args:
        said: the claim in words.
        paper: the paper's number, or where it says so.
        score: ours; None if it was not run.
        share: less than so much.

    Returns:
        The claim; where no run finished, it cannot be told.
    """
    one = reaches(said, paper, score, share)
    if score is None:
        return one
    unknown = score.best is None
    return replace(one, holds="cannot tell" if unknown else opposite(best_reaches(score, share)))


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
