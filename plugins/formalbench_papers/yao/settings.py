"""Footnote 3 and appendix D.1 of Yao et al. (2021): what was tried on Dyck-(8, 10) and left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalbench.contracts.config import Value
from formalbench.documents.charts import BLUES, GREY
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Answer, Claim, Findings, opposite
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
    Trials,
    failed,
    train,
    transformer,
)

WIDTH = 30
COLUMN = f"d = {WIDTH}"
TRANSFORMER, DROPOUT, HEADS = "Transformer", "Transformer, dropout 0.1", "Transformer, 3 heads"
LSTM, TWO_LAYERS = "LSTM", "LSTM, 2 layers"


class TriedSetting(NamedTuple):
    """A model with options, and how the scale quick trains it."""

    model: str
    options: Mapping[str, Value]
    quick: str


SETTINGS = {
    TRANSFORMER: TriedSetting("transformer", transformer(WIDTH), QUICK),
    DROPOUT: TriedSetting("transformer", {**transformer(WIDTH), "dropout": 0.1}, QUICK),
    HEADS: TriedSetting("transformer", {**transformer(WIDTH), "heads": 3}, QUICK),
    TWO_LAYERS: TriedSetting("lstm", {"width": WIDTH, "layers": 2}, QUICK_LSTM),
    LSTM: TriedSetting("lstm", {"width": WIDTH}, QUICK_LSTM),
}
"""Those that decide first. The first and the last are trained for Figure 4, too."""

GREATLY = 0.05
"""By how much less a setting must have to hurt greatly; the paper gives no number."""

IMPROVED = 0.02
"""By how much more a setting must have to be an improvement; the paper gives no number."""

Found = Mapping[str, Trials]
"""By setting."""


@experiment(
    "yao-settings",
    "Dropout, more heads and a second LSTM layer on Dyck-(8, 10)",
    f"{SOURCE}, footnote 3 and appendix D.1",
    about="Share of close brackets predicted with confidence by the paper's Transformer and LSTM "
    "with 30 dimensions, and by those with dropout, with more heads and with a second "
    "layer, which the paper tried and left out. Dots are trials.",
    reduced=f"{REDUCED}.",
    core_hours=(2.0, 8),
)
def carry_out(bench: Bench) -> Findings:
    """Train the paper's two models, and the settings that it left out."""
    plans = {
        name: CellPlan(
            name, COLUMN, one.model, FIGURE_4, bench.choose(one.quick, PAPER), one.options
        )
        for name, one in SETTINGS.items()
    }
    runs = train(bench, plans)
    return Findings(
        [row for name, one in runs.items() for row in one.rows(setting=name, width=WIDTH)],
        claims(runs),
        lambda: _draw(runs),
        [
            *REMARKS,
            *_REMARKS,
            *failed(runs.values()),
            *bench.choose((f"Reduced: {BUDGET}",), ()),
        ],
        records=records_of(runs.values()),
    )


_REMARKS = (
    "The paper says neither which dropout nor how many heads were tried: here 0.1, the default of "
    "the library that it uses, in all four of its places, and three heads of ten dimensions. The "
    "memory dimension is 30, that of Figure 4(a).",
    f"“Greatly” is taken to mean {percent(GREATLY, 0)} points, and “improved” "
    f"{percent(IMPROVED, 0)}; the limits are ours. All claims are about validation, by which the "
    "paper chooses its settings.",
)


def claims(found: Found) -> list[Claim]:
    """Check the paper's claims about the settings that it left out."""

    def claim(text: str, paper: str, plain: str, changed: str, holds: Answer) -> Claim:
        names = (plain, changed)
        ours = "; ".join(
            f"{name}: {found[name].score_text('validation')}"
            for name in names
            if set(names) <= set(found)
        )
        return Claim(text, paper, ours, holds)

    return [
        claim(
            f"Dropout hurts greatly: {percent(GREATLY, 0)} points on validation",
            "“we turn off all drop outs as we find them to hurt performance greatly” (D.1)",
            TRANSFORMER,
            DROPOUT,
            _hurts(found, DROPOUT, GREATLY),
        ),
        claim(
            "More heads hurt: three are worse than one on validation",
            "“we also use only 1 head as we find more heads to hurt performance” (D.1)",
            TRANSFORMER,
            HEADS,
            _hurts(found, HEADS),
        ),
        claim(
            "Two LSTM layers are no improvement over one: not by "
            f"{percent(IMPROVED, 0)} points on validation",
            "“two-layer LSTMs but did not find improved performance” (footnote 3)",
            LSTM,
            TWO_LAYERS,
            opposite(found[TWO_LAYERS].higher(found[LSTM], "validation", IMPROVED))
            if {LSTM, TWO_LAYERS} <= set(found)
            else None,
        ),
    ]


def _hurts(runs: Found, changed: str, by: float = 0.0) -> Answer:
    """Return whether a change hurts the Transformer; one that learns nothing anyway cannot tell."""
    if not {TRANSFORMER, changed} <= set(runs):
        return None
    plain = runs[TRANSFORMER]
    return plain.higher(runs[changed], "validation", by) if plain.mastered else "cannot tell"


def _draw(runs: Found) -> Figure:
    names = [name for name in reversed(SETTINGS) if name in runs]

    def dots(split: str, color: str, style: str) -> list[Series]:
        each = [runs[name].shares(split) for name in names]
        return [
            Series([100 * one for one in shares], [place] * len(shares), color, split, style)
            for place, shares in enumerate(each)
        ]

    lines = [*dots("validation", BLUES[2], "o"), *dots("test", GREY, "s")]
    panel = Panel(lines, x="close-bracket accuracy (%)", yticks=dict(enumerate(names)))
    return Figure([[panel]])
