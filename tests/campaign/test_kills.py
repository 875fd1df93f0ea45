"""Kills at any moment of a unit: the same command again comes to the same numbers."""

import os
import signal
import time
from dataclasses import replace

import pytest
from formalbench import store as storing
from formalbench.cache import cache_folder
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunRequest, make_plan
from formalbench.running.units import ProgressFile, Unit
from formalbench.running.worker import work
from formalbench.store import Store
from formalbench.training import run_state

RATES = "protocol.learning_rates=0.01,0.003"


class Killed(BaseException):
    """Nothing handles it, as nothing handles a kill."""


@pytest.fixture
def unit(tiny, tmp_path):
    """Two runs that train as one program."""
    settings = parse_settings([RATES, "protocol.batch=2", "protocol.steps=30", "width=4"])
    request = RunRequest(("gru",), ("first",), protocol="tiny", seeds=1, settings=settings)
    runs = make_plan(PluginHost.load([tiny]), request).runs
    return Unit(runs, tmp_path / "store")


def numbers(unit):
    found = [Store(unit.store).record_of(run) for run in unit.runs]
    return [(one.status, one.weights, one.selected, one.training.cohort) for one in found]


def left_of(unit):
    """What the same command asks for again."""
    store = Store(unit.store)
    return replace(unit, runs=tuple(run for run in unit.runs if store.record_of(run) is None))


@pytest.fixture
def kill_at(monkeypatch):
    """Exit at the given step of training, test or file."""
    monkeypatch.setattr(run_state, "EVERY", 0.0)

    def kill_at(moment):
        passed = iter(range(moment))

        def pass_by(function):
            def passing(*arguments, **more):
                if next(passed, None) is None:
                    raise Killed
                result = function(*arguments, **more)
                if next(passed, None) is None:
                    raise Killed
                return result

            return passing

        context = monkeypatch.context()
        patch = context.__enter__()
        patch.setattr(ProgressFile, "progress", pass_by(ProgressFile.progress))
        for module in (storing, run_state):
            for name in ("write_atomically", "write_sealed"):
                if hasattr(module, name):
                    patch.setattr(module, name, pass_by(getattr(module, name)))
        return context

    return kill_at


def test_a_unit_that_is_killed_again_and_again(unit, kill_at, rng, tmp_path):
    whole = replace(unit, store=tmp_path / "whole")
    work(whole)
    for _ in range(rng.randint(1, 3)):
        context = kill_at(rng.randint(0, 24))
        try:
            if (left := left_of(unit)).runs:
                work(left)
        except Killed:
            pass
        finally:
            context.__exit__(None, None, None)
    if (left := left_of(unit)).runs:
        work(left)
    assert numbers(unit) == numbers(whole)
    Store(unit.store).all()  # every file is a record
    assert not list((cache_folder() / "training").glob("*/*")) or not left.runs


@pytest.mark.campaign
def test_a_session_that_is_killed(spawn, cli, tiny, results, rng):
    command = (
        "run", "--model", "gru[width=4],rnn[width=4]", "--task", "first", "--protocol", "tiny",
        "--set", RATES, "--plugin", tiny, "--device", "cpu", "--jobs", rng.choice((1, 2)), "--json",
    )  # fmt: skip
    whole = {row["test_id"]: row for row in cli(*command, "--results", "whole").data}
    session = spawn("-m", "formalbench", *command)
    time.sleep(rng.uniform(2.0, 15.0))
    os.killpg(session.pid, signal.SIGKILL)
    session.wait()
    done = cli(*command)
    assert done.code == 0, done.err
    again = {row["test_id"]: row for row in done.data}
    assert again.keys() == whole.keys()
    for test_id, row in again.items():
        assert row["weights"] == whole[test_id]["weights"]
        assert row["test"]["cells"] == whole[test_id]["test"]["cells"]
    assert len(Store(results).all()) == len(again)
