"""Figures 5 and 8 of Yao et al. (2021): Transformer and LSTM on many Dyck-(k, D)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from formalbench.analysis.figures import BLUES, GREEN, RED

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Claim, Findings, TableCell
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.yao.close_brackets import (
    PAPER,
    REMARKS,
    Trials,
    failed,
    percent,
    records,
    train,
    transformer,
)
from formalbench_papers.yao.specs import DEPTHS, TYPES, point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUICK = "yao-fig5-quick"
WIDTHS = (10, 30, 50)
HARD = ((32, 15), (128, 10), (128, 15))
"""The languages on which the paper's LSTM stays below 80 %."""

MODELS = {"Transformer": BLUES[2], "LSTM": RED, "Transformer, 5 layers": GREEN}
TWO, LSTM, FIVE = MODELS

SIMILAR = 0.02
"""Within how many points five layers count as similar to two; the paper gives no number."""


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


def settings(bench: Bench) -> Iterator[DyckSetting]:
    """Name every setting of the paper; five layers of one width only, at the scale quick."""
    for model, k, depth, width in product(MODELS, TYPES, DEPTHS, WIDTHS):
        if model != FIVE or width == 30 or bench.scale == "paper":
            yield DyckSetting(model, k, depth, width)


def wanted(setting: DyckSetting, protocol: str, seeds: int) -> Wanted:
    """Return the runs of a setting."""
    model, types, depth, width = setting
    layers = 5 if model == FIVE else 2
    name, options = (
        ("lstm", {"width": width}) if model == LSTM else ("transformer", transformer(width, layers))
    )
    task = f"dyck-{types}-{depth}:generate"
    return Wanted(
        f"{model}, d = {width}", point(types, depth), name, task, protocol, options, seeds=seeds
    )


def carry_out(bench: Bench) -> Findings:
    """Train every model on every language at every width."""
    protocol = bench.choose(QUICK, PAPER)
    trials = {model: bench.choose(1 if model == FIVE else 2, 2) for model in MODELS}
    languages = bench.choose(QUICK_LANGUAGES, tuple(product(TYPES, DEPTHS)))
    found = train(
        bench,
        {one: wanted(one, protocol, trials[one.model]) for one in settings(bench)},
        lambda one: (one.types, one.depth) in languages,
    )
    best = best_settings(found)
    rows = [row for one, outcome in found.items() for row in outcome.rows(**one._asdict())]
    remarks = [*REMARKS, *failed(list(found.values())), *bench.choose(_less(best), ())]
    return Findings(
        rows, claims(best), lambda: _draw(best), remarks, cells(best), records(found.values())
    )


def _less(best: Best) -> tuple[str, ...]:
    there = sorted({(k, depth) for _, k, depth in best})
    named = "; ".join(point(k, depth) for k, depth in there)
    return (f"Reduced: {len(there)} of 16 languages ({named}); {_BUDGET}",)


_BUDGET = (
    "one learning rate, 0.005, in place of the better of 0.01 and 0.001; at most 5·10⁶ training "
    "tokens, each seen once, where the paper has up to 100 epochs of 2·10⁶; five layers with d = "
    "30 only, in one trial; 5·10⁴ validation tokens of 2·10⁵ and 2·10⁵ test tokens of 10⁶."
)


def best_settings(found: Found) -> Best:
    """Choose the memory dimension of each model on each language by validation alone."""
    best: dict[tuple[str, int, int], Trials] = {}
    for (model, k, depth, _), one in found.items():
        before = best.get((model, k, depth))
        if before is None or one.validation > before.validation:
            best[model, k, depth] = one
    return best


def cells(best: Best) -> list[TableCell]:
    """Return the bounds that the text gives, language by language."""
    every = []
    for k, depth in product(TYPES, DEPTHS):
        column = point(k, depth)
        one, other = best.get((TWO, k, depth)), best.get((LSTM, k, depth))
        for split, least in (("validation", 0.999), ("test", 0.94)):
            text = f"> {100 * least:.1f}".removesuffix(".0") + " %"
            ours, share = _of(one, split)
            held = None if share is None else share > least
            every.append(TableCell(f"{TWO}, {split}", column, text, ours, held))
            ours, share = _of(other, split)
            hard = (k, depth) in HARD
            below = share < 0.8 if hard and share is not None else None
            if hard:
                every.append(TableCell(f"{LSTM}, {split}", column, "< 80 %", ours, below))
    return every


