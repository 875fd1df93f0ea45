"""The data of the views of a task, a model and a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_records import build_document
from formalbench.documents.reproduction import TableCell
from formalbench.statistics.build import View, build_page
from formalbench.store import Store
from formalbench_leaderboard.page.descriptions import MOST_LINKED, details
from formalbench_leaderboard.publishing.places import published_path


@pytest.fixture
def told(host, repository):
    def tell(records, folders=(), output=None):
        page = build_page(records, View("test", ("parity",)))
        return details(page, host, records, folders, output)

    return tell


def test_a_record_that_lies_where_it_belongs_has_an_address(
    make_record, told, host, tmp_path, repository, monkeypatch
):
    mine, gone = make_record(), make_record(seed=1)
    published = make_record(seed=2)
    Store(tmp_path / "mine").write(mine)
    file = repository / published_path(published, host)
    file.parent.mkdir(parents=True)
    file.write_text(published.to_json())
    output = tmp_path / "pages" / "here"
    found = told([mine, gone, published], [tmp_path / "mine"], output)["records"]
    assert set(found) == {mine.test_id, published.test_id}
    for identity, record in ((mine.test_id, mine), (published.test_id, published)):
        place = (output / found[identity]).resolve()
        assert place.read_text() == record.to_json()
    for name, value in (
        ("REPOSITORY", "us/it"),
        ("SHA", "abc"),
        ("SERVER_URL", "https://code.example"),
    ):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    on_the_web = told([mine, published], [tmp_path / "mine"], output)["records"]
    inside = file.relative_to(repository).as_posix()
    assert on_the_web[published.test_id] == f"https://code.example/us/it/blob/abc/{inside}"
    assert on_the_web[mine.test_id] == found[mine.test_id]
    monkeypatch.setattr("formalbench_leaderboard.page.descriptions.MOST_LINKED", 1)
    assert told([mine, published], [tmp_path / "mine"], output)["records"] == {}
    assert MOST_LINKED > 1


def test_what_reproductions_found_on_a_task_is_told_with_its_verdict(
    make_record, told, repository: Path
):
    cells = [
        TableCell(row="parity, long", column="RNN", paper="100.0", ours="99.0", verdict="holds"),
        TableCell(row="RNN", column="parity", paper="50.0", ours="99.0", verdict="differs"),
        TableCell(row="parity-like", column="first", paper="1", ours="2", verdict="differs"),
    ]
    document = build_document(cells, reproduction="table", title="A table", source="A paper")
    folder = repository / "leaderboard" / "reproductions"
    folder.mkdir(parents=True)
    (folder / "table.json").write_text(document.model_dump_json())
    (folder / "damaged.json").write_text("{")
    found = told([make_record()])["reproduced"]
    assert list(found) == ["parity"]
    (one,) = found["parity"]
    assert one["cells"] == [["RNN", "100.0", "99.0", "holds"], ["RNN", "50.0", "99.0", "differs"]]
    assert one["verdicts"] == {"holds": 1, "differs": 1}
