"""What Steffen, Glaus & Saeedi (2022) say and found, held against networks trained here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean

from formalbench.analysis.statistics import wilson
from formalbench.analysis.text import percent

from formalbench_papers.framework.accuracies import TOLERANCE, Score
from formalbench_papers.framework.answers import at_least, at_most, every, higher, rises
from formalbench_papers.framework.findings import Answer, Claim, TableCell

LANGUAGES = {"dyck-1": "Dyck-1", "dyck-1-2": "Dyck-(1, 2)", "dyck-2": "Dyck-2"}
ATTENTIONS = ("soft", "hard")
LENGTHS = (6, 10, 26, 50, 76, 100, 150, 200)
"""In symbols. The authors' 5, 25 and 75 come out one longer, since brackets come in pairs."""

Published = Mapping[tuple[str, str], Sequence[tuple[float, float]]]
"""By task and kind of network: accuracy and bits at each of `LENGTHS`."""

PUBLISHED: Published = {
    ("dyck-1", "soft"): (
        *((1.0, 0.0), (1.0, 0.0), (1.0, 0.0003), (0.525, 0.9994)),
        *((0.517, 1.0006), (0.487, 1.0026), (0.502, 1.0001), (0.491, 1.0019)),
    ),
    ("dyck-1-2", "soft"): (
        *((1.0, 0.0), (1.0, 0.0), (1.0, 0.0001), (0.514, 1.0007)),
        *((0.491, 1.0034), (0.5, 1.0042), (0.514, 0.9994), (0.512, 0.9987)),
    ),
    ("dyck-2", "soft"): (
        *((1.0, 0.0), (0.921, 0.3083), (0.494, 0.9999), (0.499, 1.0019)),
        *((0.504, 1.0), (0.522, 0.9976), (0.501, 1.0033), (0.498, 1.002)),
    ),
    ("dyck-2", "hard"): (
        *((0.468, 1.0107), (0.493, 1.0017), (0.554, 0.995), (0.525, 0.9995)),
        *((0.5, 1.0026), (0.52, 0.9985), (0.492, 1.0033), (0.485, 1.0011)),
    ),
}
"""The authors' accuracy and cross-entropy in bits at each of `LENGTHS`, from the outputs in their
repository (bglaus/AFLT-Project-Dyck-Self-Attention, src/results…): one run, the mean over
its last ten epochs of 100 test strings each. Hard attention they tried on Dyck-2 only."""

FEWEST = 400
"""With fewer members a length is left out: too few are for training, or for the test."""

LONG = 100
"""Symbols of the strings that are claimed not to be learned."""

LEARNED = 0.95
"""Accuracy from which a length counts as learned."""

GUESSING = 0.6
"""Up to this accuracy a length counts as not learned at all."""

PAPER_STRINGS = 1000
"""On how many strings each of the authors' accuracies rests."""


@dataclass(frozen=True, slots=True)
class DyckPoint:
    """What the networks of one language and kind of attention do at one length.

    Attributes:
        length: of the strings, in training and in the test.
        score: accuracy, over the seeds; a run that did not finish counts as chance.
        accuracies, bits: of each seed that finished; bits are cross-entropies.
        chance: accuracy of the best answer that sees only the length.
    """

    length: int
    score: Score
    accuracies: tuple[float, ...]
    bits: tuple[float, ...]
    chance: float = 0.5

    @property
    def mean_bits(self) -> float:
        """Mean cross-entropy over the seeds that finished; infinite if none did."""
        return fmean(self.bits) if self.bits else math.inf

    @property
    def text(self) -> str:
        """As a table shows it."""
        score = self.score
        shares = f"{percent(score.mean)} % ({percent(score.low)}–{percent(score.high)}"
        return f"{shares}; {score.outcome}), {self.mean_bits:.2f} bits"


Curves = dict[tuple[str, str], list[DyckPoint]]
"""By task and kind of network, shortest strings first."""


def members(task: str, length: int) -> int:
    """Return how many members of a length a Dyck language has: shapes times types of pairs."""
    types, _, deepest = task.removeprefix("dyck-").partition("-")
    pairs = length // 2
    ways = [1] + [0] * pairs
    for _ in range(length):
        ways = [
            (ways[depth - 1] if depth else 0) + (ways[depth + 1] if depth < pairs else 0)
            for depth in range(pairs + 1)
        ]
        if deepest:
            ways[int(deepest) + 1 :] = [0] * (pairs - int(deepest))
    count: int = ways[0] * int(types) ** pairs
    return count


def published(key: tuple[str, str], length: int) -> tuple[float, float] | None:
    """Return the authors' accuracy and bits, if they tried that."""
    return PUBLISHED[key][LENGTHS.index(length)] if key in PUBLISHED else None


