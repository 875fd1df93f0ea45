"""What models reach on a task that is not shown by accuracy: a column for each part of its test."""

from __future__ import annotations

from formalbench.analysis.board import Board
from formalbench.analysis.columns import Column, Sheet
from formalbench.analysis.measures import ACCURACY, ShownBy
from formalbench.analysis.tables.outcomes import OUTCOME, Outcome, outcomes

_HOW = ("seeds", "rate", "command")


def by_place(board: Board, title: str) -> Sheet[Outcome]:
    """Return what every row reached on a task, the best first, at each length or named part."""
    facts = board.facts_of(title)
    measure = facts.measure if facts else ACCURACY
    found = outcomes(board, title)
    places = dict.fromkeys(place for one in found for place, _ in one.result.places)
    found.sort(key=lambda one: (measure.order(one.result.shown), one.row.model))
    named = Sheet(OUTCOME, found)
    whole: Column[Outcome] = Column(
        measure.title,
        "the mean over the seeds, and over the columns that follow",
        lambda one: measure.text(one.result.shown),
        {measure.name: lambda one: one.result.shown},
        less=measure.less,
    )
    every = (_at(place, measure) for place in places)
    columns = [*named.only("model").columns, whole, *every, *named.only(*_HOW).columns]
    return Sheet(columns, found)


def _at(place: str, measure: ShownBy) -> Column[Outcome]:
    def reached(outcome: Outcome) -> float | None:
        return dict(outcome.result.places).get(place)

    return Column(
        place,
        f"{measure.title}: the mean over the seeds at this length or part of the test",
        lambda outcome: measure.text(reached(outcome)),
        {f"{measure.name}_{place}": reached},
        less=measure.less,
    )
