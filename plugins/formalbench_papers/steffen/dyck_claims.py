"""What Steffen, Glaus & Saeedi (2022) say and found, held against networks trained here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formalbench_papers.framework.findings import Claim, TableCell

LANGUAGES = {"dyck-1": "Dyck-1", "dyck-1-2": "Dyck-(1, 2)", "dyck-2": "Dyck-2"}
ATTENTIONS = ("soft", "hard")
LENGTHS = (6, 10, 26, 50, 76, 100, 150, 200)
"""In symbols. The authors' 5, 25 and 75 come out one longer, since brackets come in pairs."""

PUBLISHED: Mapping[tuple[str, str], Sequence[tuple[float, float]]] = {
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

LEARNED = 0.95
"""Accuracy from which a length counts as learned."""

ALIKE = 0.1
"""How far two accuracies may lie apart and still agree."""


@dataclass(frozen=True, slots=True)
class DyckPoint:
    """What the networks of one language and kind of attention do at one length.

    Attributes:
        length: of the strings, in training and in the test.
        accuracy: the mean over the seeds; a run that did not finish counts as chance.
        low, high: its interval.
        bits: mean cross-entropy over the seeds that finished; infinite if none did.
        accuracies, each_bits: of each seed that finished.
        outcome: how the runs ended.
        chance: accuracy of the best answer that sees only the length.
    """

    length: int
    accuracy: float
    low: float
    high: float
    bits: float
    accuracies: tuple[float, ...]
    each_bits: tuple[float, ...]
    outcome: str
    chance: float = 0.5

    @property
    def text(self) -> str:
        """As a table shows it."""
        shares = f"{100 * self.accuracy:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        return f"{shares}, {self.bits:.2f} bits; seeds: {self.outcome}"


Curves = dict[tuple[str, str], list[DyckPoint]]
"""By task and kind of attention, shortest strings first."""


def members(task: str, length: int) -> int:
    """Return how many members of a length one of `LANGUAGES` has: shapes times types of pairs."""
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


def cells(curves: Curves) -> list[TableCell]:
    """Hold every number of the authors' against ours: they agree within ten points."""
    table = []
    for key, curve in curves.items():
        for point in curve:
            theirs = published(key, point.length)
            if theirs is not None:
                table.append(
                    TableCell(
                        f"{LANGUAGES[key[0]]}, {key[1]}",
                        f"n = {point.length}",
                        f"{100 * theirs[0]:.1f} %, {theirs[1]:.2f} bits",
                        point.text,
                        abs(point.accuracy - theirs[0]) <= ALIKE,
                    )
                )
    return table


def claims(curves: Curves) -> list[Claim]:
    """Check what the slides and the report say."""
    checked = [_short_strings(curves, task) for task in LANGUAGES]
    checked += [_deteriorates(curves, task) for task in LANGUAGES]
    checked.append(_hard_learns_nothing(curves))
    checked += [_hard_before_soft(curves, task) for task in LANGUAGES]
    return checked


def _short_strings(curves: Curves, task: str) -> Claim:
    first = curves[task, "soft"][0]
    return Claim(
        f"{LANGUAGES[task]}: soft attention recognises short sequences well",
        "report, abstract",
        f"n = {first.length}: {first.text}",
        first.accuracy >= LEARNED,
    )


def _deteriorates(curves: Curves, task: str) -> Claim:
    first, last = curves[task, "soft"][0], _at(curves[task, "soft"], 100)
    return Claim(
        f"{LANGUAGES[task]}: accuracy and cross-entropy deteriorate for longer sequences; length "
        "100 is not learned",
        "slides, Reproducing Hahn's Results; report, Figure 2",
        f"n = {first.length}: {first.bits:.2f} bits; n = {last.length}: {last.text}",
        last.accuracy < first.accuracy and last.bits > first.bits and last.accuracy < 0.6,
    )


def _hard_learns_nothing(curves: Curves) -> Claim:
    curve = curves["dyck-2", "hard"]
    best = max(curve, key=lambda point: point.accuracy)
    return Claim(
        "Dyck-2: hard attention stays at chance even at the shortest length",
        f"the authors' outputs: 46.8 % at n = 6, 49.3 % at n = {curve[0].length}",
        f"best at n = {best.length}: {best.text}",
        best.accuracy < 0.5 + ALIKE,
    )


def _hard_before_soft(curves: Curves, task: str) -> Claim:
    reach = {attention: _reach(curves[task, attention]) for attention in ATTENTIONS}
    return Claim(
        f"{LANGUAGES[task]}: hard attention fails at shorter strings than soft attention",
        "Hahn (2020): hard attention recognises none, soft attention with a loss near 1 bit",
        "; ".join(f"{name}: {_reached(length)}" for name, length in reach.items()),
        reach["hard"] < reach["soft"],
    )


def _at(curve: Sequence[DyckPoint], length: int) -> DyckPoint:
    return next(point for point in curve if point.length >= length)


def _reach(curve: Sequence[DyckPoint]) -> int:
    """Return the greatest length up to which every one is learned, or 0."""
    reach = 0
    for point in curve:
        if point.accuracy < LEARNED:
            break
        reach = point.length
    return reach


def _reached(length: int) -> str:
    return f"{100 * LEARNED:.0f} % up to n = {length}" if length else "not even the shortest"
