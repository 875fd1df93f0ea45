"""The table of a task for language models: perplexity at each test length, the best first."""

from __future__ import annotations

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import Column, Table
from formalbench.analysis.results import Result
from formalbench.analysis.text import perplexity

LanguageModel = tuple[Row, Result]
"""A row, and what it reached on the task."""


def perplexity_table(board: Board, title: str) -> Table[LanguageModel]:
    """Return the table of a task."""
    lengths, found = board.by_perplexity(title)
    name: Column[LanguageModel] = Column(
        "model", "its name, with the options set", lambda pair: pair[0].model, form="name"
    )
    seeds: Column[LanguageModel] = Column(
        "seeds", "how the runs ended", lambda pair: pair[1].outcome, form="words"
    )
    return Table([name, *map(_at, lengths), seeds], found)


def _at(length: int) -> Column[LanguageModel]:
    def value(pair: LanguageModel) -> float | None:
        return dict(pair[1].perplexities).get(length)

    meaning = f"perplexity at length {length}, the mean over the seeds"
    return Column(str(length), meaning, lambda pair: perplexity(value(pair)))
