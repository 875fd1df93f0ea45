"""Hostile contributions are rejected with one line without writing anything, or shown
harmlessly."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from built_records import forged, write_all
from formalbench.files import replacing
from formalbench.store import Store

NAMES = {
    "tag": "<script>alert(1)</script>",
    "bars": "a|b",
    "lines": "a\nb\r\n| c |",
    "direction": "\u202eevil\u202c",
    "path": "../../x",
    "absolute": "/etc/passwd",
    "nothing": "\x00\x1b[2J",
}


def change(record, **keys):
    """Return a record's text with some of its keys set, or taken out if None."""
    data = json.loads(record.to_json()) | keys
    return json.dumps({key: value for key, value in data.items() if value is not ...})


def nested(record):
    return change(record)[:-1] + f', "x": {"[" * 5000}{"]" * 5000}}}'


BAD = {
    "from the future": (lambda r: change(r, schema_version=3), "written by a newer formalbench"),
    "from the past": (lambda r: change(r, schema_version=1), "by an older formalbench"),
    "an unknown key": (lambda r: change(r, luck=7), "luck"),
    "a missing field": (lambda r: change(r, test=...), "only a run that finished"),
    "no schema": (lambda r: change(r, schema_version=...), "no integer schema_version"),
    "a missing part": (lambda r: change(r, environment=...), "environment"),
    "cut off": (lambda r: r.to_json()[:-20], "not valid JSON (truncated? move the file away"),
    "no JSON": (lambda r: "\x80\x04.", "not valid JSON"),
    "nothing": (lambda r: "", "not valid JSON"),
    "a key twice": (
        lambda r: change(r).replace('"seed": 0', '"seed": 1, "seed": 0'),
        "key 'seed' is given twice",
    ),
    "no object": (lambda r: "[1, 2]", "not a record"),
    "deep": (nested, "not valid JSON"),
    "a huge integer": (lambda r: change(r).replace('"seed": 0', f'"seed": {"9" * 9000}'), ""),
    "a huge exponent": (lambda r: change(r).replace('"seed": 0', '"seed": 1e999'), ""),
    "not a number": (lambda r: change(r).replace('"seed": 0', '"seed": NaN'), "not valid JSON"),
    "a long name": (
        lambda r: change(r, model=json.loads(r.to_json())["model"] | {"name": "a" * 10_000}),
        "model.name",
    ),
    "a path for a hash": (lambda r: change(r, weights="../../etc/passwd"), "weights"),
    "other strings": (
        lambda r: forged(r, {"test.fingerprint": "0" * 64}).to_json(),
        "its test.fingerprint is 0000",
    ),
}


@pytest.fixture
def sent(repository):
    """The folder of a contributor."""
    folder = repository.parent / "sent"
    folder.mkdir()
    return folder


@pytest.fixture
def refused(invoke, repository, sent):
    """Publish, and return the one line of a refusal."""

    def run(lines=1):
        before = sorted(repository.rglob("*"))
        done = invoke("publish", "--results", sent)
        assert done.exit_code == 1, done.output
        assert done.stdout == ""
        told = done.stderr.splitlines()
        assert len(told) == lines + 1
        assert told[-1] == f"{lines} refused: nothing was published"
        assert done.stderr.replace("\n", "").isprintable()
        assert sorted(repository.rglob("*")) == before
        return told[0]

    return run


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_record_is_one_line(refused, sent, make_record, fault):
    text, says = BAD[fault]
    (sent / "bad.json").write_text(text(make_record()))
    line = refused()
    assert "bad.json" in line
    assert says in line
    assert len(line) < 600


def test_a_gigabyte_is_refused_before_it_is_read(refused, sent):
    with (sent / "big.json").open("wb") as file:
        file.truncate(1 << 30)  # it takes no room on the disk
    assert "larger than 1000000 bytes" in refused()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_hostile_name_is_refused(refused, sent, make_record, name):
    for number, keys in enumerate([{"model": name}, {"distribution": name}]):
        (sent / f"{number}.json").write_text(make_record(**keys).to_json())
    task = make_record(task=f"{name}:classify", fingerprint="0" * 64)
    (sent / "task.json").write_text(task.to_json())
    option = make_record(options={name: 1})
    (sent / "option.json").write_text(option.to_json())
    refused(4)


@pytest.mark.parametrize("name", ["<script>.json", "a|b.json", "a\nb.json", "\u202e.json"])
def test_a_hostile_file_name_is_one_line(refused, sent, name):
    (sent / name).write_text("{}")
    refused()


def test_links_are_refused(refused, sent, repository, make_record):
    elsewhere = repository.parent / "elsewhere.json"
    elsewhere.write_text(make_record().to_json())
    (sent / "link.json").symlink_to(elsewhere)
    assert "a link" in refused()


def test_pipes_and_folders_are_refused(refused, sent):
    os.mkfifo(sent / "pipe.json")
    (sent / "folder.json").mkdir()
    assert "not a plain file" in refused(2)


def test_what_is_behind_a_linked_folder_is_not_looked_at(invoke, sent, repository, make_runs):
    outside = Store(repository.parent / "outside")
    write_all(outside, make_runs())
    (sent / "folder").symlink_to(outside.path)
    done = invoke("publish", "--results", sent)
    assert "no record below" in str(done.exception)


