"""Audits: honest records pass, and every forgery that is planted is found."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.evaluation.cells import fresh_set
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.metrics.answers import ANSWERS
from formalbench.metrics.close_brackets import MICRO
from formalbench.store import weights_path
from formalbench_leaderboard.publishing.judge import NetworkTest


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


def test_forged_counts_are_found_on_both_kinds_of_strings(audit, run, forge):
    file, record = run()
    forge(file, record, correct=[127] * 4)
    found = audit(file)
    assert found.verdict == "MISMATCH"
    assert found.p < 1e-6
    assert "fresh strings give other counts" in found.reasons
    assert any("of its own test strings" in reason for reason in found.reasons)


def test_a_small_forgery_is_found_on_the_own_strings(audit, run, forge):
    file, record = run()
    forge(file, record, correct=[n + 4 for n in record.test.cells.correct])
    found = audit(file)
    assert found.verdict == "MISMATCH"
    assert found.reasons == ["16 of its own test strings are answered otherwise"]
    assert found.p > 1e-6


def test_a_forged_window_is_found(audit, run, forge):
    file, record = run("lstm")
    cells = record.test.cells
    forge(file, record, correct=list(cells.strings))
    assert audit(file).verdict == "MISMATCH"
    forge(file, record, metrics={MICRO: {"total": cells.metrics[MICRO].count}})
    assert audit(file).reasons[0].startswith(f"{MICRO} on test strings is ")


def test_forged_answers_are_found_beside_the_strings(audit, run, forge):
    file, record = run("transformer")
    told = record.test.cells.metrics[ANSWERS]
    forge(file, record, metrics={ANSWERS: {"total": told.count}})
    (reason,) = audit(file).reasons
    assert reason.startswith(f"{ANSWERS} on test strings is ")


def test_every_metric_of_the_validation_is_compared(audit, run, forge):
    file, record = run("lstm")
    told = record.selected.metrics
    micro = told[MICRO].model_copy(update={"total": float(told[MICRO].count)})
    best = record.selected.model_copy(update={"metrics": told | {MICRO: micro}})
    forge(file, record, selected=best)
    (reason,) = audit(file).reasons
    assert reason.startswith(f"{MICRO} on validation strings is ")


def test_forged_validation_is_found(audit, run, forge):
    file, record = run()
    best = record.selected.model_copy(update={"correct": record.selected.strings})
    forge(file, record, selected=best)
    (reason,) = audit(file).reasons
    assert "validation strings are right" in reason


def test_a_forged_cross_entropy_is_found(audit, run, forge):
    file, record = run()
    more = tuple(number * 6 // 5 for number in record.test.cells.metrics[CROSS_ENTROPY].total)
    forge(file, record, metrics={CROSS_ENTROPY: {"total": more}})
    (reason,) = audit(file).reasons
    assert reason.startswith("cross-entropy on test strings is ")
    told = record.selected.metrics
    more = told[CROSS_ENTROPY].model_copy(update={"total": told[CROSS_ENTROPY].total * 1.1})
    best = record.selected.model_copy(update={"metrics": told | {CROSS_ENTROPY: more}})
    forge(file, record, selected=best)
    (reason,) = audit(file).reasons
    assert reason.startswith("cross-entropy on validation strings is ")


def test_more_wrong_strings_than_the_cross_entropy_can_pay_for_are_refused(audit, run, forge):
    file, record = run()
    forge(file, record, metrics={CROSS_ENTROPY: {"total": (0,) * 4}}, correct=[64] * 4)
    assert "its cross-entropy can pay for" in audit(file).reasons[0]


def test_a_forged_size_is_found(audit, run, forge):
    for model in ("rnn", "exact-parity"):
        file, record = run(model)
        forge(file, record, model=record.model.model_copy(update={"parameters": 3}))
        assert audit(file).reasons[0].startswith("its model.parameters is 3, not ")
        assert audit(file).verdict == "refused"


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


def test_a_changed_fingerprint_is_refused(audit, run, forge):
    for model in ("rnn", "exact-parity", "lstm"):
        file, record = run(model)
        forge(file, record, fingerprint="0" * 64)
        found = audit(file)
        assert found.verdict == "refused"
        assert "its test.fingerprint is 0000" in found.reasons[0]


def test_exact_models_are_built_again(audit, run, forge):
    file, record = run("exact-parity")
    assert record.test.accuracy == 1.0
    forge(file, record, correct=[100, 128, 128, 128])
    assert audit(file).verdict == "MISMATCH"


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
        correct = [n + 1 for n in score.counts.correct]
        return replace(score, counts=replace(score.counts, correct=correct))

    monkeypatch.setattr(NetworkTest, "test", hanging)
    found = audit(file)
    assert (found.verdict, found.changed) == ("ok", 16)
