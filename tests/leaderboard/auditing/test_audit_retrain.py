"""Audits that train runs again."""

import hashlib

import pytest
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import CohortMember, MetricSum
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.evaluation.cells import validation_set
from formalbench.evaluation.evaluate import evaluate, total
from formalbench.running.run_record import cells_of
from formalbench.store import weights_path
from formalbench.store.weights import network_from
from formalbench_leaderboard.publishing import rerun as module
from formalbench_leaderboard.publishing.audit import Auditor

PAID = {CROSS_ENTROPY: {"total": (999_999,) * 4}}
"""A cross-entropy that pays for any number of wrong answers."""


def test_another_version_may_train_otherwise(audit, run, forge):
    file, record = run()
    versions = {**record.environment.versions, "formalbench": "0.2.0"}
    earlier = record.environment.model_copy(update={"versions": versions})
    forge(file, record, environment=earlier)
    assert not audit(file, again=True).retrained.alike


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"hardware": "another"}, {"threads": 1000}])
def test_under_other_conditions_training_again_is_shown_without_a_verdict(audit, run, other, forge):
    file, record = run()
    elsewhere = record.environment.model_copy(update=other)
    forge(file, record, environment=elsewhere, correct=[127] * 4)
    found = audit(file, again=True)
    assert not found.retrained.alike
    assert not any("trained again" in reason for reason in found.reasons)


@pytest.fixture
def retrained(monkeypatch):
    """Whom training again trains, each time: their seeds."""
    own, retrained = module.execute_live, []

    def watched(host, plan, *rest):
        retrained.append([one.seed for one in plan.runs])
        return own(host, plan, *rest)

    monkeypatch.setattr(module, "execute_live", watched)
    return retrained


@pytest.mark.parametrize(("model", "seed"), [("transformer", 1), ("lstm", 0)])
def test_a_run_that_trained_alone_trains_again_alone(audit, run, retrained, model, seed):
    """Though others of its model on its task could have trained with it, as seed 0 here could."""
    file, record = run(model, seed)
    assert record.training.cohort is None
    found = audit(file, again=True)
    assert (found.verdict, found.retrained.alike, found.retrained.changed) == ("ok", True, 0)
    assert retrained == [[seed]]


def test_a_run_of_a_cohort_trains_again_with_all_of_it(host, run, retrained, forge):
    auditor = Auditor(host, 1, "cpu")
    for seed in (0, 1):
        file, record = run("gru", seed)
        assert [(one.learning_rate, one.seed) for one in record.training.cohort] == [
            (record.learning_rate, 0),
            (record.learning_rate, 1),
        ]
        found = auditor.audit(file, again=True)
        assert (found.verdict, found.retrained.alike, found.retrained.changed) == ("ok", True, 0)
    assert retrained == [[0, 1]]

    forge(file, record, correct=[127] * 4)
    reasons = auditor.audit(file, again=True).reasons
    assert "trained again on the same kind of machine, it gives other counts" in reasons


@pytest.mark.slow
def test_a_run_trains_again_with_as_many_threads(audit, run, monkeypatch, forge):
    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    file, record = run()
    forge(file, record, environment=record.environment.model_copy(update={"threads": 2}))
    assert audit(file, again=True).retrained.alike


def test_what_ends_elsewhere_under_other_conditions_is_not_judged(audit, run, forge):
    """Nothing speaks for a number that training again does not give, and that has no weights."""
    file, record = run()
    weights_path(file).unlink()
    elsewhere = record.environment.model_copy(update={"hardware": "another"})
    forge(file, record, environment=elsewhere, correct=[127] * 4)
    found = audit(file, again=True)
    assert (found.verdict, found.retrained.alike) == ("not judged", False)
    assert "other conditions" in found.reasons[0]


