"""Figure 6 of Yao et al. (2021): masked language modelling with learned and scalar positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formalbench.contracts.config import Value
from formalbench.contracts.record import Record
from formalbench.documents.charts import BLUES, RED
from formalbench.documents.figures import Figure, Panel, Series

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Answer, Claim, Findings, Row, TableCell, across
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
from formalbench_papers.framework.tables import text_task
from formalbench_papers.index import experiment
from formalbench_papers.yao import SOURCE

LEARN, SCALAR = "LEARN", "POS/N"

POSITIONS = {LEARN: "learned", SCALAR: "scalar"}

PAPER = {LEARN: 1.31, SCALAR: 1.55}
"""Validation loss at the end, in nats."""

CORPORA = {"quick": "sotu", "paper": "wikitext-103"}

PROTOCOLS = {"quick": "yao-fig6-quick", "paper": "yao-fig6"}

BEGINNING = 0.05
"""Share of the training in which any model learns how frequent tokens are: it does not count."""

TENTH = 0.1
"""Share of the training that is looked at together."""

SUDDEN = 0.5
"""A loss drops suddenly if the steepest tenth of the training has at least this share of its fall;
if it fell evenly, a tenth had a tenth."""

PLATEAU = 0.25
"""The loss was on a plateau if the tenth before has at most this share of the steepest one's fall.
If the steepest is where the curve begins, nothing was before it: that is no drop."""

LEFT = 0.05
"""A loss that falls by less than this share of itself after the beginning is where frequencies
bring it: of how it would go on, nothing can be told."""


@dataclass(frozen=True, slots=True)
class LossCurve:
    """The loss curve of a run.

    Attributes:
        steps: at which its loss was looked at.
        nats: held-out loss per hidden token, then.
    """

    steps: tuple[int, ...]
    nats: tuple[float, ...]

    @property
    def final(self) -> float:
        """At the end."""
        return self.nats[-1]

    @property
    def left(self) -> bool:
        """Whether it left the level that frequencies bring it to."""
        return self.fallen[0] - self.fallen[-1] >= LEFT * self.fallen[0]

    @property
    def steepest(self) -> float:
        """Which share of the fall after the beginning the steepest tenth of the training has."""
        falls, whole = self._falls, self.fallen[0] - self.fallen[-1]
        return max(falls) / whole if whole > 0 else 0.0

    @property
    def drops(self) -> bool:
        """Whether it falls suddenly, from a plateau."""
        falls = self._falls
        before = falls.index(max(falls)) - self._window
        sudden = self.steepest >= SUDDEN
        return sudden and before >= 0 and falls[before] <= PLATEAU * max(falls)

    @property
    def fallen(self) -> tuple[float, ...]:
        """The losses after the beginning."""
        return self.nats[round(BEGINNING * len(self.nats)) :]

    @property
    def _window(self) -> int:
        return max(1, round(TENTH * len(self.nats)))

    @property
    def _falls(self) -> list[float]:
        """By how much it falls in each tenth of the training."""
        pairs = zip(self.fallen, self.fallen[self._window :], strict=False)
        return [before - after for before, after in pairs]


Curves = Mapping[str, Sequence[LossCurve]]
"""By the kind of positions: of each seed that finished."""


@experiment(
    "yao-fig6",
    "Masked language modelling with learned and with scalar positions",
    f"{SOURCE}, Figure 6 and §6.3",
    about="The loss of two RoBERTa-shaped models that predict masked tokens, over their training: "
    "LEARN has learned positions, POS/N one number, i/n. Numbers on texts other than the "
    "paper's are `approx`: they are shown but not judged.",
    reduced="bytes of State of the Union addresses (`formalbench corpus fetch sotu`) instead of "
    "WikiText-103; 4 layers of width 128 instead of 12 of 768; 3,000 steps of 8 windows of "
    "512 tokens, about one pass, instead of 150 passes.",
    core_hours=(2.8, 160000),
)
def carry_out(bench: Bench) -> Findings:
    """Train a model with either kind of positions."""
    task = text_task(bench, CORPORA[bench.scale], "masked-lm")
    size = bench.choose((128, 4, 4), (768, 12, 12))
    protocol = PROTOCOLS[bench.scale]
    got = bench.train_each({name: _plan(name, task, protocol, size) for name in POSITIONS})
    curves, rows = curves_of(got)
    rows += [
        {"positions": name, "seed": "", "step": "", "loss": ""}
        for name in POSITIONS
        if not curves.get(name)
    ]
    missing = sum(one.unfinished for one in got.values())
    return Findings(
        rows,
        claims(curves, missing),
        lambda: draw_losses(curves, {LEARN: RED, SCALAR: BLUES[2]}),
        REMARKS,
        [_cell(name, curves.get(name, ())) for name in POSITIONS],
        records_of(got.values()),
    )


def _plan(name: str, task: str, protocol: str, size: tuple[int, int, int]) -> CellPlan:
    """Return the runs of a RoBERTa-shaped model: post-norm, and GPT-2's initial values."""
    width, heads, layers = size
    options: dict[str, Value] = {
        "positions": POSITIONS[name],
        **{"width": width, "heads": heads, "layers": layers},
        **{"norm": "post", "init": "gpt2", "causal": False},
    }
    return CellPlan(name, task, "transformer", task, protocol, options)


