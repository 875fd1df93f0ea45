"""The published numbers, against the papers."""

from __future__ import annotations

import functools

import pytest
from formalbench.contracts.published import PublishedFile
from formalbench.host import PluginHost
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.renderers import renderer
from pydantic import ValidationError

CHI_TABLE_1 = """\
even-pairs | 100 / 100 | 99.7 / 73.2 | 100 / 89.3 | 100 / 96.6
modular-arithmetic | 100 / 100 | 21.9 / 20.3 | 96.4 / 82.6 | 21.2 / 20.5
parity | 100 / 98.9 | 52.3 / 50.1 | 100 / 100 | 100 / 88.7
cycle-navigation | 100 / 100 | 21.7 / 20.6 | 100 / 100 | 100 / 78.6
d2 | 100 / 100 | 100 / 80.1 | 100 / 100 | 99.8 / 96.5
d3 | 100 / 100 | 100 / 77.8 | 100 / 99.7 | 98.6 / 93.0
d4 | 100 / 100 | 100 / 82.6 | 100 / 98.7 | 97.7 / 91.6
d12 | 100 / 100 | 100 / 80.3 | 100 / 99.8 | 94.1 / 90.4
tomita-3 | 100 / 100 | 100 / 94.4 | 100 / 99.7 | 100 / 99.9
tomita-4 | 100 / 100 | 100 / 70.0 | 100 / 99.8 | 100 / 99.3
tomita-5 | 100 / 100 | 74.5 / 74.5 | 100 / 99.8 | 98.2 / 84.1
tomita-6 | 100 / 100 | 50.0 / 50.0 | 100 / 98.5 | 100 / 65.7
"""


@functools.cache
def published_tables():
    return PluginHost.load().published()


def cell(key, model, task):
    (table,) = (table for table in published_tables() if table.key == key)
    (row,) = (row for row in table.rows if row.model == model)
    return row.results[task].max, row.results[task].mean


def test_chi_table_1_is_complete():
    table = published_tables()[0]
    assert [row.model for row in table.rows] == [
        "RNN",
        "Transformer",
        "RegularGPT (C=2)",
        "RegularGPT (C=3)",
    ]
    for line in CHI_TABLE_1.splitlines():
        task, *cells = line.split(" | ")
        for row, pair in zip(table.rows, cells, strict=True):
            result = row.results[task]
            assert (result.max, result.mean) == tuple(map(float, pair.split(" / ")))
    assert len(table.tasks) == len(CHI_TABLE_1.splitlines()) == 12


def test_deletang():
    assert cell("deletang-2023", "Transformer", "parity") == (52.0, 50.4)
    assert cell("deletang-2023", "Transformer", "even-pairs") == (None, 67.7)
    assert cell("deletang-2023", "LSTM", "cycle-navigation") == (None, 90.0)
    assert cell("deletang-2023", "Stack-RNN", "cycle-navigation") == (None, 96.8)
    assert cell("deletang-2023", "Tape-RNN", "odds-first") == (100.0, None)


def test_the_always_reject_level_is_told():
    assert any("75 %" in note for note in published_tables()[0].notes)


def test_published_rows_are_never_among_measured_ones(make_record):
    page = build_page([make_record("rnn")], View("test", ("parity",), published=published_tables()))
    assert [row.model for row in page.boards[0].rows] == ["rnn"]
    origins = {line.split(",")[0].strip('"')[:9] for line in renderer("csv")(page).splitlines()[1:]}
    assert origins == {"measured", "published"}
    table = renderer("table")(page)
    assert table.index("published: Chi") < table.index("rnn")  # the board comes last


def test_a_wrong_file_is_refused():
    table = published_tables()[0].model_dump(mode="json")
    table["rows"][0]["results"]["parity"] = {"max": 101.0}
    with pytest.raises(ValidationError):
        PublishedFile.model_validate({"schema_version": 1, "tables": [table]})
    table["rows"][0]["results"]["parity"] = {}
    with pytest.raises(ValidationError):
        PublishedFile.model_validate({"schema_version": 1, "tables": [table]})


def test_no_board_shows_a_table_that_has_none_of_its_tasks():
    shown = [table.key for table in suite_view(PluginHost.load(), "default").published]
    assert "chi-2023-table-1" in shown
    assert "chi-2023-table-2" not in shown
    assert len(published_tables()) > len(shown)
