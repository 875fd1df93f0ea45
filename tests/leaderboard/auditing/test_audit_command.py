"""The command ``formalbench leaderboard audit``: its words, and which records it draws."""

import json
from pathlib import Path

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Origin
from formalbench.store import weights_path
from formalbench_leaderboard.publishing.audit import (
    Auditor,
    draw_sample,
    parse_count,
    read_records,
)


@pytest.mark.slow
def test_the_command(command, run, results, forge):
    code, out, err = command(results)
    assert code == 0, out
    lines = out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("ok        ") for line in lines)
    assert "recorded 100.0 %, fresh 100.0 %, p 1" in out
    seed = err.split()[4]
    code, out, err = command(results, "--seed", seed)
    assert out.splitlines() == lines  # the same strings
    assert f"seed {seed}" in err

    file, record = run()
    forge(file, record, correct=[127] * 4)
    code, out, _ = command(results, "--json", "--seed", 5)
    assert code == 1
    data = json.loads(out)
    assert data["seed"] == 5
    verdicts = {one["path"]: one["verdict"] for one in data["records"]}
    assert verdicts.pop(str(file)) == "MISMATCH"
    assert set(verdicts.values()) == {"ok"}

    file.write_text("{}")
    code, out, _ = command(file)
    assert code == 1
    assert out.startswith("refused   ")
    assert len(out.splitlines()) == 1


def test_bad_requests_of_the_command(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, says in [
        (["nowhere.json"], "nowhere.json: no such record"),
        ([tmp_path], "no record in this folder"),
        ([], "run this inside a clone"),
        (["x", "--seed", "one"], "--seed"),
        (["x", "--device", "abacus"], "--device abacus"),
    ]:
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert says in err
        assert len(err.splitlines()) == 1


def test_a_seed_draws_as_many_as_are_asked_for(results):
    (results / "bad.json").write_text("{}")
    files = read_records(sorted(results.rglob("*.json")))
    learned = [file for file in files if "exact" not in str(file)]
    for wanted in (0, 1, 3, len(learned), 1000):
        assert len(draw_sample(files, 7, wanted, 0)) == min(wanted, len(learned))
    assert draw_sample(files, 7, None, 0) == set(learned)
    backwards = dict(reversed(files.items()))
    draws = {draw_sample(backwards, seed, 2, 0) for seed in range(40)}
    assert draw_sample(files, 3, 2, 0) in draws
    assert set().union(*draws) == set(learned)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "some", "9" * 20, "٣"])
def test_a_number_or_all(text):
    assert (parse_count("3", "--retrain"), parse_count("all", "--retrain")) == (3, None)
    with pytest.raises(RequestError, match=r"--retrain .*: a number of records, or all"):
        parse_count(text, "--retrain")


def test_what_is_passed_over(host, run, tmp_path, forge):
    auditor = Auditor(host, 1, "cpu")
    file, record = run()
    forge(file, record, status="error", test=None, weights=None)
    assert auditor.audit(file).reasons == ["did not finish: nothing to test"]
    older = record.task.model_copy(update={"version": record.task.version + 1})
    forge(file, record, task=older)
    assert auditor.audit(file).verdict == "skipped"
    file, _ = run(seed=1)
    weights_path(file).unlink()
    assert auditor.audit(file, asked=False).verdict == "skipped"
    results = Path(__file__).parents[3] / "leaderboard" / "results" / "exact"
    verified = next(results.rglob("*.json"))
    assert "--verify N repeats" in auditor.audit(verified, asked=False).reasons[0]


@pytest.mark.slow
def test_records_of_plugins_that_are_not_at_hand(host, run, forge):
    file, record = run()
    source = Origin(distribution="mine.py", sha256="a" * 64)
    forge(file, record, model=record.model.model_copy(update={"source": source}))
    with Auditor(host, 1, "cpu") as auditor:
        for asked in (True, False):
            found = auditor.audit(file, asked=asked)
            assert found.verdict == "refused"
            assert "its model.source is mine.py, with other contents" in found.reasons[0]
