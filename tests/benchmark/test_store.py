"""The store: files written whole or not at all, and never outside their folder."""

import gc
import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from formalbench import store as storing
from formalbench.contracts.errors import RequestError
from formalbench.files import UNFINISHED, write_atomically
from formalbench.store import Store, default_results, read_record, weights_path, without_collection
from made_records import make, make_finished, write_many
from refusals import refusal


def files(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_round_trip(results):
    store = Store(results)
    assert store.records() == []
    one, other = make(test_id="1" * 16), make(test_id="2" * 16, task="first:tag")
    path = store.write(one)
    store.write(other)
    assert path == store.path_of(one)
    assert sorted(r.test_id for r in store.records()) == ["1" * 16, "2" * 16]
    assert read_record(path) == one
    assert path.stat().st_mode & 0o777 == 0o644


def test_where_a_record_goes(results):
    def place(**change):
        return Store(results).path_of(make(**change)).relative_to(results).as_posix()

    name = f"quick-lr0.0003-seed1-{'0' * 16}.json"
    assert place() == f"lstm/parity--classify/{name}"
    options = {"chunk": 3, "bias": False}
    assert place(options=options) == f"lstm-bias=false-chunk=3/parity--classify/{name}"
    changed = {"name": "quick", "version": 1, "changed": {"steps": 60, "test.lengths": [41, 50]}}
    name = f"quick-steps=60-test.lengths=41-50-lr0.0003-seed1-{'0' * 16}.json"
    assert place(protocol=changed) == f"lstm/parity--classify/{name}"
    exact = place(kind="exact", learning_rate=None)
    assert exact == f"lstm/parity--classify/quick-seed1-{'0' * 16}.json"


def test_a_run_again_takes_the_place_of_its_old_record(results):
    store = Store(results)
    store.write(make(message="first"))
    store.write(make(message="second"))
    assert [record.message for record in store.records()] == ["second"]


@pytest.mark.parametrize(
    "name",
    ["../../up", "/etc/passwd", "..", ".", "...", "a/b", "a\\b", "~", "-rf", "CON:x", "a\0b",
     "a\nb", "ü/ä", "%2e%2e%2f", ".hidden", "$HOME"],
)  # fmt: skip
def test_a_path_never_leaves_the_folder(results, name):
    store = Store(results)
    record = make(model=name, task=f"{name}:classify", options={name: name})
    path = store.write(record)
    assert path.resolve().is_relative_to(results.resolve())
    assert path.suffix == ".json"
    assert not any(part.startswith(".") for part in path.relative_to(results).parts)
    assert all(part.isprintable() for part in path.parts)
    assert store.records() == [record]


def test_long_names_can_be_stored(results):
    store = Store(results)
    record = make(model="m" * 200, options={"k" * 100: "v" * 200, "l" * 100: "w" * 200})
    store.write(record)
    assert store.records() == [record]


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_nothing_is_left_when_writing_fails(results, monkeypatch, broken):
    store = Store(results)
    store.write(make(message="before"))
    before = files(results)

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    if broken == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RequestError, match="No space left on device") as caught:
        store.write(make(message="after"))
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert files(results) == before
    assert [record.message for record in store.records()] == ["before"]


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "f.json"
    write_atomically(path, "old")
    seen = []
    real = os.fsync

    def watching(descriptor):
        seen.append(path.read_text())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watching)
    write_atomically(path, "new")
    assert seen == ["old"]
    assert path.read_text() == "new"


def test_several_files_that_are_no_records_are_named_at_once(results):
    store = Store(results)
    good = make()
    store.write(good)
    for number in range(3):
        (results / f"bad-{number}.json").write_text("[]")
    told = refusal(store.records)
    for number in range(3):
        assert f"bad-{number}.json: not a record" in told
    found, invalid = store.valid()
    assert found == [good]
    assert [line.partition(":")[0] for line in invalid] == [
        str(results / f"bad-{number}.json") for number in range(3)
    ]


def test_records_of_an_older_format_are_left_out_with_one_line(results, capsys):
    store = Store(results)
    new = make()
    path = store.write(new)
    old = path.with_name("old.json")
    old.write_text(path.read_text().replace('"schema_version":2', '"schema_version":1'))
    assert store.records() == store.records() == [new]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"formalbench: 1 record below {results} written by an older formalbench")
    for read in (store.files, lambda: read_record(old)):
        with pytest.raises(
            RequestError, match=r"old\.json: schema_version 1 was written by an older"
        ):
            read()


def test_other_files_are_not_looked_at(results):
    store = Store(results)
    store.write(make())
    (results / "notes.txt").write_text("hello")
    (results / ".writing-x").write_text("{")
    assert len(store.records()) == 1


