"""Where a cohort is saved: what goes on from there is of the same numbers, and of the same code."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from formalbench.cache import cache_folder
from formalbench.files import unfinished_prefix
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunOptions, RunPlan, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.running.units import ProgressFile, Unit, clean_cache
from formalbench.running.worker import work
from formalbench.store import Store
from formalbench.training import run_state

WATCHED = """
    name: watched
    version: 1
    extends: tiny
    watch: {every: 10, lengths: [5], strings: 4}
"""

OPTIMISER = """
    from formalbench import Config, Optimiser, OptimiserSpec, hookimpl, option

    class DownConfig(Config):
        weight_decay: float = option(0.0, "of no use", minimum=0.0)

    class Down(Optimiser):
        slots = ()

        def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
            parameters_RP.sub_(rate * gradient_RP * 1.0)

    @hookimpl
    def formalbench_optimisers():
        yield OptimiserSpec("down", "for tests", Down, config=DownConfig)
"""

BACKBONE = """
    from formalbench import Traits
    from torch import nn

    class Plain(nn.Module):
        traits = Traits(backbone=4, causal=True)

        def __init__(self, task):
            super().__init__()
            self.embed = nn.Embedding(len(task.alphabet), 4)

        def forward(self, batch):
            return self.embed(batch.symbols).cumsum(1) * 1.0
"""

MODEL = """
    from formalbench import ModelSpec, hookimpl

    @hookimpl
    def formalbench_models():
        yield ModelSpec("mine", 1, "its code is installed", "plain_backbone:Plain")
