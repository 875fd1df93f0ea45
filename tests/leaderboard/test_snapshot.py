"""The snapshot of the published records that the package carries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from built_records import write_all
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Training
from formalbench.store import Store
from formalbench.store.record_file import written
from formalbench_leaderboard.board import sources
from formalbench_leaderboard.board.sources import read_snapshot
from formalbench_leaderboard.publishing.publish import publish
from formalbench_leaderboard.renderers.render import render, stale_files

ROOT = Path(__file__).parents[2]


@pytest.fixture
def varied(many_records, make_record):
    training = Training(
        steps=1, ended="budget", stage=4, strings=1, seconds=0.1, strings_per_second=1e-7
    )
    answered = make_record("answered")
    entropy = answered.test.cells.metrics["cross-entropy"]
    cells = answered.test.cells.model_copy(
        update={"answers": (300,) * 4, "metrics": {"cross-entropy": entropy, "certainty": entropy}}
    )
    update = {"cells": cells, "extra_metrics": {"certainty": 1}}
    odd = make_record("a\n\u202e<b>", options={"x": 1.0, "y": 1, "z": True})
    return [
        *many_records,
        make_record(status="diverged", seed=7),
        make_record("by-hand", kind="exact", rate=None),
        make_record("timed").model_copy(update={"training": training, "weights": "a" * 64}),
        answered.model_copy(update={"test": answered.test.model_copy(update=update)}),
        odd,
        *Store(ROOT / "leaderboard" / "results" / "exact" / "exact-parity").all(),
    ]


def test_records_come_back_as_they_were(varied, tmp_path):
    file = tmp_path / "snapshot.jsonl"
    text = written(varied)
    file.write_text(text, encoding="ascii")
    back = read_snapshot(file)
    assert back == varied
    assert [one.to_json() for one in back] == [one.to_json() for one in varied]
    assert {type(one) for one in back} == {type(one) for one in varied}
    assert len(text.splitlines()) == len(varied) + 1
    assert text == written(back)


def test_what_the_repository_publishes_comes_back_and_takes_a_third(tmp_path):
    """Rendering on the main branch writes it; a pull request has records that are not in it yet."""
    held = Store(ROOT / "leaderboard" / "results").all()
    file = tmp_path / "snapshot.jsonl"
    file.write_text(written(held), encoding="ascii")
    assert read_snapshot(file) == held
    assert file.stat().st_size < sum(len(record.to_json()) for record in held) / 3


def test_the_package_carries_published_records():
    carried = read_snapshot()
    assert len(carried) > 100
    assert carried == read_snapshot(ROOT / sources.FILE)


def test_render_rebuilds_it_and_check_compares_it(tmp_path, host, make_runs):
    store = Store(tmp_path / "mine")
    write_all(store, make_runs())
    clone = tmp_path / "clone"
    publish(store.path, clone, host)
    render(clone, host)
    assert len(read_snapshot(clone / sources.FILE)) == 6
    (clone / sources.FILE).write_bytes(b"")
    assert stale_files(clone, host) == [sources.FILE]


def test_its_records_are_checked(varied, tmp_path):
    file = tmp_path / "snapshot.jsonl"
    head, first, *_ = written(varied).splitlines()
    for changed in (
        first.replace("[", "", 1),  # no JSON
        "[99]",  # no such shape
        first[:-1] + ",1]",  # more values
        "[0]",  # fewer
        "{}",
        "[]",
        "[0,77" + first[4:],  # no such shared part
    ):
        file.write_text(f"{head}\n{changed}\n", encoding="ascii")
        with pytest.raises(RequestError, match=r"snapshot\.jsonl: damaged") as caught:
            read_snapshot(file)
        assert "\n" not in str(caught.value)
    forged = json.loads(first)
    forged[-1] = "yesterday"
    file.write_text(f"{head}\n{json.dumps(forged)}\n", encoding="ascii")
    with pytest.raises(RequestError, match=r"snapshot\.jsonl: not a valid record: date"):
        read_snapshot(file)
    file.write_text("")
    with pytest.raises(RequestError, match="damaged"):
        read_snapshot(file)
    assert read_snapshot(tmp_path / "nowhere.jsonl") == []


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "own"))
    return Store(tmp_path / "own")


def test_outside_a_clone_the_snapshot_is_read_and_inside_never(
    own, tmp_path, monkeypatch, make_record
):
    own.write(make_record("own-one"))
    carried = make_record("carried-one")
    monkeypatch.setattr(sources, "read_snapshot", lambda: [carried])
    monkeypatch.chdir(tmp_path)
    runs, verifications, _ = sources.read_with_published()
    assert {record.model.name for record in runs} == {"own-one", "carried-one"}
    assert verifications == []
    (tmp_path / "leaderboard" / "results").mkdir(parents=True)
    published = Store(tmp_path / "leaderboard" / "results" / "default")
    published.write(make_record("published-one"))
    runs, *_ = sources.read_with_published()
    assert {record.model.name for record in runs} == {"own-one", "published-one"}


@pytest.mark.slow
def test_the_command_shows_it_outside_a_clone(own, tmp_path):
    words = [sys.executable, "-m", "formalbench", "leaderboard", "--format", "json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    boards = json.loads(done.stdout)["measured"]
    assert boards
    for board in boards:
        assert "rnn" in {row["model"] for row in board["rows"]}


