"""Figures 4(a) and 7 of Yao et al. (2021): Dyck-(8, 10), by positions and layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from formalbench.analysis.figures import BLUES, GREEN, GREY, ORANGE

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Claim, Findings, Row
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.yao.by_position import Positions, by_position, share
from formalbench_papers.yao.close_brackets import (
    NEAR_PERFECT,
    PAPER,
    REMARKS,
    Trials,
    failed,
    percent,
    records,
    train,
    transformer,
)
from formalbench_papers.yao.fig4 import BUDGET, QUICK, TASK, draw_curve
from formalbench_papers.yao.specs import LAYERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 30
TWO = 2
QUICK_LAYERS = (1, 2)

POSITIONS = {"COS": "sinusoidal", "LEARN": "learned", "POS/N": "scalar-6000"}
"""The paper's names, and ours."""

COLORS = {"COS": ORANGE, "LEARN": GREEN, "POS/N": BLUES[2]}
MARGIN = 0.2
"""By how much POS/N must beat the others where the paper says that only it generalizes."""

SEEN = 700
"""The longest training strings: beyond so many symbols no position was seen."""

LONGEST, STRETCH = 1400, 100
"""The longest test strings, and over how many positions the curve of the figure is a mean."""

ByPositions = Mapping[tuple[str, int], Trials]
"""By the paper's name of the positions, and layers."""

Placed = Mapping[str, Sequence[Positions | None]]
"""By the paper's name of the positions: what each two-layer trial gets right, position by position;
None for a trial without weights."""


def carry_out(bench: Bench) -> Findings:
    """Train Transformers with each positional encoding and number of layers."""
    protocol = bench.choose(QUICK, PAPER)
    wanted = {
        (name, layers): Wanted(
            name,
            f"L = {layers}",
            "transformer",
            TASK,
            protocol,
            transformer(WIDTH, layers, positions),
        )
        for layers in LAYERS
        for name, positions in POSITIONS.items()
    }
    own = bench.choose(QUICK_LAYERS, LAYERS)
    every = train(bench, wanted, lambda key: key[1] in own)
    whole = {layers for _, layers in every if {(name, layers) for name in POSITIONS} <= {*every}}
    found = {key: one for key, one in every.items() if key[1] in whole}
    placed = _placed(bench, found)
    rows = [
        {**row, **_stretches(trial)}
        for (name, layers), one in found.items()
        for row, trial in zip(
            one.rows(positions=name, layers=layers, width=WIDTH),
            placed[name] if layers == TWO else [None] * len(one.chosen),
            strict=True,
        )
    ]
    return Findings(
        rows,
        claims(found, placed),
        lambda: _draw(found, placed),
        [*REMARKS, _ON_POSITIONS, *failed(list(found.values())), *bench.choose(_less(whole), ())],
        records=records(found.values()),
    )


_ON_POSITIONS = (
    "Most of a test string of 701 to 1,400 symbols is no further from its beginning than training "
    "strings reach: the curve by position tells the parts from each other. It is of the two-layer "
    "networks, on all test strings, counted where so many symbols stand before the one asked for."
)


def _less(layers: Collection[int]) -> tuple[str, ...]:
    named = ", ".join(map(str, sorted(layers)))
    return (f"Reduced: layers {named} of 1, 2, 3, 4, 5, 10; {BUDGET}",)