def test_two_records_of_one_run_that_disagree_are_refused(refused, invoke, sent, make_runs):
    write_all(Store(sent / "mine"), make_runs(accuracy=0.9))
    other = make_runs(accuracy=1.0)[0]
    path = Store(sent / "yours").write(other)
    line = refused()
    assert "two records of one run, and their numbers differ" in line
    assert str(path) in line
    path.unlink()
    Store(sent / "yours").write(make_runs(accuracy=0.9, date="2026-11-19T00:00:00Z")[0])
    assert invoke("publish", "--results", sent).exit_code == 0


def test_nothing_is_written_through_a_link_in_the_clone(invoke, repository, sent, make_runs):
    outside = repository.parent / "outside"
    outside.mkdir()
    (repository / "leaderboard" / "results" / "default").symlink_to(outside)
    write_all(Store(sent), make_runs())
    done = invoke("publish", "--results", sent)
    assert "leads out of the repository" in str(done.exception)
    assert list(outside.iterdir()) == []
    assert not list(repository.rglob("*.json"))


def test_check_names_every_bad_file(invoke, repository, make_runs):
    store = Store(repository.parent / "own")
    write_all(store, make_runs())
    invoke("publish")
    results = repository / "leaderboard" / "results"
    (results / "link.json").symlink_to("/etc/hostname")
    (results / "bad.json").write_text("{}")
    done = invoke("check")
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 2
    (results / "link.json").unlink()
    (results / "bad.json").unlink()
    (file, *_) = Store(results).files()
    moved = file.with_name("elsewhere.json")
    file.rename(moved)
    assert "elsewhere.json: belongs at leaderboard/results/default/" in invoke("check").stderr
    moved.rename(file)
    forged = change(make_runs()[0], test_id="0" * 16)
    (results / "forged.json").write_text(forged)
    assert "its test_id is 0000000000000000, not " in invoke("check").stderr
    (results / "forged.json").unlink()
    file.unlink()
    assert "missing (publish all you ran" in invoke("check").stderr


def test_check_names_files_that_publishing_does_not_write(invoke, repository, make_runs):
    write_all(Store(repository.parent / "own"), make_runs())
    invoke("publish")
    strays = [
        repository / "leaderboard" / "results" / "default" / ".writing-abc",
        repository / "leaderboard" / ".writing-abc",
        repository / "leaderboard" / "results" / "install.sh",
    ]
    for stray in strays:
        stray.write_text("{")
        done = invoke("check")
        assert done.exit_code == 1
        assert str(stray.relative_to(repository)) in done.stderr
        stray.unlink()
    strays[0].write_text("{")
    os.utime(strays[0], (0, 0))
    invoke("publish")
    assert not strays[0].exists()
    assert invoke("check").exit_code == 0


def test_results_behind_a_link_are_refused(invoke, repository, make_runs):
    results, outside = repository / "leaderboard" / "results", repository.parent / "outside"
    results.rename(outside)
    results.symlink_to(outside)
    write_all(Store(repository.parent / "own"), make_runs())
    for command in ("publish", "check"):
        assert "leaderboard/results: a link" in str(invoke(command).exception)
    assert not list(outside.iterdir())


def test_check_names_files_in_folders_of_pages_that_no_page_is(invoke, repository, make_runs):
    write_all(Store(repository.parent / "own"), make_runs())
    invoke("publish")
    invoke("render")
    assert invoke("check").exit_code == 0
    board = repository / "leaderboard"
    for name in ("models/evil.md", "models/a/rnn.md", "suites/x.html", "figures/a.svg"):
        stray = board / name
        stray.parent.mkdir(exist_ok=True)
        stray.write_text("")
        done = invoke("check", "--rendered")
        assert done.exit_code == 1
        assert f"leaderboard/{name} does not match" in done.stderr
        stray.unlink()
        if stray.parent.name == "a":
            stray.parent.rmdir()
    page = board / "models" / "regulargpt.md"
    page.unlink()
    page.symlink_to(board / "README.md")
    done = invoke("check", "--rendered")
    assert "leaderboard/models/regulargpt.md does not match" in done.stderr


KILLED = """
import os, sys
from pathlib import Path
from formalbench.files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"part")
    file.flush()
    os._exit(9)
"""


def test_the_next_command_deletes_what_a_killed_one_left(invoke, repository, make_runs):
    results = repository / "leaderboard" / "results"
    write_all(Store(repository.parent / "own"), make_runs())
    invoke("publish")
    commands = {
        ("check",): results / "default" / "a.json",
        ("publish",): repository / "weights-1.tar",
        ("weights", "pack", repository.parent / "all.tar"): repository.parent / "all.tar",
    }
    for command, file in commands.items():
        subprocess.run([sys.executable, "-c", KILLED, file], check=False)
        (left,) = file.parent.glob(".writing-*")
        invoke(*command)
        assert not left.exists(), command


def test_a_file_that_is_being_written_stays(invoke, repository):
    results = repository / "leaderboard" / "results"
    with replacing(results / "a.json"):
        (left,) = results.glob(".writing-*")
        assert f"{left.name}: left by a writer" in invoke("check").stderr
        assert left.exists()
