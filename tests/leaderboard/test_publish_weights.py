"""Weights go with their records, and records that have none yet get theirs."""

from __future__ import annotations

import hashlib

import pytest
from formalbench.store import Store, weights_path

PUBLISHED = ("leaderboard", "results")


def weights_of(record):
    """Return something that stands for the weights of a run."""
    return f"weights of {record.test_id}".encode()


def with_weights(record):
    digest = hashlib.sha256(weights_of(record)).hexdigest()
    return record.model_copy(update={"weights": digest})


@pytest.fixture
def own(repository):
    return Store(repository.parent / "own")


@pytest.fixture
def published(repository):
    return Store(repository.joinpath(*PUBLISHED))


def write_all(store, records):
    for record in records:
        store.write(record, weights_of(record) if record.weights else None)


def kept(store):
    """Return the seeds and rates of which there are weights, checking that they are theirs."""
    found = set()
    for file, record in store.files().items():
        if weights_path(file).exists():
            assert weights_path(file).read_bytes() == weights_of(record)
            found.add((record.seed, record.learning_rate))
    return found


def snapshot(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_seed_0_keeps_its_weights(invoke, own, published, make_runs):
    write_all(own, [*map(with_weights, make_runs())])
    assert len(kept(own)) == 6
    done = invoke("publish")
    assert done.exit_code == 0, done.output
    assert kept(published) == {(0, 0.001), (0, 0.0003)}
    assert invoke("check").exit_code == 0


def test_every_standard_run_keeps_its_weights(make_record, protocol):
    from formalbench_leaderboard.publishing.weights_kept import keeps_weights

    standard = protocol | {"name": "standard"}
    for seed in range(3):
        record = make_record(seed=seed)
        assert not keeps_weights(record)  # it names none
        assert keeps_weights(with_weights(record)) == (seed == 0)
        assert keeps_weights(with_weights(make_record(seed=seed, protocol=standard)))


def test_which_runs_keep_them_does_not_hang_on_their_results(make_record):
    from formalbench_leaderboard.publishing.weights_kept import keeps_weights

    for accuracy in (0.0, 0.5, 1.0):
        assert keeps_weights(with_weights(make_record(accuracy=accuracy, validation=accuracy)))


@pytest.mark.parametrize("fault", ["missing", "other", "link", "large"])
def test_weights_that_are_not_the_records_are_refused(
    invoke, own, repository, make_runs, fault, monkeypatch
):
    write_all(own, [*map(with_weights, make_runs())])
    record = next(r for r in own.records() if (r.seed, r.learning_rate) == (0, 0.001))
    path = weights_path(own.path_of(record))
    if fault == "large":
        monkeypatch.setattr("formalbench.store.weights.MAX_BYTES", 10)
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


def test_the_weights_of_other_seeds_are_not_asked_for(invoke, own, make_runs):
    write_all(own, [*map(with_weights, make_runs())])
    for record in own.records():
        if record.seed:
            weights_path(own.path_of(record)).unlink()
    assert invoke("publish").exit_code == 0


def test_older_records_without_weights_are_taken_and_get_them_later(
    invoke, own, published, make_runs
):
    write_all(own, make_runs(date="2026-01-01T00:00:00Z"))
    assert invoke("publish").exit_code == 0
    assert kept(published) == set()
    again = [*map(with_weights, make_runs(date="2026-02-02T00:00:00Z"))]
    write_all(own, again)
    done = invoke("publish")
    assert done.exit_code == 0, done.output
    assert "added the weights of regulargpt on parity: 2 records" in done.output
    assert "4 records published already" in done.output
    assert kept(published) == {(0, 0.001), (0, 0.0003)}
    assert {r.seed: r.date[:7] for r in published.records()} == {
        0: "2026-02",
        1: "2026-01",
        2: "2026-01",
    }
    before = snapshot(published.path)
    assert "added" not in invoke("publish").output
    assert snapshot(published.path) == before
    assert invoke("check").exit_code == 0


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
    told = "kept regulargpt on parity: 1 record published already, with other numbers than these"
    assert told in done.output
    assert snapshot(published.path) == before


def test_a_run_that_failed_gives_way_with_its_weights(invoke, own, published, make_runs):
    write_all(own, make_runs(status="error"))
    assert invoke("publish").exit_code == 0
    write_all(own, [*map(with_weights, make_runs())])
    assert "added regulargpt on parity: 6 records" in invoke("publish").output
    assert len(kept(published)) == 2


def test_a_write_that_fails_is_taken_back(invoke, own, repository, make_runs, monkeypatch):
    write_all(own, make_runs("rnn"))
    assert invoke("publish").exit_code == 0
    before = snapshot(repository)
    write_all(own, [*map(with_weights, make_runs())])
    read = []

    def changing(record, path):
        """Give the weights when they are checked, and no more when they are written."""
        if len(read) == 3:
            raise OSError(5, "Input/output error", str(path))
        read.append(path)
        return path.read_bytes()

    monkeypatch.setattr("formalbench_leaderboard.publishing.weights_kept.read_weights", changing)
    done = invoke("publish")
    assert "Input/output error" in str(done.exception)
    assert snapshot(repository) == before


def test_check_sees_what_is_wrong_with_weights(invoke, own, published, make_runs):
    write_all(own, [*map(with_weights, make_runs())])
    invoke("publish")
    record = next(r for r in published.records() if r.seed == 0)
    (path,) = (weights_path(f) for f, r in published.files().items() if r == record)
    right = path.read_bytes()
    path.write_bytes(right + b"!")
    assert "SHA-256" in invoke("check").stderr
    path.unlink()
    assert "No such file" in invoke("check").stderr
    path.write_bytes(right)
    stray = path.with_name("stray.safetensors")
    stray.write_bytes(right)
    assert "weights of no record" in invoke("check").stderr
    stray.unlink()
    assert invoke("check").exit_code == 0
