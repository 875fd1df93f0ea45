"""Figures 4(a) and 7 of Yao et al. (2021): Dyck-(8, 10), by positions and layers.

A mean over strings longer than those of training is mostly one over their beginnings, which are
as long as what training has seen. Accuracy by position tells the parts from each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from formalbench.contracts.objective import Measure
from formalbench.contracts.record import Record
from formalbench.contracts.source import HasBrackets
from formalbench.documents.charts import BLUES, GREEN, GREY, ORANGE
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent, plural
from formalbench.evaluation.cells import test_set
from formalbench.evaluation.evaluate import CellScore
from formalbench.metrics.close_brackets import MICRO, CloseBrackets

from formalbench_papers.framework.bench import Bench, NoWeightsError, score_again
from formalbench_papers.framework.claims import (
    Answer,
    Claim,
    Findings,
    Row,
    at_least,
    at_most,
    below,
    every,
    higher,
)
from formalbench_papers.framework.runs import CellPlan, records_of
from formalbench_papers.framework.scores import Score
from formalbench_papers.index import experiment
from formalbench_papers.yao import SOURCE
from formalbench_papers.yao.close_brackets import (
    BUDGET,
    FIGURE_4,
    NEAR_PERFECT,
    PAPER,
    QUICK,
    REDUCED,
    REMARKS,
    Lead,
    Trials,
    failed,
    lines_of,
    similar_by_distance,
    sizes_text,
    train,
    transformer,
)

LAYERS = (1, 2, 3, 4, 5, 10)
"""Numbers of layers in Figure 4(a)."""

WIDTH = 30

TWO = 2

QUICK_LAYERS = (1, 2)
"""What the scale quick has with each encoding; with POS/N it has ten layers, too."""

POSITIONS = {"COS": "sinusoidal", "LEARN": "learned", "POS/N": "scalar-6000"}
"""The paper's names, and ours."""

COLORS = {"COS": ORANGE, "LEARN": GREEN, "POS/N": BLUES[2]}

SEEN = 700
"""Maximum training length; later positions were never seen in training."""

LONGEST, STRETCH = 1400, 100
"""The longest test strings, and over how many positions the curve of the figure is a mean."""

_AT = f"{MICRO}-at-"
"""What the metric's names begin with, before a position."""

Positions = Mapping[int, Measure]
"""How often the right close was predicted, by how many symbols stood before it."""


def by_position(bench: Bench, records: Sequence[Record]) -> list[Positions | None]:
    """Test the selected weights of some runs again, on the strings that they were tested on.

    Args:
        bench: knows where the weights are.
        records: of runs on one task, of brackets to ``generate``, under one protocol.

    Returns:
        One per run; None for one that kept no weights.
    """
    if not records:
        return []
    protocol = records[0].protocol
    task = protocol.apply(bench.host.task(records[0].task.name, dict(records[0].task.options)))
    assert isinstance(task.source, HasBrackets)
    task = replace(task, extra_metrics=(CloseBrackets(task.source.closes, by="position"),))
    cells = test_set(task, protocol)

    def find(record: Record) -> Positions | None:
        step = {"test_id": record.test_id, "metric": _AT, "strings": cells.fingerprint}
        try:
            sums = bench.measured(step, lambda: _counted(score_again(bench, record, task, cells)))
        except NoWeightsError:
            return None
        return {int(place): Measure(*measure) for place, measure in sums.items()}

    return [find(record) for record in records]


def share(placed: Positions, first: int, stop: int) -> float:
    """Return the accuracy between two positions.

    NaN if nothing is.
    """
    within = [measure for place, measure in placed.items() if first <= place < stop]
    return Measure(sum(one.total for one in within), sum(one.count for one in within)).mean


def _counted(scores: Sequence[CellScore]) -> dict[str, tuple[float, int]]:
    placed: dict[str, Measure] = {}
    for score in scores:
        for name, measure in score.measures.items():
            if name.startswith(_AT):
                place = name.removeprefix(_AT)
                placed[place] = placed.get(place, Measure(0.0, 0)).plus(measure)
    return {place: (measure.total, measure.count) for place, measure in placed.items()}


ByPositions = Mapping[tuple[str, int], Trials]
"""By the paper's name of the positions, and layers."""

Placed = Mapping[str, Sequence[Positions | None]]
"""By the paper's name of the positions: what each two-layer trial gets right, position by position;
None for a trial without weights."""

ORDER = (2, 10, 1, 3, 4, 5)
"""Numbers of layers, those that decide first."""


