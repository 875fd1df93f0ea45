"""Audits of runs trained here: honest ones pass, and every forgery that is planted is found."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from formalbench.cli.main import run_command_line
from formalbench.contracts.record import Member, Record
from formalbench.evaluation.cells import fresh_set
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.execute import execute
from formalbench.host import PluginHost
from formalbench.plan import Request, make_plan
from formalbench.store import Store, weights_path
from formalbench_leaderboard.auditing import retrain as module
from formalbench_leaderboard.auditing.audit import UNKNOWN, Audit, Auditor
from formalbench_leaderboard.auditing.retested import Bench
from formalbench_leaderboard.keys import run_of

TINY = """
name: tiny
version: 1
seeds: 2
learning_rates: [0.01]
steps: 60
batch: 16
evaluate_every: 20
splits: {train: [1, 8], test: [9, 24]}
decay: {steps: 20}
validation: {every: 20, lengths: 4, strings: 32}
test: {lengths: 4, strings: 128}
"""

WINDOW = """
name: window
version: 1
seeds: 1
learning_rates: [0.01]
steps: 40
batch: 8
evaluate_every: 20
splits: {train: [2, 20], test: [22, 40]}
curriculum: {kind: generated}
decay: {steps: 20}
validation: {every: 20, tokens: 500}
test: {tokens: 4000}
"""

RUNS = [  # with two jobs, two runs of a model do not go together
    ("tiny", "rnn", "parity", ("model.width=8",), 2),
    ("tiny", "gru", "parity", ("model.width=8",), 1),
    ("tiny", "exact-parity", "parity", (), 1),
    ("window", "lstm", "dyck-2-3:generate", ("model.width=8",), 1),
]


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("protocols")
    for name, text in (("tiny", TINY), ("window", WINDOW)):
        (folder / f"{name}.yaml").write_text(text)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def host(plugins):
    return PluginHost.load(plugins)


@pytest.fixture(scope="module")
def trained(host, tmp_path_factory):
    """Train each of `RUNS` once."""
    from formalbench.host.options import parse_settings

    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_CACHE", str(folder / "cache"))
        store = Store(folder / "results")
        for protocol, model, task, settings, jobs in RUNS:
            request = Request(
                (model,), (task,), protocol=protocol, settings=parse_settings(settings)
            )
            execute(host, make_plan(host, request, "cpu"), store, "cpu", jobs)
    return store.path


@pytest.fixture
def results(trained, tmp_path, monkeypatch):
    """A copy of what was trained, to plant forgeries in."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "own"))
    shutil.copytree(trained, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def run(results):
    """Return the file of a run, and its record."""

    def find(model="rnn", seed=0):
        for file, record in Store(results).files().items():
            if (record.model.name, record.seed) == (model, seed):
                return file, record
        raise KeyError(model)

    return find


@pytest.fixture
def audit(host):
    def audit(file, seed=1, **keys) -> Audit:
        return Auditor(host, seed, "cpu", **keys).audit(file)

    return audit


def forge(file: Path, record: Record, **keys: object) -> None:
    """Write a record with other parts, as somebody would who knows how an identity is made."""
    changed = record.model_copy(update=keys)
    file.write_text(changed.model_copy(update={"run_id": run_of(changed).run_id}).to_json())


def with_test(record: Record, **keys: object) -> object:
    return record.test.model_copy(update=keys)


def with_correct(record: Record, correct: list[int]) -> object:
    return with_test(record, cells=record.test.cells.model_copy(update={"correct": tuple(correct)}))


@pytest.mark.parametrize("model", ["rnn", "exact-parity", "lstm"])
def test_an_honest_record_passes(audit, run, model):
    file, record = run(model)
    found = audit(file)
    assert (found.verdict, found.reasons) == ("ok", [])
    assert found.changed == 0
    assert found.recorded == pytest.approx(record.test.accuracy)
    assert found.p > 1e-3
    assert weights_path(file).exists() == (model != "exact-parity")


def test_other_seeds_are_other_strings(audit, run, host):
    file, record = run()
    assert len({audit(file, seed=seed).fresh for seed in range(4)}) > 1
    assert audit(file, seed=2).fresh == audit(file, seed=2).fresh
    task = record.protocol.apply(host.task(record.task.name))
    own = draw_test_set(task, record.protocol)
    fresh = [fresh_set(task, record.protocol, seed) for seed in (0, 1)]
    assert len({own.fingerprint, *(cells.fingerprint for cells in fresh)}) == 3
    for cells in fresh:
        assert cells.lengths == own.lengths
        assert [len(c.strings) for c in cells.cells] == [len(c.strings) for c in own.cells]


def test_forged_counts_are_found_on_both_kinds_of_strings(audit, run):
    file, record = run()
    forge(file, record, test=with_correct(record, [128] * 4))
    found = audit(file)
    assert found.verdict == "MISMATCH"
    assert found.p < 1e-6
    assert "fresh strings give other counts" in found.reasons
    assert any("of its own test strings" in reason for reason in found.reasons)


def test_a_small_forgery_is_found_on_the_own_strings(audit, run):
    file, record = run()
    forge(file, record, test=with_correct(record, [n + 4 for n in record.test.cells.correct]))
    found = audit(file)
    assert found.verdict == "MISMATCH"
    assert found.reasons == ["16 of its own test strings are answered otherwise"]
    assert found.p > 1e-6


def test_a_forged_window_is_found(audit, run):
    file, record = run("lstm")
    cells, closes = record.test.cells, record.test.closes
    forge(file, record, test=with_correct(record, list(cells.strings)))
    assert audit(file).verdict == "MISMATCH"
    all_right = closes.model_copy(update={"right": closes.asked})
    forge(file, record, test=with_test(record, closes=all_right))
    assert "close brackets are right" in audit(file).reasons[0]


def test_forged_validation_is_found(audit, run):
    file, record = run()
    best = record.selected.model_copy(update={"correct": record.selected.strings})
    forge(file, record, selected=best)
    (reason,) = audit(file).reasons
    assert "validation strings are right" in reason


def test_a_forged_cross_entropy_is_found(audit, run):
    file, record = run()
    less = tuple(number // 2 for number in record.test.cells.millibits)
    cells = record.test.cells.model_copy(update={"millibits": less})
    forge(file, record, test=with_test(record, cells=cells))
    (reason,) = audit(file).reasons
    assert reason.startswith("cross-entropy on its own test strings is ")
    best = record.selected.model_copy(update={"bits": record.selected.bits * 0.9})
    forge(file, record, selected=best)
    (reason,) = audit(file).reasons
    assert reason.startswith("cross-entropy on validation strings is ")


def test_a_forged_size_is_found(audit, run):
    for model in ("rnn", "exact-parity"):
        file, record = run(model)
        forge(file, record, model=record.model.model_copy(update={"parameters": 3}))
        assert audit(file).reasons[0].endswith("parameters, not 3")


def test_swapped_weights_are_found(audit, run):
    (file, record), (other, _) = run(seed=0), run(seed=1)
    theirs = weights_path(other).read_bytes()
    weights_path(file).write_bytes(theirs)
    found = audit(file)
    assert found.verdict == "refused"
    assert "not the weights of run" in found.reasons[0]
    forge(file, record, weights=hashlib.sha256(theirs).hexdigest())
    found = audit(file)
    assert found.verdict == "MISMATCH"
    assert found.changed > 2


def test_a_changed_fingerprint_is_refused(audit, run):
    for model in ("rnn", "exact-parity", "lstm"):
        file, record = run(model)
        forge(file, record, test=with_test(record, fingerprint="0" * 64))
        found = audit(file)
        assert found.verdict == "refused"
        assert "tested on other strings" in found.reasons[0]


def test_exact_models_are_built_again(audit, run):
    file, record = run("exact-parity")
    assert record.test.accuracy == 1.0
    forge(file, record, test=with_correct(record, [100, 128, 128, 128]))
    assert audit(file).verdict == "MISMATCH"


def test_a_network_too_large_for_its_file_is_not_built(audit, run, monkeypatch):
    file, _ = run()
    monkeypatch.setattr("formalbench.weights.MAX_BUILT", 100)
    found = audit(file)
    assert found.verdict == "refused"
    assert "larger than weights can be" in found.reasons[0]


def test_training_again_gives_the_same_counts(audit, run):
    file, record = run()
    found = audit(file, again=True)
    assert found.verdict == "ok"
    assert found.retrained.alike
    assert found.retrained.changed == 0
    forge(file, record, test=with_correct(record, [128] * 4))
    reasons = audit(file, again=True).reasons
    assert "trained again on the same kind of machine, it gives other counts" in reasons


@pytest.mark.parametrize("other", [{"hardware": "another"}, {"threads": 1000}, {"threads": 0}])
def test_under_other_conditions_training_again_is_shown_without_a_verdict(audit, run, other):
    file, record = run()
    elsewhere = record.environment.model_copy(update=other)
    forge(file, record, environment=elsewhere, test=with_correct(record, [128] * 4))
    found = audit(file, again=True)
    assert not found.retrained.alike
    assert not any("trained again" in reason for reason in found.reasons)


def test_a_run_of_a_cohort_trains_again_with_all_of_it(host, run, monkeypatch):
    own, trained = module.execute_live, []

    def watched(host, plan, *rest):
        trained.append([one.seed for one in plan.runs])
        return own(host, plan, *rest)

    monkeypatch.setattr(module, "execute_live", watched)
    assert run("rnn")[1].training.cohort is None
    auditor = Auditor(host, 1, "cpu", again=True)
    for seed in (0, 1):
        file, record = run("gru", seed)
        assert [(one.learning_rate, one.seed) for one in record.training.cohort] == [
            (record.learning_rate, 0),
            (record.learning_rate, 1),
        ]
        found = auditor.audit(file)
        assert (found.verdict, found.retrained.alike, found.retrained.changed) == ("ok", True, 0)
    assert trained == [[0, 1]]

    forge(file, record, test=with_correct(record, [128] * 4))
    reasons = auditor.audit(file).reasons
    assert "trained again on the same kind of machine, it gives other counts" in reasons


def test_a_run_trains_again_with_as_many_threads(audit, run, monkeypatch):
    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    file, record = run()
    forge(file, record, environment=record.environment.model_copy(update={"threads": 2}))
    assert audit(file, again=True).retrained.alike


@pytest.mark.parametrize("seeds", [(1, 2), (0, 0, 1)])
def test_a_cohort_that_cannot_be_is_refused(audit, run, seeds):
    file, record = run("gru")
    cohort = tuple(Member(learning_rate=record.learning_rate, seed=seed) for seed in seeds)
    forge(file, record, training=record.training.model_copy(update={"cohort": cohort}))
    found = audit(file)
    assert found.verdict == "refused"
    assert "a cohort holds the run itself, and every run once" in found.reasons[0]


def test_without_weights_a_run_can_only_be_trained_again(audit, run):
    file, _ = run()
    weights_path(file).unlink()
    assert audit(file).verdict == "refused"
    found = audit(file, again=True)
    assert (found.verdict, found.p, found.retrained.changed) == ("ok", None, 0)


def test_what_is_passed_over(host, run, tmp_path):
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
    results = Path(__file__).parents[2] / "leaderboard" / "results" / "exact"
    verified = next(results.rglob("*.json"))
    assert "formalbench verify" in auditor.audit(verified).reasons[0]


def test_records_of_plugins_that_are_not_at_hand(host, run):
    file, record = run()
    source = record.model.source.model_copy(update={"distribution": "mine.py", "sha256": "a" * 64})
    forge(file, record, model=record.model.model_copy(update={"source": source}))
    auditor = Auditor(host, 1, "cpu")
    assert auditor.audit(file).verdict == "refused"
    found = auditor.audit(file, asked=False)
    assert (found.verdict, found.reasons) == ("skipped", [UNKNOWN])


def test_answers_that_hang_on_rounding_may_change(audit, run, monkeypatch):
    """Of a network that double precision changes 4 answers of, 16 may be others elsewhere."""
    file, record = run()
    forge(file, record, test=with_correct(record, [n + 4 for n in record.test.cells.correct]))
    real = Bench.test

    def hanging(bench, cells, double=False):
        score = real(bench, cells)
        if not double:
            return score
        correct = [n + 1 for n in score.counts.correct]
        return replace(score, counts=replace(score.counts, correct=correct))

    monkeypatch.setattr(Bench, "test", hanging)
    found = audit(file)
    assert (found.verdict, found.changed) == ("ok", 16)


@pytest.fixture
def command(plugins, capsys):
    """Run ``formalbench leaderboard audit …``."""
    loaded = [word for path in plugins for word in ("--plugin", str(path))]

    def call(*arguments):
        words = ["leaderboard", "audit", *map(str, arguments), *loaded]
        capsys.readouterr()
        return run_command_line(words), *capsys.readouterr()

    return call


def test_the_command(command, run, results):
    code, out, err = command(results)
    assert code == 0, out
    lines = out.splitlines()
    assert len(lines) == 6
    assert all(line.startswith("ok        ") for line in lines)
    assert "recorded 100.0 %, fresh 100.0 %, p 1" in out
    seed = err.split()[4]
    code, out, err = command(results, "--seed", seed)
    assert out.splitlines() == lines  # the same strings
    assert f"seed {seed}" in err

    file, record = run()
    forge(file, record, test=with_correct(record, [128] * 4))
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
