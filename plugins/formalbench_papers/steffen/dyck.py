"""Steffen et al. (2022): transformers trained on Dyck languages.

One network for each language, kind of attention, length and seed, trained and tested at that
length, as in the authors' report and code, but on other strings than those it was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

from formalbench.contracts.config import Value
from formalbench.documents.charts import BLUES, RED
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent
from formalbench.statistics.intervals import wilson

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import (
    LEAST_SEEDS,
    Answer,
    Claim,
    Findings,
    Row,
    TableCell,
    across,
    at_most,
    every,
    higher,
)
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
from formalbench_papers.framework.scores import TOLERANCE, Score
from formalbench_papers.index import experiment
from formalbench_papers.steffen import SOURCE

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
"""Accuracy up to which a length counts as not learned."""

PAPER_STRINGS = 1000
"""On how many strings each of the authors' accuracies rests."""

RARE = 0.05
"""Runs at most so rare are not taken for ours."""

RULE = (
    "A cell compares the authors' one run with our seeds, by accuracy. A seed agrees if it is at "
    "most 2 points away from that run, or within its 95 % interval (Wilson, 1,000 strings). The "
    "cell holds if at least half of our seeds agree. It differs if a run like theirs is too rare "
    "among all of these runs: (m + 1) / (k + 1) is at most 5 %, where m of our k seeds agree; this "
    "takes at least 19 seeds. Otherwise, and with fewer than three seeds, the verdict is “cannot "
    "tell”. Planned seeds that have not been run do not count."
)
"""Of `cells`, as a page says it."""


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
        return f"{self.score.text}, {self.mean_bits:.2f} bits"


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


def cells(
    curves: Curves, published: Published = PUBLISHED, titles: Mapping[str, str] = LANGUAGES
) -> list[TableCell]:
    """Compare every number of the authors with ours, by `RULE`."""
    table = []
    for (task, kind), length in product(published, LENGTHS):
        if members(task, length) < FEWEST:
            continue
        accuracy, bits = published[task, kind][LENGTHS.index(length)]
        point = _by_length(curves, task, kind).get(length)
        table.append(
            TableCell(
                f"{titles[task]}, {kind}",
                f"n = {length}",
                f"{100 * accuracy:.1f} %, {bits:.2f} bits",
                f"{point.text}; {_matching(point, accuracy)} agree" if point else "",
                _agrees(point, accuracy) if point else None,
            )
        )
    return table


def _matching(point: DyckPoint, accuracy: float) -> int:
    """Return how many seeds agree with the authors' run."""
    low, high = wilson(round(accuracy * PAPER_STRINGS), PAPER_STRINGS)
    low, high = min(low, accuracy - TOLERANCE), max(high, accuracy + TOLERANCE)
    return sum(low <= one <= high for one in point.accuracies)


def _agrees(point: DyckPoint, accuracy: float) -> Answer:
    seeds, matching = len(point.accuracies), _matching(point, accuracy)
    if seeds < LEAST_SEEDS:
        return "cannot tell"
    if (matching + 1) / (seeds + 1) <= RARE:
        return False
    return True if 2 * matching >= seeds else "cannot tell"


def claims(curves: Curves) -> list[Claim]:
    """Check the claims of slides and report."""
    return [
        *(_short_strings(curves, task) for task in LANGUAGES),
        *(_deteriorates(curves, task) for task in LANGUAGES),
        _hard_learns_nothing(_shortest(curves, "dyck-2", "hard")),
        *(_hard_before_soft(curves, task) for task in LANGUAGES),
    ]


def _by_length(curves: Curves, task: str, attention: str) -> dict[int, DyckPoint]:
    return {point.length: point for point in curves.get((task, attention), ())}


def paired(curves: Curves, task: str, *kinds: str) -> dict[int, tuple[DyckPoint, DyckPoint]]:
    """Return what two kinds of network do at the lengths that both have."""
    first, second = (_by_length(curves, task, kind) for kind in kinds)
    return {length: (first[length], second[length]) for length in first if length in second}


