"""What Chiang & Cholak (2022) say about their Figure 4, held against what was found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from formalbench.analysis.text import percent, plural

from formalbench_papers.chiang_cholak.fig4_curves import (
    FIRST,
    LENGTHS,
    PARITY,
    SCALED,
    STANDARD,
    TEST,
    Key,
    Mean,
    curves_of,
)
from formalbench_papers.framework.accuracies import Score
from formalbench_papers.framework.answers import (
    across,
    at_least,
    at_most,
    below,
    every,
    higher,
    learned_reach,
    rises,
)
from formalbench_papers.framework.findings import Answer, Claim
from formalbench_papers.framework.runs import Got

GUESSING, PERFECT = 0.6, 0.99
"""Up to the first, an accuracy is hardly better than guessing; from the second on it is perfect."""

HALF_WAY = 0.75
"""Less is not learned, even if it is better than guessing."""

BITS = 0.05
"""Cross-entropy up to which it counts as perfect, as it does in the paper's figure."""

SETTLED = 0.1
"""Attention is on its plateau from where on it stays this near to its last value, as a share."""


def claims(got: Mapping[Key, Got]) -> list[Claim]:
    """Hold what was found against what the paper says about its figure.

    What is claimed of longer strings is asked of the runs that learned their training length.

    Args:
        got: what was trained.
    """
    first = {key: one for key, one in got.items() if key[0] == FIRST}
    learned = {key: runs for key, one in first.items() if (runs := one.learned) is not None}
    standard, scaled = (
        {n: learned.get((FIRST, kind, n)) for n in LENGTHS if (FIRST, kind, n) in first}
        for kind in (STANDARD, SCALED)
    )
    curves = {key: curves_of(one) for key, one in learned.items()}
    missing = {key: one.missing for key, one in learned.items()}
    tests = {n: Score.of_test(one) for n, one in standard.items() if one is not None}
    unlearned: Answer = "cannot tell" if standard else None
    return [
        Claim(
            f"FIRST is much easier to learn than PARITY: at its training length standard attention "
            f"reaches {percent(PERFECT, 0)} %, from every length",
            "“FIRST is much easier to learn” (§4.1)",
            _each(_trained(first, STANDARD)),
            every(at_least(score, PERFECT) for score in _trained(first, STANDARD).values()),
        ),
        Claim(
            f"Standard attention, trained at length 10, fails at {TEST}: at most "
            f"{percent(GUESSING, 0)} %",
            "“hardly better than random guessing” (§4.1)",
            _each({n: score for n, score in tests.items() if n == LENGTHS[0]}),
            at_most(tests[LENGTHS[0]], GUESSING) if LENGTHS[0] in tests else unlearned,
        ),
        Claim(
            f"Standard attention is not perfect at {TEST} from any of the training lengths",
            "“the accuracy is not perfect” (§4.1; Figure 4, left)",
            _each(tests),
            every(below(score, PERFECT) for score in tests.values()) if tests else unlearned,
        ),
        Claim(
            f"With standard attention, the longer the strings trained on, the better at {TEST}",
            "Figure 4, left",
            _each(tests),
            every(rises(a, b) for a, b in pairwise(tests.values())) if tests else unlearned,
        ),
        *_scaled_is_perfect(first),
        _less_bits(curves, {n for n in standard if n in scaled}, missing),
        _attention_grows(curves),
        *_attention_by_length(curves, missing),
        *_parity(got),
    ]


def _trained(got: Mapping[Key, Got], kind: str) -> dict[int, Score]:
    """Return how the last weights do at the training length, by that."""
    return {key[2]: Score.of_validation(one) for key, one in got.items() if key[1] == kind}


def _told(score: Score) -> str:
    return f"{percent(score.mean)} % ({percent(score.low)}–{percent(score.high)}; {score.outcome})"


def _each(scores: Mapping[int, Score]) -> str:
    return "; ".join(f"{length}: {_told(score)}" for length, score in sorted(scores.items()))


def _scaled_is_perfect(first: Mapping[Key, Got]) -> list[Claim]:
    scaled = {key[2]: one for key, one in first.items() if key[1] == SCALED}
    scores = {n: Score.of_test(one) for n, one in scaled.items()}
    judged = {n: runs for n, one in scaled.items() if (runs := one.learned) is not None}
    learned = {n: Score.of_test(one) for n, one in judged.items()}
    bits, learned_bits = (
        {
            n: [run.test.cells.bits for run in one.chosen if run.test is not None]
            for n, one in some.items()
        }
        for some in (scaled, judged)
    )
    paper = "“perfect test cross-entropy and accuracy” (§4.4; Figure 4, right)"
    return [
        Claim(
            f"Attention scaled by log n reaches {percent(PERFECT, 0)} % at {TEST} on average from "
            "every training length",
            paper,
            _each(scores),
            every(learned_reach(score, learned.get(n), PERFECT) for n, score in scores.items()),
        ),
        Claim(
            f"Its cross-entropy at {TEST} is perfect, too: at most {BITS} bits, in every run",
            paper,
            "; ".join(
                f"{n}: {min(runs):.3f} to {max(runs):.3f} bits, {plural(len(runs), 'run')}"
                for n, runs in bits.items()
                if runs
            ),
            every(_perfect(runs, learned_bits.get(n, ())) for n, runs in bits.items() if runs),
        ),
    ]


