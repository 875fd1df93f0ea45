"""The cache: computes once, and never trusts what it finds."""

import os
import time

import pytest
from formalbench.cache import FORGOTTEN, cache_folder, cached, temporary_folder


def test_computes_once():
    calls = []

    def compute():
        calls.append(1)
        return {"value": [1, 2.5]}

    assert cached(["a", 1], compute) == {"value": [1, 2.5]}
    assert cached(["a", 1], compute) == {"value": [1, 2.5]}
    assert len(calls) == 1
    cached(["a", 2], compute)
    assert len(calls) == 2


@pytest.mark.parametrize("contents", ["", "{", "[]", "null", "{}", '{"key": "other", "value": 1}'])
def test_a_damaged_entry_is_computed_again(contents):
    cached("key", lambda: 1)
    (entry,) = cache_folder().iterdir()
    entry.write_text(contents)
    assert cached("key", lambda: 2) == 2
    assert cached("key", lambda: 3) == 2


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert cached("key", lambda: 1) == 1
    assert cached("key", lambda: 2) == 2


def test_what_a_kill_left_in_a_temporary_folder_goes_in_time():
    folder = cache_folder() / "progress"
    kept, busy, gone = (folder / name for name in ("kept", "busy", "gone"))
    for each in (kept, busy, gone):
        each.mkdir(parents=True)
        (each / "1.jsonl").write_text("")
    long_ago = time.time() - FORGOTTEN - 60
    for path in (gone, gone / "1.jsonl", busy):  # in a busy one a file is still written to
        os.utime(path, (long_ago, long_ago))
    with temporary_folder("progress") as own:
        assert sorted(folder.iterdir()) == sorted([busy, kept, folder / own])
    assert sorted(folder.iterdir()) == [busy, kept]
