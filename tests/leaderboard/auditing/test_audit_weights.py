"""Audits of records whose weights are elsewhere, or nowhere."""

import hashlib
import json
import os
import shutil

import pytest
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.store import Store, weights_path
from formalbench.store.archive import WeightLookup
from formalbench_leaderboard.publishing.audit import NO_WEIGHTS, Auditor
from formalbench_leaderboard.publishing.weights import write_weights


@pytest.fixture
def apart(results, tmp_path):
    """Move the weights of all runs into an archive, and a copy of everything into a folder."""
    folder, archive = tmp_path / "folder", tmp_path / "weights.tar"
    shutil.copytree(results, folder)
    held = [one for one in Store(folder).records() if one.weights]
    write_weights(archive, held, WeightLookup([folder]))
    for file in results.rglob("*.safetensors"):
        file.unlink()
    return {"archive": archive, "folder": folder}


@pytest.fixture
def auditor(host):
    def make(*places):
        return Auditor(host, 1, "cpu", WeightLookup(places))

    return make


@pytest.mark.parametrize("where", ["archive", "folder"])
def test_weights_are_found_where_they_are_said_to_be(auditor, apart, run, where):
    file, record = run()
    found = auditor(apart[where]).audit(file)
    assert (found.verdict, found.reasons, found.changed) == ("ok", [], 0)
    assert found.recorded == pytest.approx(record.test.accuracy)


@pytest.mark.parametrize("where", ["archive", "folder"])
def test_a_forgery_is_found_by_weights_from_elsewhere(auditor, apart, run, forge, where):
    file, record = run()
    forge(file, record, correct=[127] * 4)
    assert auditor(apart[where]).audit(file).verdict == "MISMATCH"
    assert auditor(apart[where]).audit(file, asked=False).verdict == "MISMATCH"


def test_a_record_that_names_other_weights_is_never_ok(auditor, apart, run, forge):
    """Weights of another run give other answers; weights of no run give none."""
    file, record = run()
    forge(file, record, weights=run(seed=1)[1].weights)
    assert auditor(apart["archive"]).audit(file).verdict == "MISMATCH"
    forge(file, record, weights=hashlib.sha256(b"nothing").hexdigest())
    for asked in (True, False):
        found = auditor(apart["archive"]).audit(file, asked=asked)
        assert found.verdict == "refused"
        assert "not audited: its weights were not found" in found.reasons[0]


def test_a_made_up_record_without_weights_is_not_audited(auditor, apart, run, forge):
    """Without weights, a named record is refused and one in a folder is reported."""
    file, record = run()
    paid = {CROSS_ENTROPY: {"total": (999_999,) * 4}}
    forge(file, record, correct=[127] * 4, metrics=paid)
    found = auditor().audit(file)
    assert (found.verdict, found.p) == ("refused", None)
    assert "not audited" in found.reasons[0]
    found = auditor().audit(file, asked=False)
    assert (found.verdict, found.reasons) == ("skipped", [NO_WEIGHTS])


def test_a_seed_that_nobody_has_to_give_is_passed_over(auditor, apart, run, tmp_path):
    (tmp_path / "empty").mkdir()
    given = auditor(tmp_path / "empty")
    assert given.audit(run(seed=1)[0], asked=False).verdict == "skipped"
    assert given.audit(run(seed=0)[0], asked=False).verdict == "refused"


def test_weights_beside_a_record_come_first(auditor, apart, run):
    file, _ = run()
    weights_path(file).write_bytes(b"something else")
    found = auditor(apart["archive"]).audit(file)
    assert (found.verdict, "not the weights of run" in found.reasons[0]) == ("refused", True)


def test_an_archive_that_lies_about_its_contents_is_refused(auditor, apart, run):
    file, _ = run()
    archive = apart["archive"]
    packed = weights_path(apart["folder"] / file.relative_to(file.parents[2])).read_bytes()
    whole = archive.read_bytes()
    assert packed in whole
    archive.write_bytes(whole.replace(packed, packed[:-1] + bytes([packed[-1] ^ 1])))
    found = auditor(archive).audit(file)
    assert found.verdict == "refused"
    assert "has SHA-256" in found.reasons[0]


def test_the_command_takes_an_archive(command, apart, results):
    code, out, err = command(results, "--weights", apart["archive"])
    assert code == 0, out
    assert [line.split()[0] for line in out.splitlines()] == ["ok"] * 8
    assert "to train again" not in err
    os.truncate(apart["archive"], 700)
    code, out, err = command(results, "--weights", apart["archive"])
    assert (code, out) == (2, "")
    assert "weights.tar: no archive of weights" in err
    assert len(err.splitlines()) == 1


def test_without_weights_a_run_is_trained_again_when_asked_for(command, apart, results):
    code, out, err = command(results, "--retrain", 1, "--seed", 3)
    assert code == 0, out
    verdicts = [line.split()[0] for line in out.splitlines()]
    assert verdicts == ["ok", "ok", "skipped", "6"]  # the exact model, the run drawn, the rest
    assert "all counts equal" in out
    assert f"skipped   6 records: {NO_WEIGHTS}" in out
    assert "6 of 8 records not audited: their numbers are unchecked" in out
    assert "1 run to train again: about" in err
    assert command(results, "--retrain", 1, "--seed", 3)[1] == out

    code, out, err = command(results, "--json")
    assert code == 0
    verdicts = [one["verdict"] for one in json.loads(out)["records"]]
    assert (verdicts.count("skipped"), verdicts.count("ok")) == (7, 1)
    assert "to train again" not in err