def _shortest(curves: Curves, task: str, attention: str) -> DyckPoint | None:
    """Return what the networks do at the shortest length with enough members."""
    least = min(length for length in LENGTHS if members(task, length) >= FEWEST)
    return _by_length(curves, task, attention).get(least)


def _short_strings(curves: Curves, task: str) -> Claim:
    first = _shortest(curves, task, "soft")
    return Claim(
        f"{LANGUAGES[task]}: soft attention recognises short sequences well: "
        f"{percent(LEARNED, 0)} %",
        f"report, abstract; one run. {percent(LEARNED, 0)} % is ours",
        f"n = {first.length}: {first.text}; {_learned_by(first)} seeds reach it" if first else "",
        _learns(first) if first else None,
    )


def _learned_by(point: DyckPoint) -> str:
    learned = sum(one >= LEARNED for one in point.accuracies)
    return f"{learned} of {len(point.accuracies)}"


def _learns(point: DyckPoint) -> Answer:
    """Return whether every seed learns a length; seeds that disagree say nothing of one run."""
    few = len(point.accuracies) < LEAST_SEEDS
    return across((one >= LEARNED for one in point.accuracies), point.score.missing + few)


def _deteriorates(curves: Curves, task: str) -> Claim:
    first, last = _shortest(curves, task, "soft"), _by_length(curves, task, "soft").get(LONG)
    ours, holds = "", None
    if first and last:
        missing = first.score.missing + last.score.missing
        ours = f"n = {first.length}: {first.text}; n = {last.length}: {last.text}"
        holds = every(
            [
                higher(first.accuracies, last.accuracies, missing=missing),
                higher(last.bits, first.bits, missing=missing),
                at_most(last.score, GUESSING),
            ]
        )
    return Claim(
        f"{LANGUAGES[task]}: accuracy and cross-entropy deteriorate for longer sequences; length "
        f"{LONG} is not learned (at most {percent(GUESSING, 0)} %)",
        f"slides, Reproducing Hahn's Results; report, Figure 2. {percent(GUESSING, 0)} % is ours",
        ours,
        holds,
    )


def _hard_learns_nothing(first: DyckPoint | None) -> Claim:
    return Claim(
        "Dyck-2: hard attention does not learn even the shortest length: it reaches at most "
        f"{percent(GUESSING, 0)} %",
        "the authors' outputs: 46.8 % at n = 6, 49.3 % at n = 10. "
        f"{percent(GUESSING, 0)} % is ours",
        f"n = {first.length}: {first.text}" if first else "",
        at_most(first.score, GUESSING) if first else None,
    )


def _hard_before_soft(curves: Curves, task: str) -> Claim:
    pairs = paired(curves, task, *ATTENTIONS)
    return Claim(
        f"{LANGUAGES[task]}: hard attention fails at shorter strings than soft attention: there is "
        f"a length at which soft attention alone reaches {percent(LEARNED, 0)} % (in "
        "brackets: how many seeds do)",
        "Hahn (2020): hard attention recognises none, soft attention with a loss near 1 bit",
        "; ".join(
            f"n = {n}: soft {percent(one.score.mean)} % ({_learned_by(one)}), hard "
            f"{percent(other.score.mean)} % ({_learned_by(other)})"
            for n, (one, other) in pairs.items()
        ),
        first_alone([tuple(map(_learns, pair)) for pair in pairs.values()]),
    )


def first_alone(learned: Sequence[tuple[Answer, ...]]) -> Answer:
    """Return whether in some case only the first is learned, and in no case only the second."""
    if not learned:
        return None
    if (False, True) in learned:
        return False
    if (True, False) in learned:
        return True
    return "cannot tell" if any("cannot tell" in pair for pair in learned) else False


COLORS = {"soft": BLUES[3], "hard": RED}

QUICK_LENGTHS = (10, 26, 50, 100)

BIMODAL = (
    *(("dyck-1", "soft", length) for length in (26, 50, LONG)),
    *(("dyck-1-2", "soft", length) for length in (26, 50, LONG)),
    *(("dyck-2", "soft", length) for length in (10, 26, LONG)),
)
"""Where some seeds learn all and others nothing, three do not decide: the scale paper has ten. So
has `LONG`, which is compared with these."""