def _of(one: Trials | None, split: str) -> tuple[str, float | None]:
    if one is None:
        return "", None
    values, mean = (
        (one.validations, one.validation) if split == "validation" else (one.tests, one.test)
    )
    return f"{percent(values)}, d = {one.wanted.model_options['width']}", mean


def claims(best: Best) -> list[Claim]:
    """Hold the text of section 6.2 and appendix D.2 against what was measured."""
    two = [one for (model, _, _), one in best.items() if model == TWO]
    pairs = [
        (one, best[LSTM, k, depth])
        for (model, k, depth), one in best.items()
        if model == TWO and (LSTM, k, depth) in best
    ]
    five = {key[1:]: one for key, one in best.items() if key[0] == FIVE}
    hard = [best[LSTM, k, depth] for k, depth in HARD if (LSTM, k, depth) in best]
    gaps = [
        one.test - best[TWO, k, depth].test
        for (k, depth), one in five.items()
        if (TWO, k, depth) in best
    ]
    worst = (min(one.validation for one in two), min(one.test for one in two))
    ahead = sum(one.test >= other.test for one, other in pairs)
    return [
        Claim(
            "The Transformer is above 99.9 % on validation on all languages",
            "§6.2",
            f"{100 * worst[0]:.2f} % at worst, over {len(two)} languages",
            worst[0] > 0.999,
        ),
        Claim(
            "The Transformer is above 94 % on the longer test strings of all languages",
            "§6.2",
            f"{100 * worst[1]:.1f} % at worst, over {len(two)} languages",
            worst[1] > 0.94,
        ),
        Claim(
            "The LSTM is below 80 % on validation and test where k and D are large",
            "(k, D) = (32, 15), (128, 10), (128, 15) (§6.2)",
            ", ".join(f"{100 * max(o.validation, o.test):.1f} %" for o in hard),
            all(max(o.validation, o.test) < 0.8 for o in hard) if hard else None,
        ),
        Claim(
            "The Transformer is at least as good as the LSTM on the longer test strings",
            "Figure 5 (the text compares them at large k and D)",
            f"on {ahead} of {len(pairs)} languages",
            ahead == len(pairs),
        ),
        Claim(
            "Five layers do about as well as two on the longer test strings",
            "Figure 8",
            f"{100 * min(gaps):+.1f} to {100 * max(gaps):+.1f} points" if gaps else "",
            max(map(abs, gaps)) <= SIMILAR if gaps else None,
        ),
    ]


def _draw(best: Best) -> Figure:
    """Draw a panel for each k and split, D along the axis."""
    from matplotlib.figure import Figure

    types = sorted({k for _, k, _ in best})
    figure = Figure(figsize=(2.6 + 2.3 * len(types), 5.2), layout="constrained")
    panels = figure.subplots(2, len(types), sharex=True, sharey=True, squeeze=False)
    for row, split in zip(panels, ("validation", "test"), strict=True):
        row[0].set_ylabel(f"{split}: accuracy (%)")
        for axes, k in zip(row, types, strict=True):
            _draw_panel(axes, split, {key[::2]: one for key, one in best.items() if key[1] == k})
    for axes, k in zip(panels[0], types, strict=True):
        axes.set_title(f"k = {k}")
    for axes in panels[1]:
        axes.set_xlabel("depth D")
    handles = panels[0][0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(handles[1]))
    return figure


def _draw_panel(axes: Axes, split: str, best: Mapping[tuple[str, int], Trials]) -> None:
    depths = sorted({depth for _, depth in best})
    for model, color in MODELS.items():
        there: Sequence[int] = [depth for depth in depths if (model, depth) in best]
        ones = [best[model, depth] for depth in there]
        means = [100 * (one.validation if split == "validation" else one.test) for one in ones]
        places = [depths.index(depth) for depth in there]
        style = "s--" if model == FIVE else "o-"
        axes.plot(places, means, style, color=color, label=model)
    axes.set(ylim=(0, 103), xlim=(-0.4, len(depths) - 0.6))
    axes.set_xticks(range(len(depths)), [str(depth) for depth in depths])
