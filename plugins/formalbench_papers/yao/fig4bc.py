"""Figures 4(b) and 4(c) of Yao et al. (2021): Dyck-(8, 10), Transformer and LSTM by memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from formalbench.analysis.figures import BLUES, GREY, RED

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
from formalbench_papers.yao.fig4 import BUDGET, QUICK, QUICK_LSTM, TASK, draw_curve
from formalbench_papers.yao.specs import WIDTHS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUICK_WIDTHS = (10, 30, 50)

ByModel = Mapping[tuple[str, int], Trials]
"""By model, ``Transformer`` or ``LSTM``, and memory dimension."""


def carry_out(bench: Bench) -> Findings:
    """Train two-layer Transformers and LSTMs of each width."""
    wanted = {
        (model, width): Wanted(
            model, f"d = {width}", name, TASK, bench.choose(quick, PAPER), options
        )
        for width in WIDTHS
        for model, name, options, quick in (
            ("Transformer", "transformer", transformer(width), QUICK),
            ("LSTM", "lstm", {"width": width}, QUICK_LSTM),
        )
    }
    own = bench.choose(QUICK_WIDTHS, WIDTHS)
    every = train(bench, wanted, lambda key: key[1] in own)
    both = {
        width for _, width in every if {(m, width) for m in ("Transformer", "LSTM")} <= {*every}
    }
    found = {key: one for key, one in every.items() if key[1] in both}
    rows = [
        row for (model, width), one in found.items() for row in one.rows(model=model, width=width)
    ]
    remarks = [*REMARKS, *failed(list(found.values())), *bench.choose(_less(both), ())]
    return Findings(
        rows,
        claims(found),
        lambda: _draw(found),
        remarks,
        _cells(found),
        records(found.values()),
    )


def _less(widths: Collection[int]) -> tuple[str, ...]:
    named = ", ".join(map(str, sorted(widths)))
    return (f"Reduced: memory dimensions {named} of 10, 20, … 100; {BUDGET}",)


_FIRST = {
    ("Transformer", 20): 0.9,
    ("LSTM", 40): 0.9,
    ("Transformer", 30): 0.95,
    ("LSTM", 50): 0.95,
}
"""Where each is first above 90 % and above 95 % on the longer test strings (§6.1)."""


def _cells(found: ByModel) -> list[TableCell]:
    cells = []
    for (model, width), least in _FIRST.items():
        one = found.get((model, width))
        ours = percent(one.tests) if one else ""
        held = one.test > least if one else None
        cells.append(TableCell(model, f"d = {width}", f"> {100 * least:.0f} %", ours, held))
    return cells


def claims(found: ByModel) -> list[Claim]:
    """Hold the text about figures 4(b) and 4(c) against what was measured."""
    widths = sorted({width for _, width in found})
    pairs = [(found["Transformer", width], found["LSTM", width]) for width in widths]
    ahead = [one.validation - other.validation for one, other in pairs]
    gaps = [f"d = {d}: {100 * gap:+.1f}" for d, gap in zip(widths, ahead, strict=True)]
    firsts = {
        (model, least): min(
            (width for width in widths if found[model, width].test > least), default=None
        )
        for model in ("Transformer", "LSTM")
        for least in (0.9, 0.95)
    }
    transformers, lstms = firsts["Transformer", 0.95], firsts["LSTM", 0.95]
    return [
        Claim(
            "The Transformer is better than the LSTM on validation at every memory dimension",
            "Figure 4(b)",
            f"in points, {', '.join(gaps)}",
            min(ahead) > 0,
        ),
        Claim(
            "On the longer test strings the Transformer is above 95 % with less memory than the "
            "LSTM",
            "d = 30 against 50 (§6.1)",
            f"d = {transformers or 'none'} against {lstms or 'none'}, of those tried",
            transformers is not None and (lstms is None or transformers < lstms),
        ),
        Claim(
            "It is above 90 % at d = 20 first, the LSTM at 40",
            "§6.1",
            f"d = {firsts['Transformer', 0.9] or 'none'} and {firsts['LSTM', 0.9] or 'none'}",
            (firsts["Transformer", 0.9], firsts["LSTM", 0.9]) == (20, 40)
            if {20, 40} <= set(widths)
            else None,
        ),
    ]


def _draw(found: ByModel) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.set(title="(b) validation", ylabel="close-bracket accuracy (%)")
    right.set(title="(c) test: longer strings")
    widths = sorted({width for _, width in found})
    for model, color in (("Transformer", BLUES[2]), ("LSTM", RED)):
        ones = [found[model, width] for width in widths]
        draw_curve(left, widths, [one.validations for one in ones], label=model, color=color)
        draw_curve(right, widths, [one.tests for one in ones], label=model, color=color)
    for axes in (left, right):
        axes.axhline(95, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set(xlabel="memory dimension", ylim=(0, 103), xticks=widths)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