def _perfect(runs: Sequence[float], learned: Sequence[float]) -> Answer:
    """Say whether the bits of every run are perfect; runs that did not learn do not say no."""
    perfect = across(bits <= BITS for bits in runs)
    refuted = across(bits <= BITS for bits in learned) is False
    return perfect if refuted or perfect is not False else "cannot tell"


Curves = Mapping[Key, Sequence[Mean]]
"""Of each run that learned its training length."""


Missing = Mapping[Key, int]
"""The number of planned seeds that have not been run."""


def _less_bits(curves: Curves, lengths: Collection[int], missing: Missing) -> Claim:
    last = {
        (kind, n): [one.bits[-1] for one in curves.get((FIRST, kind, n), ())]
        for kind in (STANDARD, SCALED)
        for n in lengths
    }
    pairs = [(n, last[STANDARD, n], last[SCALED, n]) for n in sorted(lengths)]
    return Claim(
        "Attention scaled by log n has the lower cross-entropy (bits) from every training length",
        "Figure 4, top",
        "; ".join(
            f"{n}: {fmean(ours):.3f}, standard {fmean(theirs):.3f}"
            for n, theirs, ours in pairs
            if ours and theirs
        ),
        every(
            higher(
                theirs,
                ours,
                missing=missing[FIRST, STANDARD, n] + missing[FIRST, SCALED, n],
            )
            if ours and theirs
            else "cannot tell"
            for n, theirs, ours in pairs
        ),
    )


def _attention_grows(curves: Curves) -> Claim:
    def at_first(curve: Mean) -> bool:
        top = curve.total.index(max(curve.total))
        better = curve.bits[top] < curve.bits[0] and curve.accuracy[top] > curve.accuracy[0]
        return top > 0 and better

    return Claim(
        f"The attention on position 1, of both layers together, grows in training (at {TEST}), "
        "and until it is at its height cross-entropy falls and accuracy rises, in every run",
        "“attention weight increases on position 1, and test cross-entropy decreases while test "
        "accuracy increases” (§4.2; Figure 4)",
        "; ".join(
            f"{kind}, {n}: {fmean(one.total[0] for one in runs):.3f} → "
            f"{fmean(max(one.total) for one in runs):.3f}, "
            f"{sum(map(at_first, runs))} of {plural(len(runs), 'run')}"
            for (_, kind, n), runs in curves.items()
        ),
        across(at_first(one) for runs in curves.values() for one in runs),
    )


def _attention_by_length(curves: Curves, missing: Missing) -> list[Claim]:
    runs = {n: curves.get((FIRST, STANDARD, n), ()) for n in LENGTHS}
    last = {n: [one.total[-1] for one in some] for n, some in runs.items() if some}
    settled = {n: [_settled(one) for one in some] for n, some in runs.items() if some}
    paper = (
        "“the lower the training length n is, the earlier and lower the attention weight plateaus” "
        "(§4.2; Figure 4, bottom left)"
    )
    said = {
        "With standard attention, the shorter the strings trained on, the less attention there is "
        "on position 1 in the end": last,
        "With standard attention, the shorter the strings trained on, the earlier the attention on "
        f"position 1 plateaus: from that epoch on it stays within {SETTLED:.0%} of its last "
        "value": settled,
    }
    return [
        Claim(
            text,
            paper,
            "; ".join(f"{n}: {fmean(some):.3g}" for n, some in values.items()),
            every(
                higher(
                    values[b],
                    values[a],
                    missing=missing[FIRST, STANDARD, a] + missing[FIRST, STANDARD, b],
                )
                for a, b in pairwise(values)
            ),
        )
        for text, values in said.items()
    ]


def _settled(curve: Mean) -> float:
    """Return the epoch from which on attention stays near its last value."""
    last = curve.total[-1]
    far = [i for i, one in enumerate(curve.total) if abs(one - last) > SETTLED * last]
    return float(curve.epoch[max(far) + 1] if far else curve.epoch[0])


def _parity(got: Mapping[Key, Got]) -> list[Claim]:
    paper = "“unable to get a transformer to learn to recognize PARITY” (§4.1)"
    same = (
        "The same transformer, with the heads and position code of PARITY's exact solution, does "
        "not learn PARITY"
    )
    runs = {(kind, n): one for (task, kind, n), one in got.items() if task == PARITY}
    further = {key: Score.of_test(one) for key, one in runs.items()}
    near = {key: Score.of_validation(one) for key, one in runs.items()}
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
