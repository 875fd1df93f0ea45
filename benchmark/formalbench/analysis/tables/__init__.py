"""The tables of a page, each a list of columns: every renderer shows these and knows no other."""

from formalbench.analysis.tables.beside import beside_summary, beside_table
from formalbench.analysis.tables.exact import LEGEND, exact_table
from formalbench.analysis.tables.expected import taught_table
from formalbench.analysis.tables.lacking import LACKING, lacking_table
from formalbench.analysis.tables.outcomes import Outcome, of_row, of_task
from formalbench.analysis.tables.papers import published_data, published_table
from formalbench.analysis.tables.places import by_place
from formalbench.analysis.tables.predicted import agreement_table, predicted_table
from formalbench.analysis.tables.ranking import CELL, cell, ranking

__all__ = [
    "CELL",
    "LACKING",
    "LEGEND",
    "Outcome",
    "agreement_table",
    "beside_summary",
    "beside_table",
    "by_place",
    "cell",
    "exact_table",
    "lacking_table",
    "of_row",
    "of_task",
    "predicted_table",
    "published_data",
    "published_table",
    "ranking",
    "taught_table",
]
