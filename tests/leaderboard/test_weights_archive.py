"""Archives of weights: equal bytes when packed again, and malicious entries do no harm."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from built_records import weights_of, with_weights
from formalbench.contracts.errors import RequestError
from formalbench.files import replacing
from formalbench.store import Store, weights_path
from formalbench.store import archive as module
from formalbench.store.archive import INDEX, Archive, write_archive


@pytest.fixture
def runs(make_runs):
    """Six runs that name weights."""
    return [*map(with_weights, make_runs())]


@pytest.fixture
def published(repository, runs):
    """Publish the records of the runs, and keep the weights of half of them elsewhere."""
    store, own = Store(repository / "leaderboard/results"), Store(repository.parent / "own")
    for number, run in enumerate(runs):
        store.write(run)
        if number < 3:
            own.write(run, weights_of(run))
    return store


@pytest.fixture
def packed(invoke, published, tmp_path):
    file = tmp_path / "weights.tar"
    done = invoke("weights", "pack", file)
    assert done.exit_code == 0, done.output
    return file


def weights_below(folder):
    return {file: file.read_bytes() for file in folder.rglob("*.safetensors")}


def test_what_is_at_hand_is_packed_and_what_is_not_is_told(invoke, packed, runs, tmp_path):
    archive = Archive(packed)
    assert archive.index == {run.test_id: run.weights for run in runs[:3]}
    for run in runs[:3]:
        assert archive.read(run.weights) == weights_of(run)
    again = tmp_path / "again.tar"
    told = json.loads(invoke("weights", "pack", again, "--results", packed, "--json").stdout)
    assert again.read_bytes() == packed.read_bytes()
    assert set(told["records"]) == {run.test_id for run in runs[:3]}
    assert set(told["without"]) == {run.test_id for run in runs[3:]}
    assert told["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert told["bytes"] == packed.stat().st_size
    assert "without weights: regulargpt, 3 records" in invoke("weights", "pack", again).output


def test_the_standard_library_reads_it(packed, runs):
    with tarfile.open(packed) as tar:
        index = json.load(tar.extractfile(INDEX))
        assert index["weights"] == {run.test_id: run.weights for run in runs[:3]}
        for member in tar.getmembers():
            assert (member.mtime, member.uid, member.gid, member.uname) == (0, 0, 0, "")


def test_only_the_repository_is_looked_in_where_asked(invoke, published, packed, runs, tmp_path):
    nothing = invoke("weights", "pack", tmp_path / "more.tar", "--repository").exception
    assert "no weights of a published record in " in str(nothing)
    assert invoke("weights", "unpack", packed).exit_code == 0
    assert len(weights_below(published.path)) == 3
    assert invoke("weights", "pack", tmp_path / "more.tar", "--repository").exit_code == 0
    assert (tmp_path / "more.tar").read_bytes() == packed.read_bytes()


def test_it_unpacks_into_a_folder_of_results(invoke, packed, published, runs, tmp_path):
    folder = tmp_path / "folder"
    done = invoke("weights", "unpack", packed, "--into", folder)
    assert done.exit_code == 0, done.output
    assert "without weights: regulargpt, 3 records" in done.output
    held = Store(folder).files()
    assert {record.test_id for record in held.values()} == {run.test_id for run in runs[:3]}
    for file, record in held.items():
        assert weights_path(file).read_bytes() == weights_of(record)
    assert not weights_below(published.path)
    again = tmp_path / "again.tar"
    assert invoke("weights", "pack", again, "--results", folder).exit_code == 0
    assert again.read_bytes() == packed.read_bytes()


def test_other_weights_of_a_run_stay(invoke, packed, runs, repository):
    """Somebody's own run of what is published gave other digits: theirs are not overwritten."""
    own = Store(repository.parent / "own")
    other = runs[0].model_copy(update={"weights": hashlib.sha256(b"mine").hexdigest()})
    path = own.write(other, b"mine")
    error = invoke("weights", "unpack", packed, "--into", own.path).exception
    assert "names other weights than the published record" in str(error)
    assert weights_path(path).read_bytes() == b"mine"


def test_what_no_published_record_names_stays_in_the_archive(invoke, published, tmp_path):
    file, digest = tmp_path / "strange.tar", hashlib.sha256(b"x").hexdigest()
    write_archive(file, {"0" * 16: digest}, lambda sha256: b"x")
    done = invoke("weights", "unpack", file)
    assert "not unpacked: 1 file that no published record names" in done.output
    assert not weights_below(published.path)


def member(name, contents=b"", **keys):
    made = tarfile.TarInfo(name)
    made.size = len(contents)
    for key, value in keys.items():
        setattr(made, key, value)
    return made, contents


NAME = f"{hashlib.sha256(b'x').hexdigest()}.safetensors"
FINE = json.dumps({"schema_version": 1, "weights": {"0" * 16: NAME[:64]}}).encode()

