"""Table 1 of Chi et al. (2023) where reduced networks did not learn: trained for longer."""

from __future__ import annotations

from typing import NamedTuple

from formalbench.contracts.config import Value

from formalbench_papers.chi import SOURCE
from formalbench_papers.chi.models import REGULARGPT, REGULARGPT_3, TRANSFORMER
from formalbench_papers.chi.table1 import PAPER, at_chance, larger_chunks_fail, learns
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Findings
from formalbench_papers.framework.runs import CellPlan, learned_of, records_of
from formalbench_papers.framework.scores import Score
from formalbench_papers.framework.tables import RULE, PaperModel, judged
from formalbench_papers.index import experiment

ARITHMETIC = "modular-arithmetic"

TASKS = (
    *("parity", "cycle-navigation", "tomita-6", "tomita-5", "even-pairs", "tomita-3"),
    *("d2", "d3", "d4", "d12", "tomita-4"),
)
"""Of the Transformer alone, those first on which the paper's is at chance."""


class QuickSettings(NamedTuple):
    """How a model is trained at the scale ``quick``, beside the protocol ``chi-code``.

    Attributes:
        width: of the network.
        rate: the constant learning rate.
        steps: at most.
        batch: strings of a step.
    """

    width: int
    rate: float
    steps: int
    batch: int = 128


QUICK = {
    TRANSFORMER.title: QuickSettings(64, 3e-4, 20_000, batch=32),
    REGULARGPT.title: QuickSettings(256, 1e-4, 100_000),
    REGULARGPT_3.title: QuickSettings(256, 1e-4, 30_000),
}


@experiment(
    "chi-table1-long",
    "The Transformer on twelve regular languages, and modular arithmetic, trained for longer",
    f"{SOURCE}, Table 1",
    about="Accuracy on strings longer than any trained on, of the cells of Table 1 whose networks "
    "do not learn the training lengths in 6,000 steps: the Transformer with five layers, as in the "
    "paper, and RegularGPT on modular arithmetic. Maximum / average over three seeds in percent; "
    f"ours with the interval of the average and the number of seeds. {RULE}",
    reduced="one learning rate instead of three, 64 strings of every length instead of 512; a "
    "Transformer of width 64 instead of 256, for at most 20,000 steps of 32 strings instead of "
    "100,000 of 128; RegularGPT with C = 3 for at most 30,000 steps.",
    core_hours=(15, 2810),
    figure=False,
)
def carry_out(bench: Bench) -> Findings:
    """Train the cells of the scale; make the table of all that is there."""
    keys = [
        *((task, TRANSFORMER) for task in TASKS),
        *((ARITHMETIC, model) for model in (TRANSFORMER, REGULARGPT_3, REGULARGPT)),
    ]
    plans = {(task, model.title): _plan(bench, task, model) for task, model in keys}
    trained = bench.train_each(plans)
    scores, learned = (
        {key: Score.of_test(records) for key, records in some.items()}
        for some in (trained, learned_of(trained))
    )
    cells, rows = judged(
        (task, title, PAPER.result(title, task), scores.get((task, title)), cell)
        for (task, title), cell in ((key, trained.get(key)) for key in plans)
    )
    claims = [
        *at_chance(scores, learned),
        learns("RegularGPT with C = 2", ARITHMETIC, scores.get((ARITHMETIC, REGULARGPT.title))),
        larger_chunks_fail(scores),
    ]
    return Findings(rows, claims, None, _REMARKS, cells, records_of(trained.values()))


def _plan(bench: Bench, task: str, model: PaperModel) -> CellPlan:
    quick = QUICK[model.title]
    options: dict[str, Value] = {
        "learning_rates": quick.rate,
        "steps": quick.steps,
        "batch": quick.batch,
    }
    reduced = bench.scale == "quick"
    return CellPlan(
        row=task,
        column=model.title,
        model=model.name,
        task=task,
        protocol="chi-code" if reduced else "chi-table1",
        model_options={**model.paper, "width": quick.width} if reduced else model.paper,
        protocol_options=options if reduced else {},
        reduced=reduced,
    )


_REMARKS = (
    "The Transformer is causal, as §1 says, with five post-norm layers of 8 heads, ReLU, positions "
    "of Transformer-XL and no biases in the projections of attention, as in the published code; "
    "the one in the code is not causal. This matters on even pairs.",
    "RegularGPT has the width, the batches and one of the rates of Table 4. With C = 2 it trains "
    "for the 100,000 steps that Table 4 says; the code trains modular arithmetic for a million, "
    "with the seed 40, where all other languages have 42.",
    "A run that makes no error on 12,800 strings in a row trains for 1,000 steps more at the scale "
    "quick, and the checkpoint that is best in validation is tested. The code trains all steps and "
    "tests the last network.",
)
