"""The table of published numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from formalbench.analysis.beside import Beside
from formalbench.analysis.columns import Column, Sheet, number, share, words
from formalbench.analysis.keys import grouped_by
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
        lambda one: _points(one.difference),
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


Group = Sequence[Beside]
"""All numbers of one row of a paper's table, beside one row of ours."""

_NEAR = 0.05
"""Up to this difference numbers are about the same."""

SUMMARY: tuple[Column[Group], ...] = (
    words("their model", "as the paper names it", lambda group: group[0].theirs.model),
    words("our model", "with the options set", lambda group: group[0].row.model, form="name"),
    words("protocol", "how ours was trained and tested", lambda group: group[0].board.name),
    number("numbers", "how many of the paper's there are beside ours", len),
    number(
        "near",
        "how many of them are at most 5 points from ours",
        lambda group: sum(abs(one.difference) <= _NEAR for one in group),
    ),
    Column(
        "difference",
        "ours less the published, in points, the mean over the numbers: of the means over the "
        "seeds, or of the maxima where no mean is known",
        lambda group: _points(math.fsum(one.difference for one in group) / len(group)),
    ),
    words(
        "furthest apart",
        "the largest difference, and the task",
        lambda group: (
            f"{_points((most := max(group, key=lambda one: abs(one.difference))).difference)} on "
            f"{most.column}"
        ),
    ),
)
"""What is said of a row of a paper's table beside a row of ours."""


def beside_summary(found: Sequence[Beside]) -> Sheet[Group]:
    """Return the published numbers beside ours, a line for each pair of models and protocol."""
    groups = grouped_by(lambda one: (one.theirs.model, one.row.key, one.board.name), found)
    return Sheet(SUMMARY, list(groups.values()))


def _points(difference: float) -> str:
    return f"{round(100 * difference, 1) + 0.0:+.1f}"
