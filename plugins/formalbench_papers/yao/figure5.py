"""Figures 5 and 8 of Yao et al. (2021): Transformer and LSTM on many Dyck-(k, D)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from formalbench.documents.charts import BLUES, GREEN, RED
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent, plural
from formalbench.metrics.close_brackets import MICRO

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import (
    Answer,
    Claim,
    Findings,
    TableCell,
    at_least,
    below,
    every,
    opposite,
)
from formalbench_papers.framework.runs import CellPlan, records_of
from formalbench_papers.index import experiment
from formalbench_papers.yao import SOURCE
from formalbench_papers.yao.close_brackets import (
    DEEP,
    PAPER,
    REMARKS,
    Lead,
    Trials,
    failed,
    similar_by_distance,
    train,
    transformer,
)

TYPES, DEPTHS = (2, 8, 32, 128), (3, 5, 10, 15)
"""The languages of Figures 5 and 8."""

QUICK = "yao-fig5-quick"

WIDTHS = (10, 30, 50)

HARD = ((32, 15), (128, 10), (128, 15))
"""The languages on which the paper's LSTM stays below 80 %."""

SPLITS = ("validation", "test")

MODELS = {"Transformer": BLUES[2], "LSTM": RED, "Transformer, 5 layers": GREEN}

TWO, LSTM, FIVE = MODELS

DEGRADED = 0.02
"""By how much less five layers must have than two to be degraded; the paper gives no number."""


def point(types: int, depth: int) -> str:
    """Name a language, as a point of Figure 5."""
    return f"k = {types}, D = {depth}"


class DyckSetting(NamedTuple):
    """One setting of a model on a language."""

    model: str
    types: int
    depth: int
    width: int


Found = Mapping[DyckSetting, Trials]

Best = Mapping[tuple[str, int, int], Trials]
"""By model, types and depth: the memory dimension that validation chose."""

QUICK_LANGUAGES = ((2, 3), (2, 5), (8, 3), (8, 5))
"""The languages that the scale quick has at every width; the hard ones have one width there."""


def settings(bench: Bench) -> Iterator[DyckSetting]:
    """Name every setting of the paper, the languages and widths that decide first.

    At the scale quick, five layers have one width only.
    """
    rest = [one for one in product(TYPES, DEPTHS) if one not in HARD]
    for (k, depth), width, model in product((*HARD, *rest), reversed(WIDTHS), MODELS):
        if model != FIVE or width == 30 or bench.scale == "paper":
            yield DyckSetting(model, k, depth, width)


def wanted(setting: DyckSetting, protocol: str) -> CellPlan:
    """Return the runs of a setting."""
    model, types, depth, width = setting
    layers = 5 if model == FIVE else 2
    name, options = (
        ("lstm", {"width": width}) if model == LSTM else ("transformer", transformer(width, layers))
    )
    task, column = f"dyck-{types}-{depth}:generate", point(types, depth)
    row = f"{model}, d = {width}"
    cells = tuple((one, column) for one in (row, f"{model}, validation", f"{model}, test"))
    return CellPlan(row, column, name, task, protocol, options, cells=cells)


@experiment(
    "yao-fig5",
    "Transformer and LSTM on Dyck-(k, D)",
    f"{SOURCE}, Figures 5 and 8",
    about="Share of close brackets predicted with confidence on the training lengths (validation) "
    "and on strings up to twice as long (test), at the memory dimension (10, 30 or 50) that "
    "validation chose: a two-layer Transformer with positions i/6000, a one-layer LSTM, and "
    "the five-layer Transformer of Figure 8.",
    reduced="trained are k = 2 and 8 with D = 3 and 5 of the four by four languages, and with d = "
    "50 the three on which the paper's LSTM fails (`--only 'k = 32, D = 10'` trains another); one "
    "learning rate, 0.005, instead of two; 5,000 steps of 1,024 fresh tokens instead of up to 100 "
    "passes over 2,000,000; five layers with one memory dimension; 50,000 tokens of validation "
    "instead of 200,000, and 200,000 of test instead of 1,000,000.",
    core_hours=(2.7, 320),
)
def carry_out(bench: Bench) -> Findings:
    """Train every model on every language at every width."""
    runs = train(
        bench,
        {
            one: wanted(one, bench.choose(QUICK, DEEP if one.depth == max(DEPTHS) else PAPER))
            for one in settings(bench)
        },
        lambda one: bench.scale == "paper" or _is_quick(one),
    )
    best = best_settings(runs)
    rows = [row for one, outcome in runs.items() for row in outcome.rows(**one._asdict())]
    remarks = [*REMARKS, _TRIALS, *failed(runs.values()), *bench.choose(_less(runs), ())]
    return Findings(
        rows, claims(runs), lambda: _draw(best), remarks, cells(best), records_of(runs.values())
    )


def _is_quick(one: DyckSetting) -> bool:
    """Whether a setting belongs to the scale quick."""
    if (one.types, one.depth) in HARD:
        return one.width == max(WIDTHS) and one.model != FIVE
    return (one.types, one.depth) in QUICK_LANGUAGES


_TRIALS = (
    "The paper has two trials of each setting; here three are planned, since two decide nothing by "
    "themselves."
)


def _less(runs: Found) -> tuple[str, ...]:
    widths: dict[tuple[int, int], set[int]] = {}
    for one in runs:
        if one.model != FIVE:
            widths.setdefault((one.types, one.depth), set()).add(one.width)
    named = "; ".join(
        point(*language)
        + (f" with d = {', '.join(map(str, sorted(some)))} only" if len(some) < len(WIDTHS) else "")
        for language, some in sorted(widths.items())
    )
    return (f"Reduced: {len(widths)} of 16 languages ({named}); {_BUDGET}",)