HOSTILE = {
    "a way out": [member("../../evil.safetensors", b"x")],
    "an absolute path": [member(f"/tmp/{NAME}", b"x")],
    "a symbolic link": [member(NAME, type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    "a hard link": [member(NAME, type=tarfile.LNKTYPE, linkname=INDEX)],
    "a device": [member(NAME, type=tarfile.CHRTYPE, devmajor=1, devminor=5)],
    "a pipe": [member(NAME, type=tarfile.FIFOTYPE)],
    "a folder": [member("folder", type=tarfile.DIRTYPE)],
    "a long name": [member("x" * 10_000, b"x")],
    "control signs": [member("\x1b[2J\u202e", b"x")],
    "a file twice": [member(INDEX, FINE), member(NAME, b"x"), member(NAME, b"x")],
    "no index": [member(NAME, b"x")],
    "an index that is none": [member(INDEX, b"{")],
    "an index of depth": [member(INDEX, b"[" * 100_000)],
    "an index of another version": [member(INDEX, b'{"schema_version": 2, "weights": {}}')],
    "an index of no hash": [member(INDEX, b'{"schema_version": 1, "weights": {"%s": 1}}')],
    "an index of what is not there": [member(INDEX, FINE)],
    "more than its index": [
        member(INDEX, b'{"schema_version": 1, "weights": {}}'),
        member(NAME, b"x"),
    ],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_pack_never_writes_is_refused(invoke, published, tmp_path, what):
    file = tmp_path / "hostile.tar"
    with tarfile.open(file, "w:", format=tarfile.PAX_FORMAT) as tar:
        for made, contents in HOSTILE[what]:
            tar.addfile(made, io.BytesIO(contents))
    before = sorted(tmp_path.rglob("*"))
    for words in (["weights", "unpack", file], ["check", "--weights", file]):
        error = invoke(*words).exception
        assert isinstance(error, RequestError), what
        assert str(error).startswith(f"{file}: ")
        assert str(error).isprintable()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("size", [-(10**9), module.MAX_BYTES + 1, 8**12])
def test_a_size_that_cannot_be_is_refused(tmp_path, size):
    """A negative one would have a reader go back and begin again, for ever."""
    header = tarfile.TarInfo(INDEX)
    header.size = size
    (tmp_path / "file.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048)
    with pytest.raises(RequestError, match="more than weights can"):
        Archive(tmp_path / "file.tar")


@pytest.mark.parametrize("contents", [b"", b"x" * 2000, b"\x1f\x8b\x08\0" + b"x" * 600])
def test_what_is_no_archive_is_refused(tmp_path, contents):
    (tmp_path / "file.tar").write_bytes(contents)
    with pytest.raises(RequestError, match="no archive of weights"):
        Archive(tmp_path / "file.tar")


def test_too_many_files_are_refused(packed, monkeypatch):
    with tarfile.open(packed) as tar:
        files = len(tar.getnames())
    monkeypatch.setattr(module, "MAX_FILES", files)
    Archive(packed)
    monkeypatch.setattr(module, "MAX_FILES", files - 1)
    with pytest.raises(RequestError, match=f"more than {files - 1} files"):
        Archive(packed)


def test_an_archive_that_is_cut_off_or_changed_is_refused(invoke, packed, published, tmp_path):
    whole, cut = packed.read_bytes(), tmp_path / "cut.tar"
    for size in range(0, len(whole) - 10240, 512):
        cut.write_bytes(whole[:size])
        assert isinstance(invoke("weights", "unpack", cut).exception, RequestError), size
    changed = tmp_path / "changed.tar"
    changed.write_bytes(whole.replace(b"weights of", b"Weights of"))
    error = invoke("weights", "unpack", changed).exception
    assert "has SHA-256" in str(error)
    assert not weights_below(published.path)


def test_nothing_is_written_through_a_link(invoke, packed, published, runs, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "into").mkdir()
    (tmp_path / "into" / "regulargpt").symlink_to(outside)
    error = invoke("weights", "unpack", packed, "--into", tmp_path / "into").exception
    assert "leads out of" in str(error)
    assert list(outside.iterdir()) == []


def test_places_that_are_none_are_one_line(invoke, published, tmp_path):
    for words in (
        ["weights", "pack", tmp_path / "x.tar", "--results", tmp_path / "nowhere"],
        ["weights", "unpack", tmp_path / "nowhere.tar"],
        ["check", "--weights", tmp_path / "nowhere"],
    ):
        error = invoke(*words).exception
        assert isinstance(error, RequestError)
        assert "nowhere" in str(error)


def test_unpacking_deletes_what_a_killed_unpacking_left(invoke, packed, published):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with replacing(published.path / "default" / "a.json") as file:
        left = Path(file.name).with_name(
            Path(file.name).name.replace(f"{os.getpid()}", f"{ended.pid}")
        )
        left.touch()
        invoke("weights", "unpack", packed)
        assert not left.exists()
        assert Path(file.name).exists()  # it is being written
