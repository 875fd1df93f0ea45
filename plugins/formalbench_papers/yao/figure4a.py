"""Figures 4(a) and 7 of Yao et al. (2021): Dyck-(8, 10), by positions and layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from formalbench.documents.charts import BLUES, GREEN, GREY, ORANGE
from formalbench.documents.text import percent, plural

from formalbench_papers.framework.bench import Bench
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
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.yao.close_brackets import (
    NEAR_PERFECT,
    PAPER,
    REMARKS,
    Lead,
    Trials,
    failed,
    records,
    similar_by_distance,
    told,
    train,
    transformer,
)
from formalbench_papers.yao.figure4 import (
    BUDGET,
    QUICK,
    TASK,
    Positions,
    by_position,
    draw_curve,
    share,
)
from formalbench_papers.yao.specs import LAYERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WIDTH = 30


TWO = 2


QUICK_LAYERS = (1, 2)


POSITIONS = {"COS": "sinusoidal", "LEARN": "learned", "POS/N": "scalar-6000"}
"""The paper's names, and ours."""


COLORS = {"COS": ORANGE, "LEARN": GREEN, "POS/N": BLUES[2]}


SEEN = 700
"""The longest training strings: beyond so many symbols no position was seen."""


LONGEST, STRETCH = 1400, 100
"""The longest test strings, and over how many positions the curve of the figure is a mean."""


ByPositions = Mapping[tuple[str, int], Trials]
"""By the paper's name of the positions, and layers."""


Placed = Mapping[str, Sequence[Positions | None]]
"""By the paper's name of the positions: what each two-layer trial gets right, position by position;
None for a trial without weights."""


ORDER = (2, 10, 1, 3, 4, 5)
"""Numbers of layers, those that decide first."""


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
        for layers in ORDER
        for name, positions in reversed(POSITIONS.items())
    }
    own = bench.choose(QUICK_LAYERS, LAYERS)
    found = train(bench, wanted, lambda key: key[1] in own)
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
    whole = {layers for _, layers in found}
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
    chosen = {
        name: list(found[name, TWO].chosen) if (name, TWO) in found else [] for name in POSITIONS
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
    """Hold the text about both figures against what was measured."""
    two = {name: found[name, TWO] for name in POSITIONS if (name, TWO) in found}
    deep = {key: one for key, one in found.items() if key[1] >= TWO}
    shallow = {key: one for key, one in found.items() if key[1] == 1}
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
            every(at_least(one.validation, NEAR_PERFECT) for one in deep.values()),
        ),
        Claim(
            "With one layer, no encoding is near-perfect on validation",
            "Figure 7 (the text says it of two layers or more only)",
            "; ".join(
                f"{key[0]} {told(one.validation, one.validations)}" for key, one in shallow.items()
            ),
            every(at_most(one.validation, NEAR_PERFECT) for one in shallow.values()),
        ),
        similar_by_distance(
            [
                Lead(f"POS/N and {name}", two["POS/N"], two[name], "test")
                for name in ("COS", "LEARN")
                if {"POS/N", name} <= set(two)
            ]
        ),
    ]


def _fails(name: str, one: Trials | None) -> Claim:
    """Claim that an encoding is near-perfect on the training lengths alone."""
    holds: Answer = None
    if one is not None:
        learned = at_least(one.validation, NEAR_PERFECT) is True
        holds = below(one.test, NEAR_PERFECT) if learned else "cannot tell"
    return Claim(
        f"With two layers, {name} is not near-perfect on the longer test strings",
        "“only POS/N maintains near-perfect accuracy … LEARN and COS fail to generalize” (§6.1)",
        f"{told(one.test, one.tests)}; validation {percent(one.validation.mean)}" if one else "",
        holds,
    )


def _near_perfect(text: str, paper: str, one: Trials | None) -> Claim:
    return Claim(
        text,
        paper,
        f"{told(one.test, one.tests)}; validation {percent(one.validation.mean)}" if one else "",
        one.reaches(NEAR_PERFECT) if one else None,
    )


def _worst(found: ByPositions) -> str:
    if not found:
        return ""
    (name, layers), one = min(found.items(), key=lambda pair: pair[1].validation.mean or 0.0)
    worst = told(one.validation, one.validations)
    return f"{worst} at worst ({name}, L = {layers}), of {plural(len(found), 'setting')}"


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
    missing = sum(one.got.missing for one in two.values())
    learned = all(at_least(one.validation, NEAR_PERFECT) is True for one in two.values())
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
        ones = {i: found[name, n] for i, n in enumerate(layers) if (name, n) in found}
        label = {"label": name, "color": COLORS[name]}
        draw_curve(left, list(ones), [one.tests for one in ones.values()], **label)
        draw_curve(right, list(ones), [one.validations for one in ones.values()], **label)
        trials = [trial for trial in placed[name] if trial]
        firsts = range(0, LONGEST, STRETCH) if trials else ()
        parts = [[share(trial, at, at + STRETCH) for trial in trials] for at in firsts]
        draw_curve(along, [at + STRETCH / 2 for at in firsts], parts, **label)
    for axes in (left, right):
        axes.set(xlabel="layers", ylim=(0, 103), xlim=(-0.3, len(layers) - 0.7))
        axes.set_xticks(range(len(layers)), [str(number) for number in layers])
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