"""


class Killed(BaseException):
    """Nothing handles it, as nothing handles a kill."""


@pytest.fixture
def unit_of(tiny, odd_models, write, tmp_path, monkeypatch):
    """Make a unit of one run, with the plugins as their files are now."""
    files = {"watched.yaml": WATCHED, "down.py": OPTIMISER, "model.py": MODEL}
    paths = [write(name, text) for name, text in files.items()]
    write("installed/plain_backbone.py", BACKBONE)
    monkeypatch.syspath_prepend(tmp_path / "installed")

    def unit_of(model="bag", protocol="tiny", settings=()):
        monkeypatch.delitem(sys.modules, "plain_backbone", raising=False)
        host = PluginHost.load([tiny, odd_models, *paths])
        request = RunRequest(
            (model,), ("first",), protocol=protocol, seeds=1, settings=parse_settings(settings)
        )
        runs = make_plan(host, request).runs
        return Unit(runs, tmp_path / "store", tuple(host.locals()))

    return unit_of


@pytest.fixture
def kill(monkeypatch):
    """Do a unit, saving it at every evaluation, and kill it after 30 of its 40 steps."""

    def progress(self, run, told):
        if told.step == 30:
            raise Killed

    def kill(unit):
        with monkeypatch.context() as patch:
            patch.setattr(run_state, "EVERY", 0.0)
            patch.setattr(ProgressFile, "progress", progress)
            with pytest.raises(Killed):
                work(unit)
        return {path.parent.name for path in (cache_folder() / "training").glob("*/*")}

    return kill


def test_a_watched_run_does_not_go_on_from_one_that_nobody_watched(unit_of, kill):
    watched, plain = unit_of(protocol="watched"), unit_of()
    assert plain.runs[0].train_id == watched.runs[0].train_id
    kill(plain)
    work(watched)
    record = Store(watched.store).record_of(watched.runs[0])
    assert len(record.training.history.curves[0].correct) == 4


def test_a_run_on_other_threads_begins_anew(unit_of, kill):
    unit = unit_of()
    assert len(kill(unit)) == len(kill(unit)) == 1
    assert len(kill(replace(unit, threads=2))) == 2  # it rounds differently


@pytest.mark.parametrize(
    ("file", "contents", "arguments"),
    [
        ("down.py", OPTIMISER, {"settings": ["protocol.optimiser.name=down"]}),
        ("installed/plain_backbone.py", BACKBONE, {"model": "mine"}),
    ],
    ids=["a local optimiser", "a backbone in a readout"],
)
def test_code_that_changed_begins_anew(unit_of, kill, write, clear, file, contents, arguments):
    assert len(kill(unit_of(**arguments))) == 1
    clear()
    assert len(kill(unit_of(**arguments))) == 1
    write(file, contents.replace("1.0", "-50.0"))
    clear()
    assert len(kill(unit_of(**arguments))) == 2


RATES = ["protocol.learning_rates=0.01,0.003,0.001", "protocol.batch=1"]  # they train together


@pytest.fixture
def killed_at(monkeypatch):
    """Do a unit, saved at every evaluation, until a run is that far; return what it heard."""
    monkeypatch.setattr(run_state, "EVERY", 0.0)

    def killed_at(unit, run=None, phase="", step=0):
        heard = []

        def progress(self, test_id, told):
            heard.append((test_id, told.phase))
            if (test_id, told.phase) == (run, phase) and told.step >= step:
                raise Killed

        monkeypatch.setattr(ProgressFile, "progress", progress)
        if run is None:
            work(unit)
        else:
            with pytest.raises(Killed):
                work(unit)
        return heard

    return killed_at


def saved():
    return list((cache_folder() / "training").glob("*/*"))


def weights(unit):
    return [Store(unit.store).record_of(run).weights for run in unit.runs]


def test_a_kill_while_a_run_is_tested_costs_no_training(unit_of, killed_at, tmp_path):
    unit = unit_of(settings=RATES)
    _, second, third = unit.runs
    killed_at(unit, second.test_id, "test")
    store = Store(unit.store)
    assert [store.record_of(run) is not None for run in unit.runs] == [True, False, False]
    left = replace(unit, runs=(second, third))  # as the same command asks again
    assert killed_at(left) == [(second.test_id, "test"), (third.test_id, "test")]
    assert saved() == []
    whole = replace(unit, store=tmp_path / "whole")
    work(whole)
    assert weights(unit) == weights(whole)
    members = store.record_of(third).training.cohort
    assert [(m.learning_rate, m.seed) for m in members] == [(0.01, 0), (0.003, 0), (0.001, 0)]


def test_a_cohort_goes_on_whole_if_one_of_its_runs_is_asked_for(unit_of, killed_at, tmp_path):
    unit = unit_of(settings=RATES)
    killed_at(unit, unit.runs[0].test_id, "train", 30)
    for run in unit.runs:
        heard = killed_at(replace(unit, runs=(run,)))
        assert {test_id for test_id, _ in heard} == {run.test_id}
    assert saved() == []  # now that all of them have records
    whole = replace(unit, store=tmp_path / "whole")
    work(whole)
    assert weights(unit) == weights(whole)


def test_what_was_saved_one_by_one_goes_on_one_by_one(unit_of, killed_at, tmp_path):
    unit = unit_of(settings=RATES)
    last = replace(unit, runs=unit.runs[2:])
    killed_at(last, last.runs[0].test_id, "train", 30)
    killed_at(unit)
    store = Store(unit.store)
    assert [len(store.record_of(run).training.cohort or ()) for run in unit.runs] == [2, 2, 0]


def test_a_test_that_fails_costs_no_training(unit_of, killed_at, monkeypatch):
    def fails(*arguments):
        raise ValueError("out of order")

    unit = unit_of()
    with monkeypatch.context() as patch:
        patch.setattr("formalbench.running.cohort.test_run", fails)
        killed_at(unit)
    (run,) = unit.runs
    assert Store(unit.store).record_of(run).message == "ValueError: out of order"
    assert killed_at(unit) == [(run.test_id, "test")]
    assert Store(unit.store).record_of(run).status == "finished"
    assert saved() == []


def test_a_kill_after_the_last_record_leaves_nothing(unit_of, monkeypatch):
    unit = unit_of(settings=RATES)

    def finished(self, run):
        if run == unit.runs[-1].test_id:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(run_state, "EVERY", 0.0)
        patch.setattr(ProgressFile, "finished", finished)
        with pytest.raises(Killed):
            work(unit)
    assert saved() != []
    store = Store(unit.store)
    before = store.path_of(unit.runs[0]).stat().st_mtime_ns
    half = unfinished(cache_folder() / "progress")
    execute(PluginHost.load(), RunPlan(unit.runs), store, RunOptions())  # as the same command does
    assert saved() == []
    assert not half.exists()
    assert store.path_of(unit.runs[0]).stat().st_mtime_ns == before


def unfinished(folder):
    """Return a folder that a process left which has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = folder / unfinished_prefix().replace(f"-{os.getpid()}-", f"-{process.pid}-")
    left.mkdir(parents=True)
    return left


def test_what_is_saved_of_unfinished_runs_stays(unit_of, killed_at):
    unit = unit_of(settings=RATES)
    killed_at(unit, unit.runs[1].test_id, "test")
    before = saved()
    clean_cache()
    assert saved() == before != []
    (path,) = before
    path.write_bytes(b"damaged")
    clean_cache()
    assert saved() == before


@pytest.fixture
def clear():
    """Forget what this process has read, as a new one would not know it."""
    from formalbench import cache
    from formalbench.running import worker

    def clear():
        for function in (cache.package_digest, worker.load_host):
            function.cache_clear()

    return clear