@experiment(
    "yao-fig4a",
    "Three kinds of positions on longer strings of Dyck-(8, 10)",
    f"{SOURCE}, Figures 4(a) and 7",
    about="Share of close brackets predicted with confidence (more than 0.8 of the probability of "
    "all closes) by Transformers of width 30 that were trained on strings of up to 700 "
    "symbols, on 701 to 1,400 (test) and on the training lengths (validation). COS: "
    "sinusoidal positions; LEARN: learned; POS/N: one number, i/6000. Dots are trials. The "
    "third panel, which is ours, shows at which positions of longer strings the two-layer "
    "networks are right.",
    reduced="layers 1 and 2, and 10 for POS/N, instead of 1, 2, 3, 4, 5 and 10 (`--only 'L = 5'` "
    f"trains one); {REDUCED}.",
    core_hours=(5.0, 55),
    inside=True,
)
def carry_out(bench: Bench) -> Findings:
    """Train Transformers with each positional encoding and number of layers."""
    protocol = bench.choose(QUICK, PAPER)
    plans = {
        (name, layers): CellPlan(
            name,
            f"L = {layers}",
            "transformer",
            FIGURE_4,
            protocol,
            transformer(WIDTH, layers, positions),
        )
        for layers in ORDER
        for name, positions in reversed(POSITIONS.items())
    }
    quick = {*product(POSITIONS, QUICK_LAYERS), ("POS/N", LAYERS[-1])}
    runs = train(bench, plans, lambda key: bench.scale == "paper" or key in quick)
    placed = _placed(bench, runs)
    less = f"Reduced: layers ({sizes_text(runs)}) of 1, 2, 3, 4, 5, 10; {BUDGET}"
    rows = [
        {**row, **_stretches(trial)}
        for (name, layers), one in runs.items()
        for row, trial in zip(
            one.rows(positions=name, layers=layers, width=WIDTH),
            placed[name] if layers == TWO else [None] * len(one.chosen),
            strict=True,
        )
    ]
    return Findings(
        rows,
        claims(runs, placed),
        lambda: _draw(runs, placed),
        [*REMARKS, _ON_POSITIONS, *failed(runs.values()), *bench.choose([less], [])],
        records=records_of(runs.values()),
    )


_ON_POSITIONS = (
    "Most positions of a test string of 701 to 1,400 symbols also occur in training strings, so "
    "the third panel shows accuracy by position: of the two-layer networks, on all test strings, "
    "by the number of symbols before the predicted one."
)


def _placed(bench: Bench, runs: ByPositions) -> Placed:
    """Test the two-layer networks again, to tell the positions from each other."""
    bench.report("two layers, position by position")
    chosen = {
        name: list(runs[name, TWO].chosen) if (name, TWO) in runs else [] for name in POSITIONS
    }
    trials = iter(by_position(bench, [record for ones in chosen.values() for record in ones]))
    return {name: [next(trials) for _ in ones] for name, ones in chosen.items()}


def _stretches(trial: Positions | None) -> Row:
    """Return the columns of the data that say how a trial does where."""
    parts = {"to_700": (0, SEEN + 1), "beyond_700": (SEEN + 1, LONGEST + 1)}
    parts |= {f"at_{first}": (first, first + STRETCH) for first in range(0, LONGEST, STRETCH)}
    return {
        f"test_micro_{name}": round(share(trial, *part), 6) if trial else ""
        for name, part in parts.items()
    }


def claims(found: ByPositions, placed: Placed) -> list[Claim]:
    """Check the text's claims about both figures."""
    two = {name: found[name, TWO] for name in POSITIONS if (name, TWO) in found}
    deep = {key: one for key, one in found.items() if key[1] >= TWO}
    shallow = {key: one for key, one in found.items() if key[1] == 1}

    def of_all(layers: Iterable[int], answer: Callable[[Score, float], Answer]) -> Answer:
        """Ask for validation with every encoding and some numbers of layers."""
        trials = (found.get(key) for key in product(POSITIONS, layers))
        return every(answer(one.validation, NEAR_PERFECT) if one else None for one in trials)

    return [
        *(_fails(name, two.get(name)) for name in ("COS", "LEARN")),
        _near_perfect(
            "With two layers, POS/N is near-perfect on the longer test strings",
            "> 95 % (§6.1)",
            two.get("POS/N"),
        ),
        _near_perfect(
            "POS/N stays near-perfect on the longer test strings even with ten layers",
            "§6.1",
            found.get(("POS/N", LAYERS[-1])),
        ),
        _on_positions(placed, two),
        Claim(
            "With two layers or more, all three encodings are near-perfect on validation",
            "Figure 7",
            _worst(deep),
            of_all(LAYERS[1:], at_least),
        ),
        Claim(
            "With one layer, no encoding is near-perfect on validation",
            "Figure 7 (the text says it of two layers or more only)",
            "; ".join(f"{key[0]} {one.score_text('validation')}" for key, one in shallow.items()),
            of_all(LAYERS[:1], at_most),
        ),
        similar_by_distance(
            [
                Lead(f"POS/N and {name}", two["POS/N"], two[name], "test")
                for name in ("COS", "LEARN")
                if {"POS/N", name} <= set(two)
            ],
            of=2,
        ),
    ]


