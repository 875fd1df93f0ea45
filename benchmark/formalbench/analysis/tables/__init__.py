"""The tables of a page, each a list of columns: every renderer shows these and knows no other."""

from formalbench.analysis.tables.exact import LEGEND, exact_table
from formalbench.analysis.tables.outcomes import Outcome, of_row, of_task
from formalbench.analysis.tables.papers import published_outcomes, published_table
from formalbench.analysis.tables.ranking import CELL, cell, ranking

__all__ = [
    "CELL",
    "LEGEND",
    "Outcome",
    "cell",
    "exact_table",
    "of_row",
    "of_task",
    "published_outcomes",
    "published_table",
    "ranking",
]
