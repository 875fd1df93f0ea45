"""A unit of work: several runs together, and what one of them can do to the others."""

import pickle
import threading
import time
import weakref
from types import SimpleNamespace

import pytest
import torch
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running import worker
from formalbench.running.plan import RunRequest, make_plan
from formalbench.running.units import Unit, cohorts_of, divided
from formalbench.running.worker import work
from formalbench.store import Store, weights_path
from formalbench.training import trainer


def plan(host, model, seeds=2, settings=()):
    request = RunRequest((model,), ("first",), protocol="tiny", seeds=seeds, settings=settings)
    return make_plan(host, request).runs


@pytest.fixture
def host_with_tiny(tiny, odd_models):
    return PluginHost.load([tiny, odd_models])


@pytest.fixture
def do(host_with_tiny, tmp_path):
    """Do a unit, in a store of its own, and return records and weights."""

    def do(runs, **more):
        store = Store(tmp_path / f"store-{time.monotonic_ns()}")
        unit = Unit(tuple(runs), store.path, tuple(host_with_tiny.locals()), **more)
        assert work(pickle.loads(pickle.dumps(unit))) == [run.test_id for run in runs]
        paths = [store.path_of(run) for run in runs]
        weights = [weights_path(path) for path in paths]
        return [
            (store.record_of(run), path.read_bytes() if path.exists() else None)
            for run, path in zip(runs, weights, strict=True)
        ]

    return do


def test_the_rates_of_a_model_on_a_task_with_a_seed_are_a_cohort(host_with_tiny):
    rates = parse_settings(["protocol.learning_rates=0.1,0.01"])
    low0, low1, high0, high1 = plan(host_with_tiny, "bag", settings=rates)
    (rnn,) = plan(host_with_tiny, "rnn", 1)
    assert [low0.seed, low1.seed, high0.seed, high1.seed] == [0, 1, 0, 1]
    cohorts = cohorts_of([low0, rnn, low1, high0, high1])
    assert cohorts == [(low0, high0), (rnn,), (low1, high1)]


def test_seeds_that_share_lengths_are_a_cohort(host_with_tiny):
    shared = parse_settings(["protocol.shared_lengths=true"])
    runs = plan(host_with_tiny, "bag", settings=shared) + plan(host_with_tiny, "rnn")
    assert cohorts_of([runs[0], runs[2], runs[1]]) == [(runs[0], runs[1]), (runs[2],)]


@pytest.mark.parametrize(
    ("device", "least", "sizes"),
    [
        ("cuda", None, [4]),
        ("cuda:1", 2, [4]),
        ("cpu", None, [1, 1, 1, 1]),
        ("cpu", 2, [4]),
        ("cpu", 4, [4]),
        ("cpu", 5, [1, 1, 1, 1]),  # too few to gain
    ],
)
def test_how_a_cohort_is_divided(host_with_tiny, device, least, sizes):
    runs = plan(host_with_tiny, "bag", 4)
    parts = list(divided(runs, device, least))
    assert [len(part) for part in parts] == sizes
    assert sum(parts, ()) == runs


def test_a_unit_of_several_runs_equals_its_runs_alone(host_with_tiny, do):
    runs = plan(host_with_tiny, "bag", seeds=3)
    together = do(runs)
    for run, (record, weights) in zip(runs, together, strict=True):
        ((alone, own),) = do((run,))
        assert record.test.cells == alone.test.cells
        assert record.selected == alone.selected
        assert weights == own is not None


def test_a_cohort_that_does_not_fit_is_halved_once_it_is_gone(host_with_tiny, do, monkeypatch):
    class Memory:
        pass

    sizes, taken = [], []
    real = trainer.train_cohort

    def small_memory(cohort):
        assert not any(one() for one in taken)
        memory = Memory()
        taken.append(weakref.ref(memory))
        sizes.append(len(cohort.members))
        if len(cohort.members) > 1:
            raise torch.cuda.OutOfMemoryError("too much")
        return real(cohort)

    monkeypatch.setattr(trainer, "train_cohort", small_memory)
    done = do(plan(host_with_tiny, "bag", 3))
    assert sizes == [3, 1, 2, 1, 1]
    assert [record.status for record, _ in done] == ["finished"] * 3


def test_the_record_tells_the_threads_of_the_run(host_with_tiny, do):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ((record, _),) = do(plan(host_with_tiny, "bag", 1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert record.environment.threads == 1


def test_a_process_does_one_unit_at_a_time(host_with_tiny, do, monkeypatch):
    at_work, most = [], []
    real = trainer.train_cohort

    def counting(cohort):
        at_work.append(1)
        most.append(len(at_work))
        time.sleep(0.05)
        try:
            return real(cohort)
        finally:
            at_work.pop()

    monkeypatch.setattr(trainer, "train_cohort", counting)
    runs = plan(host_with_tiny, "bag", 2)
    threads = [threading.Thread(target=do, args=((run,),)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1]  # they would draw each other's random numbers


@pytest.mark.parametrize(("named", "index"), [("cuda", 1), ("cuda:0", 0)])
def test_a_gpu_is_initialised_before_its_counters_are_reset(monkeypatch, named, index):
    called = []
    monkeypatch.setattr(torch.cuda, "current_device", lambda: called.append("initialised") or 1)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", called.append)
    with worker._computing(SimpleNamespace(device=named)) as device:
        assert device == torch.device("cuda", index)
    assert called == ["initialised", device]
