"""Weights go into an archive when their records are published, and are found there again."""

from __future__ import annotations

import hashlib
import itertools
import json

import pytest
from built_records import weights_of, with_weights, write_all
from formalbench.store import Store, weights_path
from formalbench.store.archive import Archive, write_archive
from formalbench_leaderboard.publishing import places, publish
from formalbench_leaderboard.publishing.weights import keeps_weights

PUBLISHED = ("leaderboard", "results")


@pytest.fixture
def own(repository):
    return Store(repository.parent / "own")


@pytest.fixture
def published(repository):
    return Store(repository.joinpath(*PUBLISHED))


@pytest.fixture
def kept(repository, published):
    """Return the seeds and rates of which an archive has weights, checking that they are theirs."""

    def find():
        (path,) = repository.glob("weights-*.tar")
        archive, found = Archive(path), set()
        records = {record.test_id: record for record in published.records()}
        for identity, sha256 in archive.index.items():
            assert archive.read(sha256) == weights_of(records[identity])
            found.add((records[identity].seed, records[identity].learning_rate))
        assert not list(published.path.rglob("*.safetensors"))
        return found

    return find


def snapshot(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


EVERY = {(seed, rate) for seed in range(3) for rate in (0.001, 0.0003)}
SEED_0 = {(0, 0.001), (0, 0.0003)}


def test_all_weights_at_hand_go_into_an_archive(invoke, own, repository, kept, make_runs):
    write_all(own, [*map(with_weights, make_runs())])
    done = invoke("publish")
    assert done.exit_code == 0, done.output
    assert kept() == EVERY
    (archive,) = repository.glob("weights-*.tar")
    (line,) = [line for line in done.output.splitlines() if line.startswith("weights: ")]
    assert str(archive) in line
    assert hashlib.sha256(archive.read_bytes()).hexdigest() in line
    done = invoke("check")
    assert done.exit_code == 0
    assert "the weights of 2 runs were not found" in done.output
    done = invoke("check", "--weights", archive)
    assert done.exit_code == 0
    assert "were not found" not in done.output


def test_the_archive_goes_where_it_is_asked_to(invoke, own, repository, make_runs):
    write_all(own, [*map(with_weights, make_runs())])
    asked = repository.parent / "mine.tar"
    told = json.loads(invoke("publish", "--weights", asked, "--json").stdout)
    assert told["archive"]["file"] == str(asked)
    assert told["archive"]["sha256"] == hashlib.sha256(asked.read_bytes()).hexdigest()
    assert not list(repository.glob("*.tar"))


def test_which_runs_keep_their_weights_does_not_depend_on_their_results(make_record, protocol):
    standard = protocol | {"name": "standard"}
    for seed, share in itertools.product(range(3), (0.0, 0.5, 1.0)):
        keys = {"seed": seed, "accuracy": share, "validation": share}
        assert not keeps_weights(make_record(**keys))  # it names none
        assert keeps_weights(with_weights(make_record(**keys))) == (seed == 0)
        assert keeps_weights(with_weights(make_record(**keys, protocol=standard)))


@pytest.mark.parametrize("fault", ["missing", "other", "link", "large"])
def test_weights_that_are_not_the_records_are_refused(
    invoke, own, repository, make_runs, fault, monkeypatch
):
    write_all(own, [*map(with_weights, make_runs())])
    record = next(r for r in own.records() if (r.seed, r.learning_rate) == (0, 0.001))
    path = weights_path(own.path_of(record))
    if fault == "large":
        monkeypatch.setattr("formalbench.store.archive.MAX_BYTES", 10)
    else:
        path.unlink()
    if fault == "other":
        path.write_bytes(b"something else")
    if fault == "link":
        elsewhere = repository.parent / "elsewhere"
        elsewhere.write_bytes(weights_of(record))
        path.symlink_to(elsewhere)
    before = snapshot(repository)
    done = invoke("publish")
    assert done.exit_code == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 2 + (fault == "large")  # both rates have a seed 0
    assert path.name in "".join(lines[:-1])
    says = {
        "missing": "No such file",
        "other": "SHA-256",
        "link": "a link",
        "large": "larger than 10 bytes",
    }
    assert says[fault] in "".join(lines[:-1])
    assert snapshot(repository) == before


def test_the_weights_of_other_seeds_are_not_asked_for(invoke, own, kept, make_runs):
    write_all(own, [*map(with_weights, make_runs())])
    for record in own.records():
        if record.seed:
            weights_path(own.path_of(record)).unlink()
    assert invoke("publish").exit_code == 0
    assert kept() == SEED_0


def test_a_published_run_gets_no_weights_later(invoke, own, published, make_runs):
    write_all(own, make_runs(date="2026-01-01T00:00:00Z"))
    assert invoke("publish").exit_code == 0
    before = snapshot(published.path)
    write_all(own, [*map(with_weights, make_runs(date="2026-02-02T00:00:00Z"))])
    done = invoke("publish")
    assert "6 records already published" in done.output
    assert "added" not in done.output
    assert snapshot(published.path) == before


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rerun_with_other_counts_stays_outside(invoke, own, published, make_runs, seed):
    write_all(own, make_runs(accuracy=0.9))
    assert invoke("publish").exit_code == 0
    before = snapshot(published.path)
    for record in make_runs(accuracy=0.8):
        if (record.seed, record.learning_rate) == (seed, 0.001):
            write_all(own, [with_weights(record)])
    done = invoke("publish")
    assert done.exit_code == 0
    told = "kept regulargpt on parity: 1 record already published with other numbers"
    assert told in done.output
    assert snapshot(published.path) == before


def test_a_run_that_failed_gives_way_with_its_weights(invoke, own, kept, make_runs):
    write_all(own, make_runs(status="error"))
    assert invoke("publish").exit_code == 0
    write_all(own, [*map(with_weights, make_runs())])
    assert "added regulargpt on parity: 6 records" in invoke("publish").output
    assert kept() == EVERY


def test_publish_continues_after_a_write_that_failed(
    invoke, own, published, kept, make_runs, monkeypatch
):
    write_all(own, [*map(with_weights, make_runs())])
    put, written = places.write_atomically, []

    def failing(path, contents):
        """Take three files, and no more."""
        if len(written) == 3:
            raise OSError(5, "Input/output error", str(path))
        written.append(path)
        put(path, contents)

    with monkeypatch.context() as patch:
        patch.setattr(places, "write_atomically", failing)
        assert "Input/output error" in str(invoke("publish").exception)
    assert len(published.records()) == 3
    done = invoke("publish")
    assert done.exit_code == 0, done.output
    assert "3 records already published" in done.output
    assert kept() == EVERY


def test_weights_that_change_while_they_are_packed_are_refused(
    invoke, own, repository, make_runs, monkeypatch
):
    """As they were checked, and not as they are when their turn comes."""
    write_all(own, [*map(with_weights, make_runs())])
    before = snapshot(repository)
    pack = publish.write_weights

    def changed(*arguments):
        for file in own.path.rglob("*.safetensors"):
            file.write_bytes(b"something else")
        pack(*arguments)

    monkeypatch.setattr(publish, "write_weights", changed)
    assert "SHA-256" in str(invoke("publish").exception)
    assert snapshot(repository) == before


@pytest.fixture
def unpacked(invoke, own, repository, published, make_runs):
    """Publish runs with weights, and unpack them into the clone; return the file of seed 0's."""
    write_all(own, [*map(with_weights, make_runs())])
    invoke("publish")
    (archive,) = repository.glob("weights-*.tar")
    assert invoke("weights", "unpack", archive).exit_code == 0
    files = published.files()
    return next(weights_path(file) for file, one in files.items() if one.seed == 0)


def test_check_sees_what_is_wrong_with_weights(invoke, unpacked):
    path, right = unpacked, unpacked.read_bytes()
    assert invoke("check").exit_code == 0
    path.write_bytes(right + b"!")
    assert "SHA-256" in invoke("check").stderr
    path.write_bytes(right)
    stray = path.with_name("stray.safetensors")
    stray.write_bytes(right)
    assert "weights of no record" in invoke("check").stderr
    stray.unlink()
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "a link" in invoke("check").stderr


def test_check_asks_for_missing_weights_where_it_is_told_to(
    invoke, own, unpacked, repository, tmp_path
):
    (archive,) = repository.glob("weights-*.tar")
    unpacked.unlink()
    done = invoke("check")
    assert done.exit_code == 0
    assert "the weights of 1 run were not found" in done.output
    assert json.loads(invoke("check", "--json").stdout)["weightless_records"] == 1
    (tmp_path / "nothing").mkdir()
    done = invoke("check", "--weights", tmp_path / "nothing")
    assert done.exit_code == 1
    assert f"{unpacked.stem}.json: the weights of run" in done.stderr
    for place in (archive, own.path):
        done = invoke("check", "--weights", tmp_path / "nothing", "--weights", place)
        assert done.exit_code == 0, done.output


def test_an_archive_of_something_else_is_a_problem(invoke, own, unpacked, repository, tmp_path):
    (archive,) = repository.glob("weights-*.tar")
    theirs = tmp_path / "theirs.tar"
    weights = b"others"
    digest = hashlib.sha256(weights).hexdigest()
    identity = next(iter(Archive(archive).index))
    write_archive(theirs, {identity: digest, "0" * 16: digest}, lambda sha256: weights)
    done = invoke("check", "--weights", theirs)
    assert done.exit_code == 1
    assert f"other weights of run {identity} than its record names" in done.stderr
    assert f"weights {digest[:16]}… are of no published record" in done.stderr


@pytest.mark.parametrize("named", [True, False])
def test_a_killed_publish_goes_on_with_its_archive(
    invoke, own, repository, published, make_runs, monkeypatch, named
):
    class Killed(BaseException):
        pass

    at_the_kill = {}

    def killed(root, contents):
        path, whole = next(iter(contents.items()))
        (root / path).parent.mkdir(parents=True)
        (root / path).write_bytes(whole)
        at_the_kill.update(snapshot(root))
        raise Killed

    archive = repository / "weights-mine.tar"
    words = ("publish", *(("--weights", archive) if named else ()))
    write_all(own, [*map(with_weights, make_runs())])
    with monkeypatch.context() as patch:
        patch.setattr(publish, "write_all", killed)
        with pytest.raises(Killed):
            invoke(*words)
    for path, contents in at_the_kill.items():  # a kill takes nothing back
        path.write_bytes(contents)
    assert len(published.records()) == 1
    (left,) = repository.glob("*.tar")
    before = left.read_bytes()
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    assert f"weights: {left}" in done.output
    assert [*repository.glob("*.tar")] == [left]
    assert left.read_bytes() == before
    assert Archive(left).index.keys() == {record.test_id for record in published.records()}