def curves_of(got: Mapping[str, CellRecords]) -> tuple[Curves, list[Row]]:
    """Return the curves of what was trained, by the kind of positions, and the data of a figure."""
    by_name = {name: [c for run in one.chosen if (c := curve_of(run))] for name, one in got.items()}
    return by_name, [
        {"positions": name, "seed": seed, "step": step, "loss": round(nats, 6)}
        for name, curves in by_name.items()
        for seed, curve in enumerate(curves)
        for step, nats in zip(curve.steps, curve.nats, strict=True)
    ]


def curve_of(run: Record) -> LossCurve | None:
    """Return the losses that were looked at while a run trained; None if it did not finish."""
    if run.status != "finished" or run.training is None or run.training.history is None:
        return None
    history = run.training.history
    nats = tuple(bits / 1000 * math.log(2) for bits in history.curves[0].millibits)
    return LossCurve(history.steps, nats)


def _cell(name: str, curves: Sequence[LossCurve]) -> TableCell:
    ours = ", ".join(f"{curve.final:.2f}" for curve in curves)
    holds: Answer = "approx" if curves else None
    return TableCell(name, "loss at the end", f"{PAPER[name]:.2f}", ours, holds)


def claims(found: Curves, missing: int = 0) -> list[Claim]:
    """Check the claims of section 6.3 about the curves.

    Args:
        found: what finished.
        missing: the number of seeds without a result.
    """

    def once_left(left: Sequence[bool], answers: Sequence[bool]) -> Answer:
        """Join what seeds say; while one is where frequencies bring it, they cannot tell."""
        return across(answers, missing) if all(left) else "cannot tell"

    learned, scalar = found.get(LEARN, ()), found.get(SCALAR, ())
    pairs = list(zip(learned, scalar, strict=False))
    return [
        Claim(
            "The loss with learned positions ends below that with POS/N",
            "1.31 against 1.55",
            ", ".join(f"{one.final:.2f} against {other.final:.2f}" for one, other in pairs),
            once_left(
                [one.left and other.left for one, other in pairs],
                [one.final < other.final for one, other in pairs],
            ),
        ),
        Claim(
            "With learned positions the loss stays on a plateau, then drops suddenly: the steepest "
            f"tenth of the training has at least {SUDDEN:.0%} of the fall after the beginning, and "
            f"the tenth before it at most {PLATEAU:.0%} of that",
            "“a sudden drop of loss around 20-30 epochs” of 150 (§6.3)",
            _shares(learned),
            once_left([one.left for one in learned], [one.drops for one in learned]),
        ),
        Claim(
            f"With POS/N it falls gradually: no tenth has {SUDDEN:.0%} of it",
            "“a gradual decrease of loss” (§6.3)",
            _shares(scalar),
            once_left([one.left for one in scalar], [one.steepest < SUDDEN for one in scalar]),
        ),
    ]


def _shares(curves: Sequence[LossCurve]) -> str:
    return ", ".join(
        f"{curve.steepest:.0%}, {'from' if curve.drops else 'not from'} a plateau"
        if curve.left
        else f"on the plateau throughout, at {curve.final:.2f}"
        for curve in curves
    )


def draw_losses(found: Curves, colors: Mapping[str, str]) -> Figure:
    """Draw the losses over training, by the kind of positions."""
    lines = [
        Series(curve.steps, curve.nats, color, name, alpha=0.85)
        for name, color in colors.items()
        for curve in found.get(name, ())
    ]
    return Figure([[Panel(lines, x="steps", y="held-out loss (nats)")]])


REMARKS = (
    "Losses on other texts with other tokens are not comparable, so none is compared with the "
    "paper's; the claims are about the curves.",
    "The curves use fixed windows of the test texts, by which nothing is selected; the paper's "
    "curves use its validation texts.",
    "The paper gives neither size, batch, rate nor masking: here RoBERTa-base at the scale paper, "
    "15 % of the tokens masked, 80/10/10 as in BERT; no dropout. POS/N is the position divided by "
    "the number of tokens, in a separate dimension.",
    "At the scale quick each kind of positions has one run of little more than one pass, but the "
    "paper's drop comes after 20 passes. A missing drop therefore says nothing about longer "
    f"training. A loss that falls by less than {LEFT:.0%} after the beginning has not left the "
    "level "
    "of the tokens' frequencies; this bound is ours, and was set after two runs had not.",
    f"What counts as sudden is ours: {SUDDEN:.0%} of the fall in a tenth of the training, its "
    f"first {BEGINNING:.0%} left out; and as a plateau: at most {PLATEAU:.0%} of that in the tenth "
    "before.",
)
