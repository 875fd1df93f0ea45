"""Predictions of theory compared with measurements, and results that were expected to be learned.

There are two kinds of predictions, which are never merged into one number. A *theorem*, or our
corollary of one, states what a network can express; no theorem is about training. An *experiment*
states what training found in a publication, where nothing is proved. A model that did not learn its
training lengths says nothing about either kind (`formalbench.statistics.records`).

If a theorem says that a network can express a language, training may still not find the solution,
and a paper's setting always differs from ours. A theorem whose proof needs a larger network says
nothing about the tested one. So a result that was expected to be learned and was not is no
contradiction. It shows where to try more steps or another learning rate, or to look for a bug.
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

from formalbench_leaderboard.board.paper_comparison import PaperComparison

OutcomeName = Literal["as predicted", "not beyond", "against", "not learned", "no prediction"]
"""Agreement of a prediction and a result.

- ``as predicted``
- ``not beyond``: a theorem says that such a network can, or an experiment that it does in some
  setting, but the trained model learned its training lengths and no longer ones.
- ``against``: the result contradicts the prediction.
- ``not learned``: within the budget no run learned its training lengths, so the prediction was not
  tested.
"""


OUTCOMES: tuple[OutcomeName, ...] = ("as predicted", "not beyond", "against", "not learned")
"""The outcomes that are possible if there is a prediction."""


@dataclass(frozen=True, slots=True)
class PredictionOutcome:
    """A prediction (or None), compared with a model's result on a task.

    Attributes:
        board: the board with the result.
        row: the model's row.
        result: the result.
        language_class: the smallest class that is known to contain the task's language, if any.
        prediction: None if no theorem and no experiment decides.
        outcome: the agreement of prediction and result.
    """

    board: Board
    row: Row
    result: Result
    language_class: str | None
    prediction: Prediction | None
    outcome: OutcomeName

    @property
    def theorem(self) -> Theorem | None:
        """The theorem or experiment that the prediction is from."""
        return None if self.prediction is None else theorem_called(self.prediction.theorem)

    @property
    def kind(self) -> str:
        """The kind of the prediction, in words."""
        prediction = self.prediction
        if prediction is None:
            return "nothing"
        if (prediction.evidence, prediction.verdict) == ("theorem", "can"):
            return CAN[prediction.instance]
        return KINDS[prediction.evidence, prediction.verdict]


CAN = {
    "this instance": "this instance can",
    "a larger one of its family": "a larger one can",
    "unknown": "can",
}
"""Kinds of predictions of a theorem that a network can, by the instance that it is about."""


KINDS = {
    ("theorem", "cannot"): "cannot",
    ("corollary", "can"): "can (our corollary)",
    ("experiment", "can"): "some setting extrapolates",
    ("experiment", "cannot"): "does not extrapolate",
}
"""The other kinds of predictions, by evidence and verdict."""


def prediction_outcomes(page: Page) -> list[PredictionOutcome]:
    """Return the predictions for a page's learned results, and each result that has no prediction.

    The order is that of the boards, then of their tasks, then of their rows.
    """
    return [
        PredictionOutcome(
            board, row, result, facts.language_class, prediction, outcome_of(prediction, result)
        )
        for board in page.boards
        for facts in board.facts
        if facts.scored
        for row in board.rows
        if row.kind == "learned" and (result := row.on(facts.title)) is not None
        for prediction in result.predictions or (None,)
    ]


def outcome_of(prediction: Prediction | None, result: Result) -> OutcomeName:
    """Return how a prediction and a result agree.

    One run that solves the test (`SeedResult.solved`) shows that a network can, at these lengths,
    and contradicts a theorem that says that no network can. The published experiments chose the
    best of many settings, so one setting that fails does not contradict them. A run whose test
    did not finish did not solve it.
    """
    if prediction is None:
        return "no prediction"
    learned = [run for run in result.runs if run.learned]
    if not learned:
        return "not learned"
    solved = [run for run in learned if run.solved]
    if prediction.verdict == "cannot":
        return "against" if solved else "as predicted"
    return "as predicted" if solved else "not beyond"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Number of each outcome for one kind of predictions.

    Attributes:
        board: the board of the protocol.
        kind: one of `CAN` or `KINDS`.
        times: number of results by outcome.
    """

    board: Board
    kind: str
    times: Counter[OutcomeName]


def counts(cells: Iterable[PredictionOutcome]) -> list[Agreement]:
    """Count the outcomes by protocol, a line for each kind of predictions."""
    agreements = []
    for group in grouped_by(lambda cell: cell.board.name, cells).values():
        by_kind = grouped_by(lambda cell: cell.kind, group)
        agreements += [
            Agreement(group[0].board, kind, Counter(cell.outcome for cell in by_kind[kind]))
            for kind in (*CAN.values(), *KINDS.values(), "nothing")
            if kind in by_kind
        ]
    return agreements


