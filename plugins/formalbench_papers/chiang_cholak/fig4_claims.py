"""What Chiang & Cholak (2022) say about their Figure 4, held against what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from formalbench.analysis.text import percent

from formalbench_papers.chiang_cholak.fig4_curves import (
    FIRST,
    LENGTHS,
    PARITY,
    SCALED,
    STANDARD,
    TEST,
    Key,
    Mean,
)
from formalbench_papers.framework.accuracies import Score
from formalbench_papers.framework.answers import at_least, at_most, below, every, rises
from formalbench_papers.framework.findings import Claim

GUESSING, PERFECT = 0.6, 0.99
"""Up to the first, an accuracy is hardly better than guessing; from the second on it is perfect."""

HALF_WAY = 0.75
"""Less is not learned, even if it is better than guessing."""

Scores = Mapping[Key, Score]


def claims(means: Mapping[Key, Mean], tests: Scores, trained: Scores) -> list[Claim]:
    """Hold what was found against what the paper says about its figure.

    Args:
        means: the curves.
        tests: the last weights, on strings of length 1000.
        trained: the last weights, on strings of the training length.
    """
    standard = {n: tests[FIRST, STANDARD, n] for n in LENGTHS}
    scaled = {n: tests[FIRST, SCALED, n] for n in LENGTHS}
    curves = {key: mean for key, mean in means.items() if key[0] == FIRST}
    return [
        Claim(
            f"Standard attention, trained at length 10, fails at {TEST}: at most "
            f"{percent(GUESSING, 0)} %",
            "“hardly better than random guessing” (§4.1)",
            _told(standard[10]),
            at_most(standard[10], GUESSING),
        ),
        Claim(
            f"Standard attention is not perfect at {TEST} from any of the training lengths",
            "“the accuracy is not perfect” (§4.1; Figure 4, left)",
            _each(standard),
            every(below(score, PERFECT) for score in standard.values()),
        ),
        Claim(
            f"With standard attention, the longer the strings trained on, the better at {TEST}",
            "Figure 4, left",
            _each(standard),
            every(rises(a, b) for a, b in pairwise(standard.values())),
        ),
        Claim(
            f"Attention scaled by log n reaches {percent(PERFECT, 0)} % at {TEST} on average from "
            "every training length",
            "“perfect test cross-entropy and accuracy” (§4.4; Figure 4, right)",
            _each(scaled),
            every(at_least(score, PERFECT) for score in scaled.values()),
        ),
        _less_bits(curves),
        _attention_grows(curves),
        _attention_by_length(curves),
        *_parity(tests, trained),
    ]


def _told(score: Score) -> str:
    return f"{percent(score.mean)} % ({percent(score.low)}–{percent(score.high)}; {score.outcome})"


def _each(scores: Mapping[int, Score]) -> str:
    return "; ".join(f"{length}: {_told(score)}" for length, score in scores.items())


def _less_bits(curves: Mapping[Key, Mean]) -> Claim:
    last = {kind: _last(curves, kind, "bits") for kind in (STANDARD, SCALED)}
    told = "; ".join(
        f"{n}: {last[SCALED].get(n, math.nan):.3f}, standard {last[STANDARD].get(n, math.nan):.3f}"
        for n in LENGTHS
    )
    complete = len(last[SCALED]) == len(last[STANDARD]) == len(LENGTHS)
    return Claim(
        "Attention scaled by log n has the lower cross-entropy (bits) from every training length",
        "Figure 4, top",
        told,
        complete and all(last[SCALED][n] < last[STANDARD][n] for n in LENGTHS),
    )


def _attention_grows(curves: Mapping[Key, Mean]) -> Claim:
    ends = {key: (mean.total[0], mean.total[-1]) for key, mean in curves.items()}
    told = "; ".join(
        f"{kind}, {n}: {first:.3f} → {last:.3f}" for (_, kind, n), (first, last) in ends.items()
    )
    return Claim(
        f"The attention on position 1, of both layers together, grows in training (at {TEST})",
        "“attention weight increases on position 1” (§4.2; Figure 4, bottom)",
        told,
        len(ends) == 2 * len(LENGTHS) and all(last > first for first, last in ends.values()),
    )


def _attention_by_length(curves: Mapping[Key, Mean]) -> Claim:
    last = _last(curves, STANDARD, "total")
    return Claim(
        "With standard attention, the shorter the strings trained on, the less attention there is "
        "on position 1 in the end",
        "“the lower the training length n is, the earlier and lower the attention weight "
        "plateaus” (§4.2; Figure 4, bottom left)",
        "; ".join(f"{n}: {value:.3f}" for n, value in last.items()),
        len(last) == len(LENGTHS) and all(a < b for a, b in pairwise(last.values())),
    )


def _last(curves: Mapping[Key, Mean], kind: str, what: str) -> dict[int, float]:
    found = {n: curves.get((FIRST, kind, n)) for n in LENGTHS}
    return {n: getattr(mean, what)[-1] for n, mean in found.items() if mean is not None}


def _parity(tests: Scores, trained: Scores) -> list[Claim]:
    paper = "“unable to get a transformer to learn to recognize PARITY” (§4.1)"
    same = (
        "The same transformer, with the heads and position code of PARITY's exact solution, does "
        "not learn PARITY"
    )
    further, near = (
        {(kind, n): score for (task, kind, n), score in scores.items() if task == PARITY}
        for scores in (tests, trained)
    )
    return [
        Claim(
            f"{same}: at most {percent(GUESSING, 0)} % at {TEST}",
            paper,
            _by_kind(further),
            every(at_most(score, GUESSING) for score in further.values()),
        ),
        Claim(
            f"{same}, at the training length: less than {percent(HALF_WAY, 0)} %, halfway between "
            "guessing and knowing (of length 10 there are 1,024 strings: some can be memorised)",
            paper,
            _by_kind(near),
            every(below(score, HALF_WAY) for score in near.values()),
        ),
    ]


def _by_kind(scores: Mapping[tuple[str, int], Score]) -> str:
    return "; ".join(f"{kind}, {n}: {_told(score)}" for (kind, n), score in scores.items())