MANY_SEEDS = 10

ORDER = (26, 100, 10, 50, 76, 150, 200, 6)
"""Lengths, those that decide first."""

MODEL: Mapping[str, Value] = {
    "width": 16,
    "heads": 2,
    "layers": 2,
    "norm": "post",
    "activation": "relu",
    "causal": False,
}
"""With 64 hidden units and sinusoidal positions, which are the defaults."""


@experiment(
    "steffen-dyck",
    "Transformers trained on Dyck-1, Dyck-(1, 2) and Dyck-2, with soft and hard attention",
    f"{SOURCE} (slides and report), Reproducing Hahn's Results",
    about="Cross-entropy and accuracy of transformers with two layers and two heads, trained "
    "to recognise three languages at one string length, against that length. Lines: the "
    "mean over the seeds; dots: each seed; hollow marks: the authors' run; dashed: "
    "chance.",
    reduced="four of the seven lengths, and at most 3,000 updates of 16 strings at the rate 0.001 "
    "instead of 15,000 updates of one string at 0.0003: three times as many strings, a "
    "fifth of the updates.",
    core_hours=(2.8, 9.8),
)
def carry_out(bench: Bench) -> Findings:
    """Train and test at every length."""
    lengths = bench.choose(QUICK_LENGTHS, LENGTHS)
    every = [cell for cell in bench.train(wanted(lengths, bench.choose("-quick", ""))) if cell]
    curves: Curves = {}
    for cell in sorted(every, key=_length):
        key = (cell.plan.task, str(cell.plan.model_options["attention"]))
        curves.setdefault(key, []).append(_point(cell))
    rows = [row for key, curve in curves.items() for point in curve for row in _rows(key, point)]
    records = records_of(every)

    def draw() -> Figure:
        return draw_points(curves, PUBLISHED, LANGUAGES, COLORS, "{} attention")

    return Findings(rows, claims(curves), draw, _REMARKS, cells(curves), records)


def _length(cell: CellRecords) -> int:
    return int(cell.plan.column.removeprefix("n = "))


def wanted(lengths: Sequence[int], suffix: str) -> list[CellPlan]:
    """Return what to train: every language, kind of attention, and length with enough members."""
    return [
        CellPlan(
            row=f"{title}, {attention}",
            column=f"n = {length}",
            model="transformer",
            task=task,
            protocol=f"steffen-dyck-{length}{suffix}",
            model_options={**MODEL, "attention": attention},
            task_options={"outside": "changed", "split": "by-string"},
            seeds=MANY_SEEDS if not suffix and (task, attention, length) in BIMODAL else None,
        )
        for length in sorted(lengths, key=ORDER.index)
        for task, title in LANGUAGES.items()
        for attention in ATTENTIONS
        if members(task, length) >= FEWEST
    ]


def _point(cell: CellRecords) -> DyckPoint:
    tests = [record.test for record in cell.chosen if record.test is not None]
    return DyckPoint(
        length=_length(cell),
        score=Score.of_test(cell),
        accuracies=tuple(test.accuracy for test in tests),
        bits=tuple(test.cells.bits for test in tests),
        chance=tests[0].chance_length if tests else 0.5,
    )


def _rows(key: tuple[str, str], point: DyckPoint) -> list[Row]:
    """Return a line for each seed, with the authors' numbers beside it."""
    place = LENGTHS.index(point.length)
    accuracy, bits = PUBLISHED[key][place] if key in PUBLISHED else ("", "")
    return [
        {
            "task": key[0],
            "attention": key[1],
            "length": point.length,
            "run": run,
            "accuracy": mine,
            "bits": my_bits,
            "chance": point.chance,
            "paper_accuracy": accuracy,
            "paper_bits": bits,
        }
        for run, (mine, my_bits) in enumerate(zip(point.accuracies, point.bits, strict=True))
    ]


