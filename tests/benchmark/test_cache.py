"""The cache: computes once, and never trusts what it finds."""

import os
import time
from pathlib import Path

import pytest
from formalbench import cache
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


DAMAGE = {
    "empty": lambda sealed: b"",
    "cut": lambda sealed: sealed[:-1],
    "a flipped number": lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
    "a seal of nothing": lambda sealed: b"\0" * 32 + sealed[32:],
    "what an older version wrote": lambda sealed: b'{"key": "key", "value": 1}',
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_computed_again(damage):
    cached("key", lambda: 1)
    (entry,) = (cache_folder() / "values").iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert cached("key", lambda: 2) == 2
    assert cached("key", lambda: 3) == 2


def test_another_keys_entry_is_computed_again():
    cached("key", lambda: 1)
    (entry,) = (cache_folder() / "values").iterdir()
    cached("other", lambda: 2)
    (other,) = set((cache_folder() / "values").iterdir()) - {entry}
    other.replace(entry)
    assert cached("key", lambda: 3) == 3


def test_what_is_no_plain_file_is_not_read():
    cached("key", lambda: 1)
    (entry,) = (cache_folder() / "values").iterdir()
    entry.unlink()
    os.mkfifo(entry)  # reading it blocks forever
    assert cached("key", lambda: 2) == 2


def test_files_not_used_for_longest_go_and_so_does_what_a_kill_left(monkeypatch):
    for value in range(3):
        cached(value, lambda: "x" * 100)
    folder = cache_folder() / "values"
    files = list(folder.iterdir())
    half, writing = folder / ".writing-old", folder / ".writing-new"
    for index, path in enumerate((*files, half, writing)):
        path.touch()
        age = [1, 2, 3, FORGOTTEN + 60, 0][index]
        os.utime(path, (time.time() - age,) * 2)
    monkeypatch.setattr(cache, "MAX_BYTES", 2 * files[0].stat().st_size)
    cache.prune(folder)
    assert set(folder.iterdir()) == {*files[:2], writing}
    cache.prune(folder, max_age=1.5)
    assert set(folder.iterdir()) == {files[0], writing}


def test_a_new_value_takes_the_room_of_what_was_not_read_for_longest(monkeypatch):
    for key in ("unused", "read"):
        cached(key, lambda: 1)
    for entry in (cache_folder() / "values").iterdir():
        os.utime(entry, (0, 0))
        monkeypatch.setattr(cache, "MAX_BYTES", 2 * entry.stat().st_size)
    cached("read", lambda: 2)
    cached("new", lambda: 3)
    assert [cached(key, lambda: 4) for key in ("read", "new", "unused")] == [1, 3, 4]


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


def test_what_a_killed_process_of_this_machine_left_goes_at_once(spawn):
    script = "from formalbench.cache import temporary_folder; import time\n"
    script += (
        "folder = temporary_folder('progress'); print(folder.name, flush=True); time.sleep(99)"
    )
    process = spawn("-c", script)
    left = Path(process.stdout.readline().strip())
    with temporary_folder("progress"):
        assert left.is_dir()  # its process is alive
    process.kill()
    process.wait()
    (left / "file").write_text("")
    with temporary_folder("progress"):
        assert not left.exists()
