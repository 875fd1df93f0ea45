"""Columns: every table's are complete, and a renderer is given nothing else."""

import pytest
from formalbench.documents.table import (
    share,
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


def test_shares_in_data_have_six_digits():
    assert share(2 / 3) == 0.666667
    assert str(share(-1e-9)) == "0.0"
    assert share(None) is None
