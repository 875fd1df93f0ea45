"""Columns: every table's are complete, and a renderer is given nothing else."""

from __future__ import annotations

import pytest
from formalbench.analysis.columns import Column, Table, share
from formalbench.analysis.tables.exact import EXACT
from formalbench.analysis.tables.outcomes import OUTCOME
from formalbench.analysis.tables.ranking import STANDING


@pytest.mark.parametrize(
    "columns", [STANDING, OUTCOME, EXACT], ids=["standing", "outcome", "exact"]
)
def test_every_column_is_explained_and_named_once(columns):
    assert all(column.heading and column.meaning for column in columns)
    headings = [column.heading for column in columns]
    assert len(set(headings)) == len(headings)
    names = [name for column in columns for name in column.data]
    assert len(set(names)) == len(names)


def test_standing_and_outcome_share_no_name_in_data():
    names = [name for column in (*STANDING, *OUTCOME) for name in column.data]
    assert len(set(names)) == len(names)


NUMBERS = Table(
    [
        Column("name", "a word", str, {"name": str}, "name"),
        Column(
            "half", "of it", lambda n: f"{n / 2:g}", {"half": lambda n: n / 2}, below={"x": "1"}
        ),
    ],
    [3, 4],
)


def test_a_table_gives_texts_data_and_lines_below():
    assert NUMBERS.headings == ["name", "half"]
    assert NUMBERS.texts == [["3", "1.5"], ["4", "2"]]
    assert NUMBERS.data() == [{"name": "3", "half": 1.5}, {"name": "4", "half": 2.0}]
    assert NUMBERS.below == {"x": [None, "1"]}
    assert NUMBERS.without("name").headings == ["half"]
    assert NUMBERS.only("half", "name").headings == ["half", "name"]


def test_words_have_no_order():
    name, half = NUMBERS.columns
    assert (name.order(3), half.order(3)) == (None, 1.5)
    assert (name.left, half.left) == (True, False)


def test_shares_in_data_have_six_digits():
    assert share(2 / 3) == 0.666667
    assert str(share(-1e-9)) == "0.0"
    assert share(None) is None