def test_the_default_folder(tmp_path, monkeypatch):
    assert default_results() == tmp_path / "results"
    monkeypatch.delenv("FORMALBENCH_RESULTS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_results().name == "results"
    assert "formalbench" in default_results().parts


def test_the_record_of_a_run(results):
    store = Store(results)
    record = make()
    assert store.record_of(record) is None
    path = store.write(record)
    assert store.record_of(record) == record
    path.write_text(make(test_id="1" * 16).to_json())  # not the one its name says
    assert store.record_of(record) is None


def test_weights_are_found_by_what_trained_them(results):
    store = Store(results)
    kept, other = make_finished(0, b"weights"), make_finished(1, b"weights", train_id="b" * 16)
    failed, bare = make(test_id="2" * 16), make_finished(3, b"weights", weights=None)
    gone, seed = make_finished(4, b"weights"), make_finished(5, b"weights", seed=2)
    for record in (kept, other, failed, bare, seed):
        store.write(record, b"weights")
    store.write(gone)
    wanted = make(test_id="9" * 16)  # another test of the same run
    (store.path_of(wanted).parent / "quick-lr0.0003-seed1-damaged.json").write_text("{")
    ((found, path),) = store.trained(wanted)
    assert found == kept
    assert path.read_bytes() == b"weights"
    assert list(store.trained(make(task="first:classify"))) == []


def test_ctrl_c_leaves_nothing_half_written(results, monkeypatch):
    results.mkdir(exist_ok=True)

    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(results / "x.json", "{}")
    assert list(results.iterdir()) == []


def test_what_a_killed_process_left_is_swept_and_what_another_writes_is_not(results):
    old, new = results / "deep" / ".writing-old", results / ".writing-new"
    for file in (old, new):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{")
    os.utime(old, (0, 0))
    Store(results).check_writable()
    assert not old.exists()
    assert new.exists()


def test_the_collector_works_again_after_reading(tmp_path):
    assert gc.isenabled()
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(RequestError):
        Store(tmp_path).files()
    assert gc.isenabled()
    with without_collection():
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


# A store that several processes and several users share.


HERE = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "

NOBODY = 65534


def test_of_two_who_do_one_run_the_record_that_stays_has_its_own_weights(results, monkeypatch):
    """One writes both its files between the two of the other."""
    store, write, between = Store(results), storing.write_atomically, []

    def interleaved(path, contents):
        write(path, contents)
        if contents == b"mine" and not between:
            between.append(path)
            store.write(make_finished(1, b"other"), b"other")

    monkeypatch.setattr(storing, "write_atomically", interleaved)
    path = store.write(make_finished(1, b"mine"), b"mine")
    assert between
    (kept,) = store.records()
    assert kept.weights == sha256(weights_path(path).read_bytes()).hexdigest()


@pytest.mark.slow
def test_many_write_one_store_while_another_reads(results, spawn):
    """All writes arrive, equal ones once, and no reader sees a part."""
    script = (
        HERE
        + "from made_records import write_many; write_many(*sys.argv[1:2], *map(int, sys.argv[2:]))"
    )
    writers = [spawn("-c", script, results, first, first + 40) for first in (0, 20, 40, 60)]
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        store = Store(results)
        found = store.records()
        assert all(weights_path(store.path_of(one)).is_file() for one in found)
        seen.append(len(found))
    assert [writer.returncode for writer in writers] == [0] * 4
    assert seen == sorted(seen)  # nothing that was there is ever missing
    assert len(Store(results).records()) == 100
    assert not [file for file in results.rglob("*") if file.name.startswith(UNFINISHED)]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs two users: be root")
def test_another_user_reads_what_the_first_wrote_and_changes_nothing():
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        Path(place).chmod(0o755)
        results = Path(place) / "results"
        write_many(results, 0, 2)
        (results / ".slurm-0").mkdir(mode=0o700)
        done = as_nobody(results)
    assert done.returncode == 0, done.stderr
    count, refused = done.stdout.splitlines()
    assert count == "2"
    assert refused.startswith("cannot write")
    assert "Permission denied" in refused


def as_nobody(results):
    """Read a store and write to it, as a user with no rights."""
    script = (
        HERE
        + """
import os
from pathlib import Path
from formalbench import RequestError
from formalbench.store import Store
from made_records import write_many
os.setgroups([]); os.setgid(NOBODY); os.setuid(NOBODY)
print(len(Store(Path(sys.argv[1])).records()))
try:
    write_many(sys.argv[1], 2, 3)
except RequestError as error:
    print(error)
""".replace("NOBODY", str(NOBODY))
    )
    return subprocess.run([sys.executable, "-c", script, results], capture_output=True, text=True)