def _fails(name: str, one: Trials | None) -> Claim:
    """Claim that an encoding is near-perfect on the training lengths alone."""
    holds: Answer = None
    if one is not None:
        holds = below(one.test, NEAR_PERFECT) if one.mastered else "cannot tell"
    return Claim(
        f"With two layers, {name} is not near-perfect on the longer test strings",
        "“only POS/N maintains near-perfect accuracy … LEARN and COS fail to generalize” (§6.1)",
        f"{one.score_text('test')}; validation {percent(one.validation.mean)}" if one else "",
        holds,
    )


def _near_perfect(text: str, paper: str, one: Trials | None) -> Claim:
    return Claim(
        text,
        paper,
        f"{one.score_text('test')}; validation {percent(one.validation.mean)}" if one else "",
        one.reaches(NEAR_PERFECT) if one else None,
    )


def _worst(runs: ByPositions) -> str:
    if not runs:
        return ""
    (name, layers), one = min(runs.items(), key=lambda pair: pair[1].validation.mean or 0.0)
    worst = one.score_text("validation")
    return f"{worst} at worst ({name}, L = {layers}), of {plural(len(runs), 'setting')}"


def _on_positions(placed: Placed, two: Mapping[str, Trials]) -> Claim:
    """Hold the paper's reason why two encodings fail against where they do.

    Args:
        placed: by encoding, of each trial.
        two: by encoding, the trials with two layers.
    """
    drops = {
        name: [share(one, 0, SEEN + 1) - share(one, SEEN + 1, LONGEST + 1) for one in trials if one]
        for name, trials in placed.items()
    }
    known = all(trials and all(trials) for trials in placed.values())  # each has its weights
    missing = sum(one.missing for one in two.values())
    learned = all(one.mastered for one in two.values())
    holds: Answer = None
    if known:
        falls = (higher(drops[name], drops["POS/N"], missing=missing) for name in ("COS", "LEARN"))
        holds = every(falls) if learned else "cannot tell"
    return Claim(
        f"Beyond position {SEEN} the accuracy of COS and LEARN falls by more than that of POS/N",
        "“because encodings for position 700 < i ≤ 1400 are not learned (for LEARN) or experienced "
        "(for COS)” (§6.1)",
        "; ".join(
            f"{name} by {', '.join(percent(drop) for drop in some)} points"
            for name, some in drops.items()
        )
        if known
        else "",
        holds,
    )


def _draw(runs: ByPositions, placed: Placed) -> Figure:
    layers = sorted({number for _, number in runs})
    left: list[Series] = []
    right: list[Series] = []
    along = [Series([SEEN, SEEN], [0, 103], GREY, "longest training length", "--", width=0.8)]
    for name, color in COLORS.items():
        ones = {i: runs[name, n] for i, n in enumerate(layers) if (name, n) in runs}
        left += lines_of({i: one.shares("test") for i, one in ones.items()}, name, color)
        right += lines_of({i: one.shares("validation") for i, one in ones.items()}, name, color)
        trials = [trial for trial in placed[name] if trial]
        firsts = range(0, LONGEST, STRETCH) if trials else ()
        parts = {at: [share(trial, at, at + STRETCH) for trial in trials] for at in firsts}
        along += lines_of({at + STRETCH / 2: some for at, some in parts.items()}, name, color)
    ticks: dict[float, str] = {i: str(number) for i, number in enumerate(layers)}
    y, ylim = "close-bracket accuracy (%)", (0.0, 103.0)
    return Figure(
        [
            [
                Panel(left, "(a) test: longer strings", "layers", y, ylim=ylim, xticks=ticks),
                Panel(right, "validation (figure 7)", "layers", ylim=ylim, xticks=ticks),
                Panel(
                    along,
                    "test, two layers, by position",
                    "position",
                    xlim=(0, LONGEST),
                    ylim=ylim,
                ),
            ]
        ]
    )
