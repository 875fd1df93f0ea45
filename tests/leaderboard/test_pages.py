"""The pages of the repository: what they say, where they lead, and what is left over."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from formalbench.store import Store
from formalbench.store.repository import PUBLISHED_RESULTS
from formalbench_leaderboard.publishing.publish import publish
from formalbench_leaderboard.publishing.rendered import linked_files, render_files, stale_files

MODELS, SUITES = Path("leaderboard/models"), Path("leaderboard/suites")


def placed(records):
    store = Store(PUBLISHED_RESULTS / "default")
    return {store.path_of(record): record for record in records}


def pages(records, host, files=()):
    contents = render_files(placed(records), host, files)
    return {path: text.decode() for path, text in contents.items() if path.suffix == ".md"}


@pytest.fixture
def clone(tmp_path, many_records, host):
    store = Store(tmp_path / "mine")
    for record in many_records:
        store.write(record)
    repository = tmp_path / "clone"
    publish(store.path, repository, host)
    return repository


def test_there_is_a_page_per_suite_and_per_model(many_records, host):
    found = pages(many_records, host)
    assert set(found) == {
        Path("leaderboard/README.md"),
        SUITES / "default.md",
        MODELS / "regulargpt.md",
        MODELS / "rnn.md",
        MODELS / "transformer.md",
    }
    front = found[Path("leaderboard/README.md")]
    assert "## Suite default, protocol quick (version 1)" in front
    assert "| [regulargpt](models/regulargpt.md)" in front
    assert "### parity" not in front
    suite = found[SUITES / "default.md"]
    assert "### parity" in suite
    assert "| [regulargpt](../models/regulargpt.md)" in suite


def test_a_model_page_shows_every_seed_and_every_command(many_records, host):
    page = pages(many_records, host)[MODELS / "rnn.md"]
    assert "| 1 of 2 " in page
    chosen = [r for r in many_records if r.model.name == "rnn" and r.learning_rate == 0.001]
    assert len(chosen) == 9
    for record in chosen:
        assert page.count(f"-{record.test_id}.json)") == 1
        shown = record.seed == 2  # the command of the highest seed repeats the others
        assert (f"<code>{record.command}</code>" in page) == shown
    assert "[89.0](../results/default/rnn/parity--classify/quick-lr0.001-seed1-" in page


def test_every_link_between_files_leads_somewhere(clone):
    files = list(clone.rglob("*.md"))
    assert len(files) == 5
    for file in files:
        targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8"))
        assert targets, file
        for target in targets:
            if "://" not in target:
                assert (file.parent / unquote(target)).exists(), (file, target)


def test_weights_are_linked_where_they_lie(make_record, host):
    record = make_record().model_copy(update={"weights": "a" * 64})
    (path,) = placed([record])
    with_them = pages([record], host, {path.with_suffix(".safetensors")})[MODELS / "regulargpt.md"]
    assert f"{path.stem}.json) ([weights](" in with_them
    assert ".safetensors" not in pages([record], host)[MODELS / "regulargpt.md"]


def test_runs_that_failed_are_shown_as_what_they_are(make_record, host):
    records = [make_record(), make_record(seed=1, status="diverged")]
    page = pages(records, host)[MODELS / "regulargpt.md"]
    assert "[diverged](" in page
    assert "1 of 2 finished (1 diverged)" in page


def test_a_suite_has_a_page_once_it_has_records(make_record, host):
    assert not any(path.parent == SUITES for path in pages([], host))
    found = pages([make_record(task="even-pairs:classify")], host)
    assert "### even-pairs" in found[SUITES / "other.md"]
    partial = pages([make_record()], host)[SUITES / "default.md"]
    assert "there is no ranking" in partial
    assert "### parity" in partial


def test_two_models_never_share_a_page(make_record, host):
    records = [
        make_record("a model"),
        make_record("a-model"),
        make_record("A-model"),
        make_record("rnn"),
        make_record("rnn", distribution="rnn.py", sha256="a" * 64),
        make_record("🙂"),
    ]
    found = pages(records, host)
    names = [path.name for path in found if path.parent == MODELS]
    assert len({name.casefold() for name in names}) == len(records)
    assert "model.md" in names
    assert sum("# rnn (rnn.py)" in text for text in found.values()) == 1


@pytest.mark.parametrize("name", ["<script>x</script>", "a|b", "x](http://e.org)", "../../up"])
def test_hostile_names_do_no_harm(make_record, host, name):
    found = pages([make_record(name, command=name), make_record("good")], host)
    assert len(found) == 4
    for path, text in found.items():
        assert path.is_relative_to("leaderboard")
        assert ".." not in path.parts
        assert "<script" not in text
        assert "://e.org" not in text


def test_files_left_over_are_noticed_and_removed(clone, host):
    assert stale_files(clone, host) == []
    old = clone / MODELS / "renamed.md"
    old.write_text("# gone\n")
    page = clone / SUITES / "default.md"
    page.write_bytes(page.read_bytes().replace(b"9", b"8", 1))
    assert stale_files(clone, host) == [SUITES / "default.md", MODELS / "renamed.md"]
    publish(clone / PUBLISHED_RESULTS, clone, host)
    assert not old.exists()
    assert stale_files(clone, host) == []


def test_reproductions_are_linked_by_their_titles(clone, host):
    folder = clone / "leaderboard" / "reproductions"
    folder.mkdir()
    (folder / "chi-table2.md").write_text("# it\n")
    assert Path("leaderboard/reproductions/chi-table2.md") in linked_files(clone)
    assert Path("leaderboard/README.md") in stale_files(clone, host)
    publish(clone / PUBLISHED_RESULTS, clone, host)
    front = (clone / "leaderboard" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"- \[[^\]]+\]\(reproductions/chi-table2\.md\)", front)