_BUDGET = (
    "one learning rate, 0.005, in place of the better of 0.01 and 0.001; at most 5·10⁶ training "
    "tokens, each seen once, where the paper has up to 100 epochs of 2·10⁶; five layers with d = "
    "30 only; 5·10⁴ validation tokens of 2·10⁵ and 2·10⁵ test tokens of 10⁶."
)


def best_settings(found: Found) -> Best:
    """Choose the memory dimension of each model on each language by validation alone."""
    best: dict[tuple[str, int, int], Trials] = {}
    for (model, k, depth, _), one in found.items():
        before = best.get((model, k, depth))
        if before is None or (one.validation.mean or 0.0) > (before.validation.mean or 0.0):
            best[model, k, depth] = one
    return best


def cells(best: Best) -> list[TableCell]:
    """Return the bounds that the text gives, language by language."""
    table = []
    for k, depth in product(TYPES, DEPTHS):
        one, other = best.get((TWO, k, depth)), best.get((LSTM, k, depth))
        for split, least in (("validation", 0.999), ("test", 0.94)):
            text = f"> {100 * least:.1f}".removesuffix(".0") + " %"
            holds: Answer = None
            if one is not None:
                reached = at_least(one.validation, least)
                holds = one.reaches(least) if split == "test" else reached
            column = point(k, depth)
            table.append(TableCell(f"{TWO}, {split}", column, text, _of(one, split), holds))
            if (k, depth) in HARD:
                holds = None if other is None else below(other.score(split), 0.8)
                table.append(
                    TableCell(f"{LSTM}, {split}", column, "< 80 %", _of(other, split), holds)
                )
    return table


def _of(one: Trials | None, split: str) -> str:
    return f"{one.score_text(split)}, d = {one.plan.model_options['width']}" if one else ""


def claims(found: Found) -> list[Claim]:
    """Check the claims of section 6.2 and appendix D.2."""
    best = best_settings(found)
    two = {key[1:]: one for key, one in best.items() if key[0] == TWO}
    hard = {key: best[LSTM, *key] for key in HARD if (LSTM, *key) in best}
    deeper = [
        Lead(f"{point(k, depth)}, d = {width}", five, shallow, "test")
        for k, depth, width in product(TYPES, DEPTHS, WIDTHS)
        if (five := found.get(DyckSetting(FIVE, k, depth, width))) is not None
        and (shallow := found.get(DyckSetting(TWO, k, depth, width))) is not None
    ]
    languages = len(TYPES) * len(DEPTHS)
    return [
        Claim(
            "The Transformer is above 99.9 % on validation on all languages",
            "§6.2",
            _least(two, "validation"),
            every((at_least(one.validation, 0.999) for one in two.values()), of=languages),
        ),
        Claim(
            "The Transformer is above 94 % on the longer test strings of all languages",
            "§6.2",
            _least(two, "test"),
            every((one.reaches(0.94) for one in two.values()), of=languages),
        ),
        Claim(
            "The LSTM is below 80 % on validation and test where k and D are large",
            "(k, D) = (32, 15), (128, 10), (128, 15) (§6.2)",
            "; ".join(
                f"{point(*key)}: validation {_of(one, 'validation')}, test {_of(one, 'test')}"
                for key, one in hard.items()
            ),
            every(
                (below(one.score(split), 0.8) for one in hard.values() for split in SPLITS),
                of=len(HARD) * len(SPLITS),
            ),
        ),
        Claim(
            f"Five layers are not degraded: at the same memory dimension no {percent(DEGRADED, 0)} "
            "points below two on the longer test strings",
            "“without overfitting or degraded performance” (Figure 8, appendix D.2)",
            ", ".join(f"{one.said}: {one.gap(MICRO):+.1f}" for one in deeper),
            every(
                (opposite(one.behind.higher(one.ahead, "test", DEGRADED)) for one in deeper),
                of=languages * len(WIDTHS),
            ),
        ),
        similar_by_distance(
            [
                Lead(point(*key), two[key], lstm, split)
                for key, lstm in hard.items()
                if key in two
                for split in SPLITS
            ],
            of=len(HARD) * len(SPLITS),
        ),
    ]


def _least(runs: Mapping[tuple[int, int], Trials], split: str) -> str:
    if not runs:
        return ""
    key, one = min(runs.items(), key=lambda pair: pair[1].score(split).mean or 0.0)
    return f"{_of(one, split)} at worst ({point(*key)}), of {plural(len(runs), 'language')}"


def _draw(best: Best) -> Figure:
    """Draw a panel for each k and split, D along the axis."""
    depths = sorted({depth for _, _, depth in best})

    def panel(split: str, k: int) -> Panel:
        lines = []
        for model, color in MODELS.items():
            trained = [depth for depth in depths if (model, k, depth) in best]
            means = [100 * (best[model, k, d].score(split).mean or 0.0) for d in trained]
            style = "s--" if model == FIVE else "o-"
            lines.append(Series([depths.index(d) for d in trained], means, color, model, style))
        return Panel(
            lines,
            title=f"k = {k}",
            x="depth D",
            y=f"{split}: accuracy (%)",
            ylim=(0, 103),
            xticks={place: str(depth) for place, depth in enumerate(depths)},
        )

    types = sorted({k for _, k, _ in best})
    return Figure([[panel(split, k) for k in types] for split in SPLITS])
