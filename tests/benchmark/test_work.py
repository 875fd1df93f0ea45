"""A unit of work: several runs together, and what one of them can do to the others."""

import pytest
import torch
from formalbench.execute import make_units
from formalbench.host import PluginHost
from formalbench.plan import Request, make_plan
from formalbench.training import trainer
from formalbench.work import Unit, do_unit


def plan(host, model, seeds=2):
    request = Request((model,), ("first",), protocol="tiny", seeds=seeds)
    return make_plan(host, request, "cpu").runs


@pytest.fixture
def host_with_tiny(tiny, odd_models):
    return PluginHost.load([tiny, odd_models])


def silent(run_id, progress):
    pass


def test_a_cpu_takes_runs_one_by_one_and_a_gpu_a_cohort(host_with_tiny):
    runs = plan(host_with_tiny, "bag") + plan(host_with_tiny, "rnn")
    assert [len(unit.runs) for unit in make_units(runs, "cpu")] == [1, 1, 1, 1]
    assert [len(unit.runs) for unit in make_units(runs, "cuda:0")] == [2, 2]


def test_small_networks_go_together_unless_cores_would_be_idle(host_with_tiny):
    runs = plan(host_with_tiny, "bag", 4) + plan(host_with_tiny, "rnn", 4)
    of_rnn = {
        (run.info.model, run.info.task, run.protocol) for run in runs if run.model.name == "rnn"
    }

    def sizes(jobs, least):
        units = make_units(runs, "cpu", dict.fromkeys(of_rnn, least), jobs)
        return [len(unit.runs) for unit in units]

    assert sizes(1, 2) == sizes(2, 2) == [1, 1, 1, 1, 4]
    assert sizes(4, 2) == [1, 1, 1, 1, 2, 2]
    assert sizes(64, 2) == [1] * 8
    assert sizes(2, 4) == [1, 1, 1, 1, 4]
    assert sizes(4, 4) == sizes(2, 5) == [1] * 8  # too few to gain


def test_cores_are_shared_out_for_testing(host_with_tiny, monkeypatch):
    monkeypatch.setattr("formalbench.execute.usable_cores", lambda: 8)
    runs = plan(host_with_tiny, "bag", 4)
    assert [unit.cores for unit in make_units(runs, "cpu")] == [2] * 4
    assert [unit.cores for unit in make_units(runs, "cpu", jobs=1)] == [8] * 4
    assert [unit.cores for unit in make_units(runs[:1], "cpu")] == [8]
    assert [unit.threads for unit in make_units(runs, "cpu", threads=3)] == [3] * 4
    assert [unit.cores for unit in make_units(runs, "cpu", threads=3)] == [3] * 4


def test_a_unit_of_several_runs_equals_its_runs_alone(host_with_tiny):
    runs = plan(host_with_tiny, "bag", seeds=3)
    together = do_unit(host_with_tiny, Unit(runs, "cpu"), silent)
    assert [outcome.record.run_id for outcome in together] == [run.run_id for run in runs]
    for run, (record, weights) in zip(runs, together, strict=True):
        ((alone, own),) = do_unit(host_with_tiny, Unit((run,), "cpu"), silent)
        assert record.test.cells == alone.test.cells
        assert record.selected == alone.selected
        assert weights == own


def test_a_cohort_that_does_not_fit_is_halved(host_with_tiny, monkeypatch):
    sizes = []
    real = trainer.train_cohort

    def small_memory(cohort):
        sizes.append(len(cohort.members))
        if len(cohort.members) > 1:
            raise torch.cuda.OutOfMemoryError("too much")
        return real(cohort)

    monkeypatch.setattr(trainer, "train_cohort", small_memory)
    outcomes = do_unit(host_with_tiny, Unit(plan(host_with_tiny, "bag", 3), "cpu"), silent)
    assert sizes == [3, 1, 2, 1, 1]
    assert [outcome.record.status for outcome in outcomes] == ["finished"] * 3


def test_the_record_tells_the_threads_of_the_run(host_with_tiny):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ((record, _),) = do_unit(
            host_with_tiny, Unit(plan(host_with_tiny, "bag", 1), "cpu"), silent
        )
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert record.environment.threads == 1
