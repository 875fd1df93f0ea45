"""Figures 4(b) and 4(c) of Yao et al. (2021): Dyck-(8, 10), Transformer and LSTM by memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formalbench.documents.charts import BLUES, RED
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent
from formalbench.metrics.close_brackets import MICRO

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings, TableCell, at_most, every
from formalbench_papers.framework.runs import CellPlan, records_of
from formalbench_papers.index import experiment
from formalbench_papers.yao import SOURCE
from formalbench_papers.yao.close_brackets import (
    BUDGET,
    FIGURE_4,
    PAPER,
    QUICK,
    QUICK_LSTM,
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

WIDTHS = tuple(range(10, 101, 10))
"""The memory dimensions of Figure 4(b) and 4(c)."""

QUICK_WIDTHS = {"Transformer": (10, 20, 30), "LSTM": (30, 40, 50)}
"""Those that the text names for each model, and the next smaller ones."""

ORDER = (30, 50, 20, 40, 10, *WIDTHS[5:])
"""Dimensions, those that decide first."""

ByModel = Mapping[tuple[str, int], Trials]
"""By model, ``Transformer`` or ``LSTM``, and memory dimension."""


@experiment(
    "yao-fig4bc",
    "The memory that a Transformer and an LSTM need on Dyck-(8, 10)",
    f"{SOURCE}, Figures 4(b) and 4(c)",
    about="Share of close brackets predicted with confidence by a two-layer Transformer with "
    "positions i/6000 and by a one-layer LSTM, against the memory dimension, on the "
    "training lengths (validation) and on 701 to 1,400 symbols (test). Dots are trials, "
    "the dashed line is 95 %.",
    reduced="memory dimensions 10, 20 and 30 for the Transformer and 30, 40 and 50 for the LSTM "
    f"instead of ten up to 100 (`--only 'd = 60'` trains one); {REDUCED}.",
    core_hours=(5.5, 45),
)
def carry_out(bench: Bench) -> Findings:
    """Train two-layer Transformers and LSTMs of each width."""
    plans = {
        (model, width): CellPlan(
            model, f"d = {width}", name, FIGURE_4, bench.choose(quick, PAPER), options
        )
        for width in ORDER
        for model, name, options, quick in (
            ("Transformer", "transformer", transformer(width), QUICK),
            ("LSTM", "lstm", {"width": width}, QUICK_LSTM),
        )
    }
    runs = train(bench, plans, lambda key: bench.scale == "paper" or key[1] in QUICK_WIDTHS[key[0]])
    rows = [
        row for (model, width), one in runs.items() for row in one.rows(model=model, width=width)
    ]
    less = f"Reduced: memory dimensions ({sizes_text(runs)}) of 10, 20, … 100; {BUDGET}"
    remarks = [*REMARKS, *failed(runs.values()), *bench.choose([less], [])]
    return Findings(
        rows,
        claims(runs),
        lambda: _draw(runs),
        remarks,
        _cells(runs),
        records_of(runs.values()),
    )


_FIRST = {
    ("Transformer", 20): 0.9,
    ("LSTM", 40): 0.9,
    ("Transformer", 30): 0.95,
    ("LSTM", 50): 0.95,
}
"""Where each is first above 90 % and above 95 % on the longer test strings (§6.1)."""


def _cells(runs: ByModel) -> list[TableCell]:
    cells = []
    for (model, width), least in _FIRST.items():
        one = runs.get((model, width))
        ours = one.score_text("test") if one else ""
        holds = one.reaches(least) if one else None
        cells.append(TableCell(model, f"d = {width}", f"> {100 * least:.0f} %", ours, holds))
    return cells


def claims(found: ByModel) -> list[Claim]:
    """Check the text's claims about figures 4(b) and 4(c)."""
    leads = [
        Lead(f"d = {width}", found["Transformer", width], found["LSTM", width], "validation")
        for width in WIDTHS
        if {("Transformer", width), ("LSTM", width)} <= set(found)
    ]
    return [
        Claim(
            "The Transformer is better than the LSTM on validation at every memory dimension",
            "“consistently outperforms” (§6.1; Figure 4(b))",
            ", ".join(f"{one.said}: {one.gap(MICRO):+.1f} points" for one in leads),
            every((one.ahead.higher(one.behind, one.split) for one in leads), of=len(WIDTHS)),
        ),
        *(_is_first(found, *key, least) for key, least in _FIRST.items()),
        similar_by_distance(leads, of=len(WIDTHS)),
    ]


def _is_first(runs: ByModel, model: str, first: int, least: float) -> Claim:
    """Claim that a model is above a share with some memory, and with no less."""
    smaller = {width: runs.get((model, width)) for width in WIDTHS if width < first}
    one = runs.get((model, first))
    shown = [(width, some) for width, some in [*smaller.items(), (first, one)] if some]
    return Claim(
        f"On the longer test strings the {model} is above {percent(least, 0)} % at d = {first}, "
        "and at no smaller dimension",
        f"“first achieve” (§6.1): d = {first}",
        ", ".join(f"d = {width}: {percent(o.test.mean)} %" for width, o in shown) if one else "",
        every(
            [
                one.reaches(least),
                *(at_most(o.test, least) if o else None for o in smaller.values()),
            ]
        )
        if one
        else None,
    )


def _draw(runs: ByModel) -> Figure:
    widths = sorted({width for _, width in runs})
    left: list[Series] = []
    right: list[Series] = []
    for model, color in (("Transformer", BLUES[2]), ("LSTM", RED)):
        ones = {width: runs[model, width] for width in widths if (model, width) in runs}
        left += lines_of({d: one.shares("validation") for d, one in ones.items()}, model, color)
        right += lines_of({d: one.shares("test") for d, one in ones.items()}, model, color)
    facts: dict[str, Any] = {
        "x": "memory dimension",
        "level": 95,
        "ylim": (0, 103),
        "xticks": {width: str(width) for width in widths},
    }
    y = "close-bracket accuracy (%)"
    return Figure(
        [
            [
                Panel(left, "(b) validation", y=y, **facts),
                Panel(right, "(c) test: longer strings", **facts),
            ]
        ]
    )