@pytest.fixture
def invented(host, run, forge):
    """Write a run of seed 1 whose weights are seed 0's with a little noise, tested honestly."""

    def invent(**environment):
        import torch
        from safetensors.torch import load, save

        (file, record), (other, _) = run(), run(seed=1)
        noise = torch.Generator().manual_seed(1)
        weights = {
            name: one + 1e-3 * torch.randn(one.shape, generator=noise)
            for name, one in load(weights_path(file).read_bytes()).items()
        }
        packed = save(weights)
        task = record.protocol.apply(host.task(record.task.name))
        network = network_from(host, record, packed, "it", record.protocol)
        cpu = torch.device("cpu")
        tested = evaluate(network, task, draw_test_set(task, record.protocol), cpu)
        held = total(evaluate(network, task, validation_set(task, record.protocol), cpu))
        sums = {
            name: MetricSum(total=one.total, count=one.count) for name, one in held.measures.items()
        }
        right = sums.pop(task.primary.name).total
        test = record.test.model_copy(update={"cells": cells_of(tested, task.primary.name)})
        selected = record.selected.model_copy(update={"correct": right, "metrics": sums})
        where = record.environment.model_copy(update=environment)
        digest = hashlib.sha256(packed).hexdigest()
        command = record.command.replace("--seeds 1", "--seeds 2")
        parts = {"test": test, "selected": selected, "environment": where, "command": command}
        changed = record.model_copy(update=parts)
        forge(other, changed, seed=1, weights=digest)
        weights_path(other).write_bytes(packed)
        return other

    return invent


def test_a_seed_made_of_another_seed_is_found_by_training_it(audit, invented):
    file = invented()
    assert audit(file).verdict == "ok"  # its weights give its numbers
    found = audit(file, again=True)
    assert (found.verdict, found.retrained.alike) == ("MISMATCH", True)
    assert found.retrained.p > 1e-6  # and its counts are those of any network that learned nothing
    assert found.reasons == ["trained again on the same kind of machine, it gives other weights"]


def test_on_another_machine_it_is_found_by_how_its_learning_curve_begins(audit, invented):
    found = audit(invented(hardware="another"), again=True)
    assert (found.verdict, found.retrained.alike) == ("MISMATCH", False)
    assert found.reasons == ["trained again, its learning curve begins otherwise"]


@pytest.mark.parametrize("seeds", [(1, 2), (0, 0, 1)])
def test_a_cohort_that_cannot_be_is_refused(audit, run, seeds, forge):
    file, record = run("gru")
    cohort = tuple(CohortMember(learning_rate=record.learning_rate, seed=seed) for seed in seeds)
    forge(file, record, training=record.training.model_copy(update={"cohort": cohort}))
    found = audit(file)
    assert found.verdict == "refused"
    assert "a cohort must contain the run itself, and every run once" in found.reasons[0]


def test_without_weights_a_run_can_only_be_trained_again(audit, run):
    file, _ = run()
    weights_path(file).unlink()
    assert audit(file).verdict == "refused"
    found = audit(file, again=True)
    assert (found.verdict, found.p, found.retrained.changed) == ("ok", None, 0)


def test_a_run_that_is_said_to_have_failed_is_trained_again(audit, run, forge):
    file, record = run()
    ends = {"error": "MISMATCH", "diverged": "MISMATCH", "timeout": "not judged"}
    for status, verdict in ends.items():
        forge(file, record, status=status, test=None, weights=None)
        found = audit(file, again=True)
        assert (found.verdict, found.retrained.status) == (verdict, "finished")
    assert audit(file).verdict == "skipped"


def test_numbers_of_a_seed_without_weights_are_found_by_training_it(audit, run, forge):
    """Copied, invented or made perfect: training again on the same machine says otherwise."""
    file, record = run(seed=1)
    weights_path(file).unlink(missing_ok=True)
    others = [0 if right > 64 else 127 for right in record.test.cells.correct]
    forge(file, record, weights=None, correct=others, metrics=PAID)
    assert audit(file, asked=False).verdict == "skipped"
    assert audit(file, again=True).verdict == "MISMATCH"
