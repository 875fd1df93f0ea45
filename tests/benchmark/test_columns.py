"""Columns: every table's are complete, and a renderer is given nothing else."""

from __future__ import annotations

import pytest
from formalbench.documents.table import (
    Column,
    Sheet,
    interval_column,
    number,
    percentage,
    share,
    words,
)
from formalbench_leaderboard.board.tables import EXACT, OUTCOME, STANDING


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


NUMBERS = Sheet(
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


KINDS = [
    words("word", "", lambda item: item["word"], more={"also": lambda item: 1}),
    number("n", "", lambda item: item["n"], "count", "{:,}".format),
    percentage("share", "", lambda item: item["share"]),
    interval_column("ends", "", lambda item: item["ends"]),
]


def test_the_common_kinds_are_read_once_as_text_and_as_data():
    full = {"word": "a", "n": 4096, "share": 2 / 3, "ends": (0.25, 0.5)}
    none = {"word": None, "n": None, "share": None, "ends": (None, None)}
    sheet = Sheet(KINDS, [full, none])
    assert sheet.texts == [["a", "4,096", "66.7", "25.0 … 50.0"], ["–"] * 4]
    assert sheet.data() == [
        {"word": "a", "also": 1, "count": 4096, "share": 0.666667, "low": 0.25, "high": 0.5},
        {"word": None, "also": 1, "count": None, "share": None, "low": None, "high": None},
    ]


def test_a_column_of_what_an_item_may_lack_is_a_dash_and_nothing():
    word, *_ = KINDS
    held = word.of(lambda item: item.get("held"))
    sheet = Sheet([held], [{"held": {"word": "a"}}, {}])
    assert sheet.texts == [["a"], ["–"]]
    assert sheet.data() == [{"word": "a", "also": 1}, {"word": None, "also": None}]


def test_words_have_no_order():
    name, half = NUMBERS.columns
    assert (name.order(3), half.order(3)) == (None, 1.5)
    assert (name.left, half.left) == (True, False)


def test_shares_in_data_have_six_digits():
    assert share(2 / 3) == 0.666667
    assert str(share(-1e-9)) == "0.0"
    assert share(None) is None
