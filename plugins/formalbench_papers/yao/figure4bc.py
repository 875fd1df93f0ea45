"""Figures 4(b) and 4(c) of Yao et al. (2021): Dyck-(8, 10), Transformer and LSTM by memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from statistics import fmean
from typing import TYPE_CHECKING

from formalbench.documents.charts import BLUES, GREY, RED
from formalbench.documents.text import percent

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings, TableCell, at_most, every
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.yao.close_brackets import (
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
from formalbench_papers.yao.figure4 import BUDGET, QUICK, QUICK_LSTM, TASK, draw_curve
from formalbench_papers.yao.specs import WIDTHS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


QUICK_WIDTHS = (10, 30, 50)


ORDER = (30, 50, 20, 40, 10, *WIDTHS[5:])
"""Dimensions, those that decide first."""


ByModel = Mapping[tuple[str, int], Trials]
"""By model, ``Transformer`` or ``LSTM``, and memory dimension."""


def carry_out(bench: Bench) -> Findings:
    """Train two-layer Transformers and LSTMs of each width."""
    wanted = {
        (model, width): Wanted(
            model, f"d = {width}", name, TASK, bench.choose(quick, PAPER), options
        )
        for width in ORDER
        for model, name, options, quick in (
            ("Transformer", "transformer", transformer(width), QUICK),
            ("LSTM", "lstm", {"width": width}, QUICK_LSTM),
        )
    }
    own = bench.choose(QUICK_WIDTHS, WIDTHS)
    found = train(bench, wanted, lambda key: key[1] in own)
    rows = [
        row for (model, width), one in found.items() for row in one.rows(model=model, width=width)
    ]
    widths = {width for _, width in found}
    remarks = [*REMARKS, *failed(list(found.values())), *bench.choose(_less(widths), ())]
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
        ours = told(one.test, one.tests) if one else ""
        holds = one.reaches(least) if one else None
        cells.append(TableCell(model, f"d = {width}", f"> {100 * least:.0f} %", ours, holds))
    return cells


def claims(found: ByModel) -> list[Claim]:
    """Hold the text about figures 4(b) and 4(c) against what was measured."""
    pairs = {
        width: (one, found["LSTM", width])
        for (model, width), one in sorted(found.items())
        if model == "Transformer" and ("LSTM", width) in found
    }
    return [
        Claim(
            "The Transformer is better than the LSTM on validation at every memory dimension",
            "“consistently outperforms” (§6.1; Figure 4(b))",
            ", ".join(
                f"d = {width}: "
                f"{100 * (fmean(ours.validations) - fmean(theirs.validations)):+.1f} points"
                for width, (ours, theirs) in pairs.items()
            ),
            every(ours.higher(theirs, "validation") for ours, theirs in pairs.values()),
        ),
        *(_is_first(found, *key, least) for key, least in _FIRST.items()),
        similar_by_distance(
            [Lead(f"d = {width}", *pair, "validation") for width, pair in pairs.items()]
        ),
    ]


def _is_first(found: ByModel, model: str, first: int, least: float) -> Claim:
    """Claim that a model is above a share with some memory, and with no less."""
    smaller = {w: one for (m, w), one in sorted(found.items()) if m == model and w < first}
    one = found.get((model, first))
    shown = [*smaller.items(), *([(first, one)] if one else [])]
    return Claim(
        f"On the longer test strings the {model} is above {percent(least, 0)} % at d = {first}, "
        "and at no smaller dimension",
        f"“first achieve” (§6.1): d = {first}",
        ", ".join(f"d = {width}: {percent(o.test.mean)} %" for width, o in shown) if one else "",
        every([one.reaches(least), *(at_most(o.test, least) for o in smaller.values())])
        if one
        else None,
    )


def _draw(found: ByModel) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.set(title="(b) validation", ylabel="close-bracket accuracy (%)")
    right.set(title="(c) test: longer strings")
    widths = sorted({width for _, width in found})
    for model, color in (("Transformer", BLUES[2]), ("LSTM", RED)):
        ones = {width: found[model, width] for width in widths if (model, width) in found}
        style = {"label": model, "color": color}
        draw_curve(left, list(ones), [one.validations for one in ones.values()], **style)
        draw_curve(right, list(ones), [one.tests for one in ones.values()], **style)
    for axes in (left, right):
        axes.axhline(95, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set(xlabel="memory dimension", ylim=(0, 103), xticks=widths)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
