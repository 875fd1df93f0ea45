"""Predictions of theory beside what was measured, and what was expected to be learned.

Two kinds of predictions, never one number: a *theorem* says what a network can do at all, and none
speaks of training; an *experiment* says what training was seen to find, where nothing is proved.
What did not learn its training lengths says nothing of either (`formalbench.statistics.records`).

A theorem that a network can express a language leaves open whether training finds it, and a paper's
setting is never quite ours. One whose proof takes a larger network says nothing of this one. So a
result that was to be learned and was not is no contradiction: it is where more steps, another rate
or a fault of ours must be looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from formalbench.documents.table import Column, Sheet, number, percentage, share, words
from formalbench.documents.text import MISSING, percent
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.records import LEARNED, grouped_by
from formalbench.statistics.result import SOLVED, Prediction, Result
from formalbench.theory.theorems import Theorem, theorem_called

from formalbench_leaderboard.board.paper_comparison import Beside

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


@dataclass(frozen=True, slots=True)
class Expected:
    """A result on training lengths that were to be learned.

    Attributes:
        board, row, result: which.
        said_by: the theorems, experiments and papers that say so.
    """

    board: Board
    row: Row
    result: Result
    said_by: tuple[str, ...]

    @property
    def taught(self) -> bool:
        """Whether two thirds of the seeds, or more, learned the training lengths."""
        return 3 * self.result.learned >= 2 * self.result.seeds


@dataclass(frozen=True, slots=True)
class Taught:
    """How much of what was to be learned was learned, under one protocol.

    Attributes:
        board: the protocol's.
        cells: the results that were to be learned.
    """

    board: Board
    cells: Sequence[Expected]

    @property
    def taught(self) -> int:
        """The number of them that two thirds of the seeds learned."""
        return sum(cell.taught for cell in self.cells)

    @property
    def partly(self) -> int:
        """The number of them that fewer seeds learned, but one at least."""
        return sum(not cell.taught and cell.result.learned > 0 for cell in self.cells)

    @property
    def untaught(self) -> int:
        """The number of them that no seed learned."""
        return len(self.cells) - self.taught - self.partly


def expected(predictions: Iterable[Foretold], papers: Iterable[Beside]) -> list[Expected]:
    """Return every result that a theorem, an experiment or a paper says can be learned.

    Of a paper a number says so that is at least 99 %, the mean or the best: what is right on longer
    strings was learned on shorter ones.
    """
    said: list[tuple[Board, Row, Result, str]] = [
        (cell.board, cell.row, cell.result, cell.prediction.theorem)
        for cell in predictions
        if cell.prediction is not None
        and cell.prediction.verdict == "can"
        and cell.prediction.instance != "a larger one of its family"
    ]
    said += [
        (one.board, one.row, one.result, one.paper.source) for one in papers if _learned_there(one)
    ]
    cells = grouped_by(lambda one: (one[0].name, one[1].key, one[2].task), said)
    return [
        Expected(*held[0][:3], tuple(dict.fromkeys(by for *_, by in held)))
        for held in cells.values()
    ]


def by_protocol(cells: Iterable[Expected]) -> list[Taught]:
    """Count what was learned, protocol by protocol, that with the most cells first."""
    held = grouped_by(lambda cell: cell.board.name, cells).values()
    return sorted((Taught(part[0].board, part) for part in held), key=lambda one: -len(one.cells))


def _learned_there(one: Beside) -> bool:
    reached = [of for of in (one.published.mean, one.published.max) if of is not None]
    return max(reached, default=0.0) >= 100.0 * LEARNED


CELLS: tuple[Column[Foretold], ...] = (
    Column(
        "protocol",
        "how it was trained and tested",
        lambda cell: cell.board.name,
        {"protocol": lambda cell: cell.board.protocol, "version": lambda cell: cell.board.version},
        "words",
    ),
    words("model", "with the options set", lambda cell: cell.row.model, form="name"),
    words("task", "the task and its objective", lambda cell: cell.result.task),
    words(
        "class",
        "the smallest known class of the language",
        lambda cell: cell.language_class,
        "language_class",
    ),
    words(
        "prediction",
        "this instance can: the network has the size that the theorem needs; a larger one can: it "
        "is smaller; can: the theorem states no size; cannot: at no size; extrapolates once "
        "learned, does not extrapolate: results of published experiments",
        lambda cell: cell.kind,
        more={
            "evidence": lambda cell: cell.prediction.evidence if cell.prediction else None,
            "instance": lambda cell: cell.prediction.instance if cell.prediction else None,
        },
    ),
    words(
        "by",
        "the theorem or experiment",
        lambda cell: cell.prediction.theorem if cell.prediction else None,
        "theorem",
        more={
            "conditions": lambda cell: cell.theorem.conditions if cell.theorem else None,
            "source": lambda cell: cell.theorem.source if cell.theorem else None,
        },
    ),
    words("found", "whether the measurement agrees", lambda cell: cell.found),
    Column(
        "learned",
        "how many seeds learned the training lengths",
        lambda cell: f"{cell.result.learned} of {cell.result.seeds}",
        {"learned": lambda cell: cell.result.learned, "seeds": lambda cell: cell.result.seeds},
    ),
    percentage(
        "validation",
        "mean accuracy over the seeds on the training lengths",
        lambda cell: cell.result.validation,
    ),
    Column(
        "test",
        "accuracy on longer strings: the mean over the seeds and the best seed; a run that did not "
        "finish counts as chance",
        lambda cell: _test(cell.result),
        {"mean": lambda cell: share(cell.result.mean), "max": lambda cell: share(cell.result.max)},
    ),
)
"""What is said of a prediction."""


def _test(result: Result) -> str:
    if result.finished == 0:
        return ", ".join(f"{times} {status}" for status, times in result.failures)
    return f"{percent(result.mean)} ({percent(result.max)})"


def predicted_table(cells: Sequence[Foretold]) -> Sheet[Foretold]:
    """Return every prediction beside the measurement."""
    return Sheet(CELLS, cells)


def agreement_table(cells: Sequence[Foretold]) -> Sheet[Agreement]:
    """Return how often each kind of predictions was found to hold."""
    protocol: Column[Agreement] = words(
        "protocol", "how it was trained and tested", lambda count: count.board.name
    )
    kind: Column[Agreement] = words(
        "prediction", "what is predicted", lambda count: count.kind, form="name"
    )
    return Sheet([protocol, kind, *map(_times, (*FOUND, "no prediction"))], counts(cells))


def _times(found: Found) -> Column[Agreement]:
    return number(
        found, MEANINGS[found], lambda count: count.times[found], told=lambda n: str(n or MISSING)
    )


MEANINGS: dict[Found, str] = {
    "as predicted": "the measurement agrees with the prediction; a seed solves a test if it is "
    f"right on {100 * SOLVED:.0f} % at every tested length",
    "not beyond": "a theorem says that such a network can; the trained network learned the "
    "training lengths but not the longer ones",
    "against": "the measurement contradicts the prediction",
    "not learned": "no run learned the training lengths within the budget, so the prediction was "
    "not tested",
    "no prediction": "neither a theorem nor an experiment applies",
}
"""What each finding means."""


TAUGHT: tuple[Column[Taught], ...] = (
    words("protocol", "how it was trained", lambda one: one.board.name),
    number(
        "to be learned",
        "results where a theorem says that such a network can, or a paper has 99 % or more",
        lambda one: len(one.cells),
        "cells",
    ),
    number("learned", "by at least two thirds of the seeds", lambda one: one.taught),
    number("by fewer seeds", "by at least one seed", lambda one: one.partly, "partly"),
    number("not learned", "by no seed within the budget", lambda one: one.untaught, "untaught"),
)


def taught_table(cells: Iterable[Expected]) -> Sheet[Taught]:
    """Return how much was learned of what was to be learned, a line for each protocol."""
    return Sheet(TAUGHT, by_protocol(cells))