def cells(
    curves: Curves, published: Published = PUBLISHED, titles: Mapping[str, str] = LANGUAGES
) -> list[TableCell]:
    """Hold every number of the authors' against ours.

    A cell holds if our mean is within 2 points of theirs or in its 95 % interval, that of one run
    on `PAPER_STRINGS` strings; it differs if the two intervals do not meet; otherwise the seeds
    cannot tell.
    """
    table = []
    for (task, kind), length in product(published, LENGTHS):
        if members(task, length) < FEWEST:
            continue
        theirs, bits = published[task, kind][LENGTHS.index(length)]
        curve = {point.length: point for point in curves.get((task, kind), ())}
        point = curve.get(length)
        table.append(
            TableCell(
                f"{titles[task]}, {kind}",
                f"n = {length}",
                f"{100 * theirs:.1f} %, {bits:.2f} bits",
                point.text if point else "",
                _agrees(point.score, theirs) if point else None,
            )
        )
    return table


def _agrees(ours: Score, theirs: float) -> Answer:
    if ours.missing:
        return "cannot tell"
    if ours.mean is None or ours.low is None or ours.high is None:
        return False
    low, high = wilson(round(theirs * PAPER_STRINGS), PAPER_STRINGS)
    if abs(ours.mean - theirs) <= TOLERANCE or low <= ours.mean <= high:
        return True
    return "cannot tell" if low <= ours.high and ours.low <= high else False


def claims(curves: Curves) -> list[Claim]:
    """Check what the slides and the report say."""
    checked = [_short_strings(curves, task) for task in LANGUAGES]
    checked += [_deteriorates(curves, task) for task in LANGUAGES]
    checked.append(_hard_learns_nothing(curves))
    checked += [_hard_before_soft(curves, task) for task in LANGUAGES]
    return checked


def _shortest(curves: Curves, task: str, attention: str) -> DyckPoint | None:
    """Return what the networks do at the shortest length with enough members."""
    least = min(length for length in LENGTHS if members(task, length) >= FEWEST)
    return _at(curves, task, attention, least)


def _at(curves: Curves, task: str, attention: str, length: int) -> DyckPoint | None:
    found = (point for point in curves.get((task, attention), ()) if point.length == length)
    return next(found, None)


def _short_strings(curves: Curves, task: str) -> Claim:
    first = _shortest(curves, task, "soft")
    return Claim(
        f"{LANGUAGES[task]}: soft attention recognises short sequences well: {LEARNED:.0%}",
        "report, abstract",
        f"n = {first.length}: {first.text}" if first else "",
        at_least(first.score, LEARNED) if first else None,
    )


def _deteriorates(curves: Curves, task: str) -> Claim:
    first, last = _shortest(curves, task, "soft"), _at(curves, task, "soft", LONG)
    return Claim(
        f"{LANGUAGES[task]}: accuracy and cross-entropy deteriorate for longer sequences; length "
        f"{LONG} is not learned (at most {GUESSING:.0%})",
        "slides, Reproducing Hahn's Results; report, Figure 2",
        f"n = {first.length}: {first.text}; n = {last.length}: {last.text}"
        if first and last
        else "",
        every(
            [
                rises(last.score, first.score),
                higher(last.bits, first.bits, missing=first.score.missing + last.score.missing),
                at_most(last.score, GUESSING),
            ]
        )
        if first and last
        else None,
    )


def _hard_learns_nothing(curves: Curves) -> Claim:
    first = _shortest(curves, "dyck-2", "hard")
    return Claim(
        "Dyck-2: hard attention stays at chance even at the shortest length: at most "
        f"{GUESSING:.0%}",
        "the authors' outputs: 46.8 % at n = 6, 49.3 % at n = 10",
        f"n = {first.length}: {first.text}" if first else "",
        at_most(first.score, GUESSING) if first else None,
    )


def _hard_before_soft(curves: Curves, task: str) -> Claim:
    pairs = {
        point.length: (point.score, hard.score)
        for point in curves.get((task, "soft"), ())
        if (hard := _at(curves, task, "hard", point.length)) is not None
    }
    learned = [tuple(at_least(one, LEARNED) for one in pair) for pair in pairs.values()]
    return Claim(
        f"{LANGUAGES[task]}: hard attention fails at shorter strings than soft attention: there is "
        f"a length at which soft attention alone reaches {LEARNED:.0%}",
        "Hahn (2020): hard attention recognises none, soft attention with a loss near 1 bit",
        "; ".join(
            f"n = {length}: soft {percent(soft.mean)}, hard {percent(hard.mean)}"
            for length, (soft, hard) in pairs.items()
        ),
        first_alone(learned),
    )


def first_alone(learned: Sequence[tuple[Answer, ...]]) -> Answer:
    """Say whether somewhere the first is learned and the second is not, and nowhere the reverse."""
    if not learned:
        return None
    if (False, True) in learned:
        return False
    if (True, False) in learned:
        return True
    return "cannot tell" if any("cannot tell" in pair for pair in learned) else False