@dataclass(frozen=True, slots=True)
class ExpectedLearning:
    """A result whose training lengths were expected to be learned.

    Attributes:
        board, row, result: the result, and where it is.
        said_by: the theorems, experiments and papers that predict it.
    """

    board: Board
    row: Row
    result: Result
    said_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearnedCount:
    """How many of the expected results were learned, under one protocol.

    Attributes:
        board: the board of the protocol.
        cells: the results that were expected to be learned.
    """

    board: Board
    cells: Sequence[ExpectedLearning]

    @property
    def learned(self) -> int:
        """Number of results that at least two thirds of the seeds learned."""
        return sum(cell.result.mastered for cell in self.cells)

    @property
    def partly(self) -> int:
        """Number of results that some seeds learned, but fewer than two thirds of them."""
        return sum(not cell.result.mastered and cell.result.learned > 0 for cell in self.cells)

    @property
    def unlearned(self) -> int:
        """Number of results that no seed learned."""
        return len(self.cells) - self.learned - self.partly


def expected_learning(
    predictions: Iterable[PredictionOutcome], papers: Iterable[PaperComparison]
) -> list[ExpectedLearning]:
    """Return every result that a theorem, an experiment or a paper says can be learned.

    A paper says so with a number of at least 99 %, the mean or the maximum: a model that is right
    on longer strings has learned shorter ones.
    """
    expected: list[tuple[Board, Row, Result, str]] = [
        (cell.board, cell.row, cell.result, cell.prediction.theorem)
        for cell in predictions
        if cell.prediction is not None
        and cell.prediction.verdict == "can"
        and cell.prediction.instance != "a larger one of its family"
    ]
    expected += [
        (one.board, one.row, one.result, one.paper.source) for one in papers if _paper_learned(one)
    ]
    groups = grouped_by(lambda one: (one[0].name, one[1].key, one[2].task), expected)
    return [
        ExpectedLearning(*group[0][:3], tuple(dict.fromkeys(source for *_, source in group)))
        for group in groups.values()
    ]


def by_protocol(cells: Iterable[ExpectedLearning]) -> list[LearnedCount]:
    """Count the learned results by protocol, the protocol with the most results first."""
    groups = grouped_by(lambda cell: cell.board.name, cells).values()
    return sorted(
        (LearnedCount(group[0].board, group) for group in groups), key=lambda one: -len(one.cells)
    )


def _paper_learned(one: PaperComparison) -> bool:
    numbers = [value for value in (one.published.mean, one.published.max) if value is not None]
    return max(numbers, default=0.0) >= 100.0 * LEARNED


CELLS: tuple[Column[PredictionOutcome], ...] = (
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
        "is smaller; can: the theorem states no size; can (our corollary): the cited paper does "
        "not state it; cannot: at no size; some setting extrapolates, does not extrapolate: "
        "results of published experiments",
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
    words("found", "whether the measurement agrees", lambda cell: cell.outcome),
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
"""Columns of a prediction."""


def _test(result: Result) -> str:
    if result.finished == 0:
        return ", ".join(f"{times} {status}" for status, times in result.failures)
    return f"{percent(result.mean)} ({percent(result.max)})"


def predicted_table(cells: Sequence[PredictionOutcome]) -> Sheet[PredictionOutcome]:
    """Return every prediction, compared with the measurement."""
    return Sheet(CELLS, cells)


def agreement_table(cells: Sequence[PredictionOutcome]) -> Sheet[Agreement]:
    """Return how often each kind of predictions was confirmed."""
    protocol: Column[Agreement] = words(
        "protocol", "how it was trained and tested", lambda count: count.board.name
    )
    kind: Column[Agreement] = words(
        "prediction", "what is predicted", lambda count: count.kind, form="name"
    )
    return Sheet([protocol, kind, *map(_times, (*OUTCOMES, "no prediction"))], counts(cells))


def _times(outcome: OutcomeName) -> Column[Agreement]:
    return number(
        outcome,
        MEANINGS[outcome],
        lambda count: count.times[outcome],
        text=lambda n: str(n or MISSING),
    )


MEANINGS: dict[OutcomeName, str] = {
    "as predicted": "the measurement agrees: where a network can or some setting extrapolates, at "
    f"least one seed solved the test ({100 * SOLVED:.0f} % at every tested length); where it "
    "cannot or does not extrapolate, none did",
    "not beyond": "a theorem says that such a network can, or an experiment that some setting "
    "extrapolates; seeds learned the training lengths, and none solved the test",
    "against": "a seed solved what no network can, or what no setting did in an experiment",
    "not learned": "no run learned the training lengths within the budget, so the prediction was "
    "not tested",
    "no prediction": "neither a theorem nor an experiment applies",
}
"""The meaning of each outcome."""


LEARNED_COUNTS: tuple[Column[LearnedCount], ...] = (
    words("protocol", "how it was trained", lambda one: one.board.name),
    number(
        "to be learned",
        "results where a theorem says that such a network is possible, or a paper has 99 % or more",
        lambda one: len(one.cells),
        "cells",
    ),
    number("learned", "by at least two thirds of the seeds", lambda one: one.learned),
    number("by fewer seeds", "by at least one seed", lambda one: one.partly, "partly"),
    number("not learned", "by no seed within the budget", lambda one: one.unlearned, "untaught"),
)


def learned_table(cells: Iterable[ExpectedLearning]) -> Sheet[LearnedCount]:
    """Return how many of the expected results were learned, a line for each protocol."""
    return Sheet(LEARNED_COUNTS, by_protocol(cells))
