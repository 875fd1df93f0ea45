"""What language models reach on a task: a row a model, and a column for each test length."""

from __future__ import annotations

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import Column, Table
from formalbench.analysis.results import Result
from formalbench.analysis.text import perplexity, rate

Reached = tuple[Row, Result]
"""A row of a board, and what it reached on a task."""

_MODEL: Column[Reached] = Column(
    "model",
    "with the options set",
    lambda pair: pair[0].model,
    {"model": lambda pair: pair[0].model},
    "name",
)

_HOW: tuple[Column[Reached], ...] = (
    Column(
        "seeds",
        "how many runs there are, and which did not finish",
        lambda pair: pair[1].outcome,
        {"seeds": lambda pair: pair[1].seeds},
    ),
    Column(
        "rate",
        "the learning rate that validation chose",
        lambda pair: rate(pair[1].learning_rate),
        {"learning_rate": lambda pair: pair[1].learning_rate},
    ),
    Column(
        "command",
        "what repeats it",
        lambda pair: pair[1].command,
        {"command": lambda pair: pair[1].command},
        "command",
    ),
)


def perplexity_table(board: Board, title: str) -> Table[Reached]:
    """Return the perplexities on a task for language models, the best model first."""
    lengths, found = board.by_perplexity(title)
    return Table([_MODEL, *map(_at, lengths), *_HOW], found)


def _at(length: int) -> Column[Reached]:
    def reached(pair: Reached) -> float | None:
        return dict(pair[1].perplexities).get(length)

    return Column(
        str(length),
        f"perplexity at {length} tokens, the mean over the seeds",
        lambda pair: perplexity(reached(pair)),
        {f"perplexity_{length}": reached},
    )