def _too_short() -> str:
    """Return which lengths have too few members, and how many these are."""
    few = [
        (title, length, members(task, length))
        for task, title in LANGUAGES.items()
        for length in LENGTHS
        if members(task, length) < FEWEST
    ]
    return ", ".join(f"{title} at n = {length} ({count})" for title, length, count in few)


_REMARKS = (
    "Each length has separate networks, trained and tested at that length, as in the authors' "
    "code. There are three seeds; at the scale paper ten where some learn everything and others "
    f"nothing, and at n = {LONG}, which is compared with these. The authors have one run.",
    "Strings are kept apart (`task.split=by-string`): half of each length's strings are for "
    "training, a quarter for validation, which chooses the checkpoint, and a quarter for the test. "
    "The authors use the same strings for all three.",
    f"Lengths with fewer than {FEWEST} members are left out, because so few cannot be split: "
    f"{_too_short()}. There the authors train and test on the same strings.",
    "The slides print no numbers: those in the table are from the outputs in the authors' "
    "repository. They tried hard attention on Dyck-2 only.",
    RULE,
    f"A length is learned ({percent(LEARNED, 0)} %) if every seed learns it, and is not if none "
    "does: seeds that disagree refute nothing, as the authors have one run. Other claims go by the "
    "95 % interval of the mean, or of the difference of two means (Welch's), or by all seeds. No "
    "claim is decided while planned seeds are missing.",
    "The published hard attention ignores its input: its code confuses positions with the batch, "
    "so each position attends only to itself, and the answer, read at CLS, is the same for all "
    "strings of a length. Its argmax also passes no gradient to queries and keys. Ours attends to "
    "all positions and passes the gradient of the softmax (straight-through).",
    "Non-members are members with one symbol changed, half of all strings "
    "(`task.outside=changed`), as the authors make them after Hahn. The numbers of opening and "
    "closing brackets of some type then differ, so counting is enough for all three languages, and "
    "no string tests nesting. Members are uniform here and come from a random walk in the authors' "
    "code.",
    "Chance is 50 % and 1 bit at every length (dashed): members exist at even lengths only, and "
    "the authors' 5, 25 and 75 are really 6, 26 and 76 symbols. So always rejecting does not score "
    "75 %.",
    "CLS is the first symbol and positions are fixed sinusoids; the authors have CLS at the end "
    "and learn the frequencies.",
    "Two layers and two heads are fewer than the D + 1 = 3 layers of three heads with which hard "
    "attention can recognise Dyck-(1, 2) at every length (Yao et al. 2021, Theorem 4.1).",
)


def draw_points(
    curves: Curves,
    published: Published,
    titles: Mapping[str, str],
    colors: Mapping[str, str],
    name: str,
) -> Figure:
    """Draw bits above accuracies, a column a language, with the authors' run as rings."""
    lengths = {float(point.length): str(point.length) for one in curves.values() for point in one}

    def panel(task: str, index: int, **facts: Any) -> Panel:
        lines = []
        for kind, color in colors.items():
            curve, title = curves.get((task, kind), ()), name.format(kind)
            x = [point.length for point in curve]
            means = [(point.score.mean or 0.0, point.mean_bits)[index] for point in curve]
            lines.append(Series(x, means, color, f"{title}, mean of seeds"))
            for point in curve:
                each = (point.accuracies, point.bits)[index]
                lines.append(
                    Series([point.length] * len(each), each, color, style=".", alpha=0.6, size=9)
                )
            if (task, kind) in published:
                values = [published[task, kind][LENGTHS.index(n)][index] for n in x]
                label = f"{title}, the authors' run"
                lines.append(Series(x, values, color, label, "o", hollow=True, size=8))
        return Panel(
            lines,
            title=titles[task] * index,
            xticks=dict(sorted(lengths.items())),
            **facts,
        )

    bits = [
        panel(task, 1, y="cross-entropy (bits)", level=1.0, ylim=(-0.05, 1.12)) for task in titles
    ]
    accuracy = [
        panel(task, 0, x="string length n", y="accuracy", level=0.5, ylim=(-0.03, 1.05))
        for task in titles
    ]
    return Figure([bits, accuracy])