def _placed(bench: Bench, found: ByPositions) -> Placed:
    """Test the two-layer networks again, to tell the positions from each other."""
    bench.report("two layers, position by position")
    chosen = {name: found[name, TWO].chosen for name in POSITIONS}
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
    """Hold the text about both figures against what was measured."""
    two = {name: found[name, TWO] for name in POSITIONS}
    deep = [one for (_, layers), one in found.items() if layers >= TWO]
    shallow = [found[name, 1] for name in POSITIONS]
    scalar = {layers: one for (name, layers), one in found.items() if name == "POS/N"}
    ten = scalar.get(LAYERS[-1])
    tests = {name: one.tests for name, one in two.items()}
    return [
        Claim(
            "With two layers, POS/N is at least 20 points above COS and LEARN on the longer test "
            "strings",
            "Figure 4(a)",
            _each(tests),
            _ahead(tests) >= MARGIN,
        ),
        Claim(
            "With two layers, POS/N is near-perfect on the longer test strings",
            "> 95 % (§6.1)",
            percent(two["POS/N"].tests),
            two["POS/N"].test > NEAR_PERFECT,
        ),
        *_claims_on_positions(placed),
        Claim(
            "With two layers or more, all three encodings are near-perfect on validation",
            "Figure 7",
            f"{100 * min(one.validation for one in deep):.1f} % at worst",
            min(one.validation for one in deep) > NEAR_PERFECT,
        ),
        Claim(
            "With one layer, no encoding is near-perfect on validation",
            "Figure 7 (the text says it of two layers or more only)",
            f"{100 * max(one.validation for one in shallow):.1f} % at best",
            max(one.validation for one in shallow) <= NEAR_PERFECT,
        ),
        Claim(
            "POS/N stays near-perfect on the longer test strings even with ten layers",
            "§6.1",
            percent(ten.tests) if ten else "",
            ten.test > NEAR_PERFECT if ten else None,
        ),
    ]


def _claims_on_positions(placed: Placed) -> list[Claim]:
    """Hold the paper's reason why two encodings fail against where they do."""
    seen, unseen = (
        {name: [share(one, *part) for one in trials if one] for name, trials in placed.items()}
        for part in ((0, SEEN + 1), (SEEN + 1, LONGEST + 1))
    )
    known = all(all(trials) for trials in placed.values())  # each trial has its weights
    reason = "§6.1: codes of 700 < i ≤ 1400 are not learned, or not experienced"
    return [
        Claim(
            "At positions beyond 700 alone, POS/N is at least 20 points above COS and LEARN",
            reason,
            _each(unseen) if known else "",
            _ahead(unseen) >= MARGIN if known else None,
        ),
        Claim(
            "At positions up to 700 of the same strings, all three are near-perfect",
            reason,
            _each(seen) if known else "",
            min(map(fmean, seen.values())) > NEAR_PERFECT if known else None,
        ),
    ]


def _ahead(shares: Mapping[str, Sequence[float]]) -> float:
    """Return how far POS/N is above the better of the others."""
    return fmean(shares["POS/N"]) - max(fmean(shares[name]) for name in ("COS", "LEARN"))


def _each(shares: Mapping[str, Sequence[float]]) -> str:
    return "; ".join(f"{name} {percent(ones)}" for name, ones in shares.items())


def _draw(found: ByPositions, placed: Placed) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.4, 3.9), layout="constrained")
    left, right, along = figure.subplots(1, 3, sharey=True, width_ratios=(2, 2, 3))
    left.set(title="(a) test: longer strings", ylabel="close-bracket accuracy (%)")
    right.set(title="validation (figure 7)")
    along.set(title="test, two layers, by position", xlabel="position", xlim=(0, LONGEST))
    along.axvline(SEEN, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    along.text(SEEN - 15, 3, "longest training string", ha="right", color=GREY, fontsize=8)
    layers = sorted({number for _, number in found})
    for name in POSITIONS:
        ones = [found[name, number] for number in layers]
        label = {"label": name, "color": COLORS[name]}
        draw_curve(left, range(len(layers)), [one.tests for one in ones], **label)
        draw_curve(right, range(len(layers)), [one.validations for one in ones], **label)
        trials = [trial for trial in placed[name] if trial]
        firsts = range(0, LONGEST, STRETCH) if trials else ()
        parts = [[share(trial, at, at + STRETCH) for trial in trials] for at in firsts]
        draw_curve(along, [at + STRETCH / 2 for at in firsts], parts, **label)
    for axes in (left, right):
        axes.set(xlabel="layers", ylim=(0, 103), xlim=(-0.3, len(layers) - 0.7))
        axes.set_xticks(range(len(layers)), [str(number) for number in layers])
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
