"""The table of published numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench.analysis.beside import Beside
from formalbench.analysis.columns import Column, Sheet, share, words
from formalbench.analysis.tables.papers import out_of_hundred, published_cell
from formalbench.analysis.text import percent

BESIDE: tuple[Column[Beside], ...] = (
    Column(
        "paper",
        "whose table",
        lambda one: one.paper.source,
        {"paper": lambda one: one.paper.key},
        "words",
    ),
    words(
        "task",
        "the paper's column, by our name",
        lambda one: one.column,
        "column",
        more={"task": lambda one: one.result.task},
    ),
    words("their model", "as the paper names it", lambda one: one.theirs.model, "their_model"),
    words("our model", "with the options set", lambda one: one.row.model, "model", "name"),
    Column(
        "protocol",
        "how ours was trained and tested",
        lambda one: one.board.name,
        {"protocol": lambda one: one.board.protocol, "version": lambda one: one.board.version},
        "words",
    ),
    Column(
        "published",
        "maximum / mean over the seeds",
        lambda one: published_cell(one.published),
        {
            "published_max": lambda one: out_of_hundred(one.published.max),
            "published_mean": lambda one: out_of_hundred(one.published.mean),
        },
    ),
    Column(
        "ours",
        "likewise, over those of our test lengths that are within the paper's",
        lambda one: f"{percent(one.max)} / {percent(one.mean)}",
        {"max": lambda one: share(one.max), "mean": lambda one: share(one.mean)},
    ),
    Column(
        "difference",
        "ours less the published, in points: of the means, or of the maxima where no mean is known",
        lambda one: f"{round(100 * one.difference, 1) + 0.0:+.1f}",
        {"difference": lambda one: share(one.difference), "difference_of": lambda one: one.by},
    ),
    words(
        "what differs",
        "in training, testing and network, as far as the paper says",
        lambda one: "; ".join(one.differs),
        "differs",
    ),
)
"""What is said of a published number beside ours."""


def beside_table(found: Sequence[Beside]) -> Sheet[Beside]:
    """Return the published numbers beside ours."""
    return Sheet(BESIDE, found)
