"""The data of the views of a task, a model and a comparison."""

import pytest
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
