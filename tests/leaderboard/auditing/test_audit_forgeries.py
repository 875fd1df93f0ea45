"""Audits: honest records pass, and every forgery that is planted is found."""

import hashlib
from dataclasses import replace

import pytest
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.evaluation.cells import fresh_set
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.metrics.answers import ANSWERS
from formalbench.metrics.close_brackets import MICRO
from formalbench.store import weights_path
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.judge import NetworkTest
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses


@pytest.mark.parametrize("model", ["rnn", "exact-parity", "transformer", "lstm"])
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
        assert [c.strings for c in cells.cells] == [c.strings for c in own.cells]


def on_test(name, total):
    """Forge the sum of a metric of the test."""
    return lambda record: {"metrics": {name: {"total": total(record.test.cells.metrics[name])}}}


def on_validation(name, total):
    """Forge the sum of a metric of the validation; without a name, the number of right strings."""

    def forged(record):
        best = record.selected
        if not name:
            return {"selected": best.model_copy(update={"correct": best.strings})}
        one = best.metrics[name].model_copy(update={"total": total(best.metrics[name])})
        return {"selected": best.model_copy(update={"metrics": best.metrics | {name: one}})}

    return forged


def every(sums):
    return sums.count


def drawn_otherwise(record):
    return {"test": record.test.model_copy(update={"fingerprint": "0" * 64})}


def resized(record):
    return {"model": record.model.model_copy(update={"parameters": 3})}


FORGED = [
    ("rnn", lambda r: {"correct": [127] * 4}, "fresh strings give other counts"),
    ("rnn", lambda r: {"correct": [127] * 4}, " of its own test strings "),
    ("lstm", lambda r: {"correct": list(r.test.cells.strings)}, "strings"),
    ("lstm", on_test(MICRO, every), f"{MICRO} on test strings is "),
    ("transformer", on_test(ANSWERS, every), f"{ANSWERS} on test strings is "),
    ("lstm", on_validation(MICRO, lambda one: float(one.count)), f"{MICRO} on validation strings"),
    ("rnn", on_validation("", every), "validation strings are right"),
    (
        "rnn",
        on_test(CROSS_ENTROPY, lambda one: tuple(number * 6 // 5 for number in one.total)),
        "cross-entropy on test strings is ",
    ),
    (
        "rnn",
        on_validation(CROSS_ENTROPY, lambda one: one.total * 1.1),
        "cross-entropy on validation strings is ",
    ),
    ("exact-parity", lambda r: {"correct": [100, 128, 128, 128]}, "strings"),
]
REFUSED = [
    (
        "rnn",
        lambda r: {"correct": [64] * 4, **on_test(CROSS_ENTROPY, lambda one: (0,) * 4)(r)},
        "its cross-entropy can pay for",
    ),
    *((model, resized, "its model.parameters is 3, not ") for model in ("rnn", "exact-parity")),
    *(
        (model, drawn_otherwise, "its test.fingerprint is 0000")
        for model in ("rnn", "exact-parity", "lstm")
    ),
]


@pytest.mark.parametrize(
    ("model", "change", "reason", "verdict"),
    [*((*one, "MISMATCH") for one in FORGED), *((*one, "refused") for one in REFUSED)],
)
def test_a_forgery_is_found(audit, run, forge, model, change, reason, verdict):
    file, record = run(model)
    forge(file, record, **change(record))
    found = audit(file)
    assert found.verdict == verdict
    assert any(reason in one for one in found.reasons)
    if verdict == "refused" or "metrics" in change(record) or "selected" in change(record):
        assert len(found.reasons) == 1


def test_a_small_forgery_is_found_on_the_own_strings(audit, run, forge):
    file, record = run()
    forge(file, record, correct=[n + 4 for n in record.test.cells.correct])
    found = audit(file)
    assert (found.verdict, found.reasons) == (
        *("MISMATCH", ["16 of its own test strings are answered otherwise"]),
    )
    assert found.p > 1e-6


def test_swapped_weights_are_found(audit, run, forge):
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


def test_a_network_too_large_for_its_file_is_not_built(audit, run, monkeypatch):
    file, _ = run()
    monkeypatch.setattr("formalbench.store.weights.MAX_BUILT", 100)
    found = audit(file)
    assert found.verdict == "refused"
    assert "larger than weights can be" in found.reasons[0]


def test_answers_that_hang_on_rounding_may_change(audit, run, monkeypatch, forge):
    """Of a network that double precision changes 4 answers of, 16 may be others elsewhere."""
    file, record = run()
    forge(file, record, correct=[n + 4 for n in record.test.cells.correct])
    real = NetworkTest.test

    def hanging(retester, cells, double=False):
        score = real(retester, cells)
        if not double:
            return score
        correct = tuple(n + 1 for n in score.cells.correct)
        return replace(score, cells=score.cells.model_copy(update={"correct": correct}))

    monkeypatch.setattr(NetworkTest, "test", hanging)
    found = audit(file)
    assert (found.verdict, found.changed) == ("ok", 16)


@pytest.fixture
def audit_as(host, monkeypatch):
    """Audit a file as if these parts of its record were a plugin's."""

    def audit(file, *parts):
        monkeypatch.setattr(PluginProcesses, "foreign", lambda *arguments: frozenset(parts))
        with Auditor(host, 1, "cpu") as auditor:
            return auditor.audit(file)

    return audit


@pytest.mark.parametrize(
    "parts", [("model",), pytest.param(("task",), marks=pytest.mark.slow)], ids=str
)
def test_answers_and_labels_from_other_processes_are_judged_alike(
    audit_as, audit, run, forge, parts
):
    file, record = run()
    here, there = audit(file), audit_as(file, *parts)
    assert (there.verdict, there.reasons, there.changed) == ("ok", [], 0)
    assert (there.recorded, there.fresh, there.p) == (here.recorded, here.fresh, here.p)
    forge(file, record, correct=[127] * 4)
    assert audit_as(file, *parts).verdict == "MISMATCH"


@pytest.mark.slow
def test_an_exact_model_answers_in_another_process(audit_as, run, forge):
    file, record = run("exact-parity")
    assert audit_as(file, "model").verdict == "ok"
    forge(file, record, correct=[100, 128, 128, 128])
    assert audit_as(file, "model").verdict == "MISMATCH"


@pytest.mark.slow
def test_what_a_plugins_own_objective_says_is_not_judged(audit_as, run):
    found = audit_as(run()[0], "objective")
    assert (found.verdict, found.p) == ("not judged", None)
    assert "for a plugin's own code to say" in found.reasons[0]
