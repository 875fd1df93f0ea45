"""Papers' numbers: as published, and beside ours."""

import functools

import pytest
from built_records import TO_ITS_END, with_test
from formalbench.contracts.cells import Sums
from formalbench.contracts.paper_tables import PublishedFile, PublishedRow, PublishedTable
from formalbench.host import PluginHost
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import protocol_key
from formalbench.store import Store
from formalbench_leaderboard.board.paper_comparison import Premises, is_ours, paper_comparisons
from formalbench_leaderboard.board.predictions import expected_learning
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.renderers.evidence_pages import kept_records, papers_page
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


TABLE = {
    "key": "paper",
    "source": "A paper",
    "citation": "A paper",
    "arxiv": "2301.00001",
    "notes": ["a note"],
    "settings": {"tested": [50, 60], "steps": 7, "seeds": 5, "selected": "test"},
    "columns": {"parity, long": {"task": "parity", "tested": [70, 80]}},
    "rows": [
        {
            "model": "RNN",
            "ours": ["rnn"],
            "network": {"width": 256},
            "differs": ["it is theirs"],
            "results": {"parity": {"max": 90.0, "mean": 80.0}, "parity, long": {"max": 50.0}},
        },
        {"model": "another", "results": {"parity": {"mean": 10.0}}},
    ],
}


def found(records, table=TABLE):
    view = View("test", ("parity",), published=(PublishedTable.model_validate(table),))
    known = Premises(
        {protocol_key(record): record.protocol for record in records},
        lambda model: {"width": 128},
        lambda task: (1, 40),
    )
    return paper_comparisons(build_page(records, view), known)


@pytest.fixture
def three(make_record):
    every = [(100, 100, 90, 70), (100, 60, 60, 60), (100, 90, 80, 50)]
    return [make_record("rnn", accuracy=right, seed=seed) for seed, right in enumerate(every)]


def test_what_a_paper_has_at_99_percent_was_to_be_learned(three):
    assert expected_learning((), found(three)) == []
    row, other = TABLE["rows"]
    better = {**row, "results": {**row["results"], "parity": {"max": 99.0, "mean": 60.0}}}
    (cell,) = expected_learning((), found(three, {**TABLE, "rows": [better, other]}))
    assert (cell.row.model, cell.result.task, cell.said_by) == ("rnn", "parity", ("A paper",))
    assert cell.result.mastered


def test_ours_is_of_the_papers_lengths_and_of_all_seeds(three):
    near, far = found(three)
    assert three[0].test.cells.length == (41, 51, 61, 71)
    assert (near.max, near.mean) == (1.0, pytest.approx(2.5 / 3))
    assert (far.max, far.mean) == (0.7, pytest.approx(0.6))
    assert (near.by, near.difference) == ("mean", pytest.approx(2.5 / 3 - 0.8))
    assert (far.by, far.difference) == ("max", pytest.approx(0.2))


def test_what_did_not_finish_is_told_first_and_is_at_chance(make_record):
    right = {"status": "diverged", "training": TO_ITS_END}
    cell, *_ = found(
        [make_record("rnn"), make_record("rnn", seed=1), make_record("rnn", seed=2, **right)]
    )
    assert cell.differs[0] == "here 2 of 3 finished (1 diverged)"
    assert cell.mean == pytest.approx((1.0 + 1.0 + 0.5) / 3)
    other = make_record("lstm")
    none, *_ = found([other, *(make_record("rnn", seed=seed, **right) for seed in range(3))])
    assert none.differs[0] == "here 0 of 3 finished (3 diverged)"
    assert none.mean == 0.5
    assert found([make_record("rnn", **right)]) == []  # and chance is unknown


def test_nothing_stands_beside_what_was_not_tested_at_the_papers_lengths(three):
    far = {**TABLE, "settings": {"tested": [5000, 6000]}, "columns": {}}
    far["rows"] = [{**TABLE["rows"][0], "results": {"parity": {"mean": 10.0}}}]
    assert found(three, far) == []


def test_a_model_is_matched_by_what_the_paper_says_and_by_no_look_of_its_name():
    row = PublishedRow.model_validate(
        {**TABLE["rows"][0], "ours": ["mine[positions=rope, causal=true]"]}
    )
    assert is_ours(row, "mine[causal=true, positions=rope]")
    assert is_ours(row, "mine[causal=true, positions=rope, width=9]")
    assert not is_ours(row, "mine[causal=true, layers=3, positions=rope]")
    assert not is_ours(row, "mine")
    assert not is_ours(row, "RNN")
    assert not is_ours(row, "mine[[,")


def test_a_column_that_no_row_has_is_refused():
    with pytest.raises(ValidationError, match="no row has a number of column nowhere"):
        PublishedTable.model_validate({**TABLE, "columns": {"nowhere": {"task": "parity"}}})


def test_every_model_that_a_paper_names_is_one_of_ours():
    host = PluginHost.load()
    named = [
        (table, row, name) for table in host.published() for row in table.rows for name in row.ours
    ]
    assert len({table.key for table, _, _ in named}) >= 6
    for table, row, name in named:
        assert host.select_model(name, (), row.network).config is not None
        for column in row.results:
            about = table.column(column)
            assert about.tested, (table.key, column)


def test_the_page_escapes_and_says_what_it_shows(three):
    hostile = {**TABLE, "source": "<b>|x|"}
    page = papers_page(found(three, hostile))
    assert "<b>" not in page
    assert "width: 256, here 128" in page
    assert "a note" in page


def test_the_command(cli, own_place, tmp_path, make_record, protocol):
    store = Store(tmp_path / "runs")
    version = PluginHost.load().models.get("rnn")[0].spec.version
    own = {**protocol, "name": "own"}
    for seed in range(3):
        store.write(make_record("rnn", seed=seed, protocol=own, model_version=version))
    asked = ("leaderboard", "papers", "--results", store.path)
    told = cli(*asked, "--format", "json").data["papers"]
    assert {one["paper"] for one in told} == {"chi-2023-table-1", "deletang-2023"}
    assert all(one["model"] == "rnn" and one["task"] == "parity" for one in told)
    assert "difference" in cli(*asked).out


def test_where_each_answer_counts_a_run_has_the_share_of_all(three):
    def answering(record, right):
        counted = {"answer-accuracy": Sums(total=(right, 30), count=(40, 60))}
        return with_test(record, metrics=counted, window=2)

    table = {**TABLE, "settings": {"counted": "answers", "tested": [500, 600]}}
    records = [answering(record, right) for record, right in zip(three, (10, 30, 20), strict=True)]
    first, _ = found(records, table)
    assert (first.max, first.mean) == (0.6, pytest.approx(0.5))
    assert "accuracy is over all answers, here averaged over lengths" in first.differs
    assert found(three, table) == []  # no answers were counted


def test_a_damaged_file_of_records_has_none(tmp_path):
    folder = tmp_path / "leaderboard" / "reproductions"
    folder.mkdir(parents=True)
    (folder / "one.records.jsonl").write_text("no records")
    assert kept_records(tmp_path) == []
