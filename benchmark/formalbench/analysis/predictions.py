"""What theory predicts of a model on a task, held against what was measured.

Two kinds of predictions, never one number: a *theorem* says what a network can do at all, and none
speaks of training; an *experiment* says what training was seen to find, where nothing is proved.
What did not learn its training lengths says nothing of either (`formalbench.analysis.learned`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.keys import grouped_by
from formalbench.analysis.results import Prediction, Result
from formalbench.theory.theorems import Theorem, theorem_called

Found = Literal["as predicted", "not beyond", "against", "not learned", "no prediction"]
"""``as predicted``; ``not beyond``: it can by a theorem, and what was trained learned its training
lengths and no longer ones; ``against`` the prediction; ``not learned``: within the budget no run
learned its training lengths, so that nothing was asked of the prediction."""

FOUND: tuple[Found, ...] = ("as predicted", "not beyond", "against", "not learned")
"""What can be found where there is a prediction."""


@dataclass(frozen=True, slots=True)
class Foretold:
    """A prediction, or that there is none, beside what a model reached on a task.

    Attributes:
        board: which has the result.
        row: the model's.
        result: what it reached.
        language_class: the smallest class that the task's language is known to be in, if any.
        prediction: None if no theorem and no experiment decides.
        found: how the two agree.
    """

    board: Board
    row: Row
    result: Result
    language_class: str | None
    prediction: Prediction | None
    found: Found

    @property
    def theorem(self) -> Theorem | None:
        """What says so."""
        return None if self.prediction is None else theorem_called(self.prediction.theorem)

    @property
    def kind(self) -> str:
        """What is predicted, in words."""
        said = self.prediction
        if said is None:
            return "nothing"
        if (said.evidence, said.verdict) == ("theorem", "can"):
            return CAN[said.instance]
        return KINDS[said.evidence, said.verdict]


CAN = {
    "this instance": "this instance can",
    "a larger one of its family": "a larger one can",
    "unknown": "can",
}
"""What a theorem says that a network can, by the instance that it speaks of."""

KINDS = {
    ("theorem", "cannot"): "cannot",
    ("experiment", "can"): "extrapolates once learned",
    ("experiment", "cannot"): "does not extrapolate",
}
"""The other predictions there are, by evidence and verdict."""


def compared(page: Page) -> list[Foretold]:
    """Return every prediction of a page's learned results, and each result that has none.

    In the order of the boards, then of their tasks, then of their rows.
    """
    return [
        Foretold(board, row, result, facts.language_class, prediction, found(prediction, result))
        for board in page.boards
        for facts in board.facts
        if facts.scored
        for row in board.rows
        if row.kind == "learned" and (result := row.on(facts.title)) is not None
        for prediction in result.predictions or (None,)
    ]


def found(prediction: Prediction | None, result: Result) -> Found:
    """Say how a prediction and a result agree.

    One run that solves the test (`SeedResult.solved`) shows that a network can, at these lengths,
    and contradicts that none does. What training finds is predicted of every run that learned its
    training lengths. A run whose test did not finish did not solve it.
    """
    if prediction is None:
        return "no prediction"
    learned = [run for run in result.runs if run.learned]
    if not learned:
        return "not learned"
    solved = [run for run in learned if run.solved]
    if prediction.verdict == "cannot":
        return "against" if solved else "as predicted"
    if prediction.evidence == "experiment":
        return "as predicted" if len(solved) == len(learned) else "against"
    return "as predicted" if solved else "not beyond"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often something was found of one kind of predictions.

    Attributes:
        board: under which protocol.
        kind: of `CAN` or `KINDS`.
        times: by what was found.
    """

    board: Board
    kind: str
    times: Counter[Found]


def counts(cells: Iterable[Foretold]) -> list[Agreement]:
    """Count what was found, protocol by protocol, a line for each kind of predictions."""
    found = []
    for held in grouped_by(lambda cell: cell.board.name, cells).values():
        of_kind = grouped_by(lambda cell: cell.kind, held)
        found += [
            Agreement(held[0].board, kind, Counter(cell.found for cell in of_kind[kind]))
            for kind in (*CAN.values(), *KINDS.values(), "nothing")
            if kind in of_kind
        ]
    return found
