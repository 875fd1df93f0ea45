"""A reproduction: what Delétang et al. (2023) say of an RNN and a Transformer on two languages.

    formalbench reproduce deletang-parity --plugin examples/reproduction.py --output page

What is measured is announced and costs nothing; `carry_out` is called when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from formalbench import ReproductionSpec, hookimpl

if TYPE_CHECKING:
    from formalbench_papers import Bench, Findings

TASKS = ("parity", "even-pairs")
PROTOCOLS = {"quick": "quick", "paper": "standard"}


@hookimpl
def formalbench_reproductions() -> Iterable[ReproductionSpec]:
    """Announce one table."""
    yield ReproductionSpec(
        name="deletang-parity",
        summary="An RNN learns PARITY, a Transformer does not",
        reference="Delétang et al. (2023), Neural Networks and the Chomsky Hierarchy",
        factory=carry_out,
        about="Accuracy at lengths 41 to 500 after training up to 40; maximum / average, percent.",
        reduced="one learning rate instead of several, 16 of the test lengths.",
        core_hours=(0.2, None),
        figure=False,
    )


def carry_out(bench: Bench) -> Findings:
    """Train two models on two tasks and check two claims."""
    from formalbench_papers import AccuracyTable, PaperModel, is_at_chance, reaches

    table = AccuracyTable(
        published=bench.host.table("deletang-2023").limited_to(lambda task: task in TASKS),
        models=(PaperModel("RNN", "rnn"), PaperModel("Transformer", "transformer")),
        protocols=PROTOCOLS,
    )
    got = table.train(bench)
    scores = table.scores(got)
    claims = [
        reaches(
            "the RNN learns PARITY: its best seed reaches 99 %",
            "100.0 (maximum)",
            scores.get(("parity", "RNN")),
            0.99,
        ),
        is_at_chance(
            "the Transformer is at chance on PARITY",
            "50.4 (average)",
            scores.get(("parity", "Transformer")),
        ),
    ]
    return table.findings(got, claims, ["The paper's maximum is over hyperparameters, too."])
