"""How long is left of runs that differ in steps, lengths and models."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from formalbench.contracts.hooks import Progress, RunInfo
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.estimate import Remaining, Work, work_of
from formalbench.running.plan import RunRequest, make_plan
from formalbench.ui.live import LiveTable
from rich.console import Console


def info(name, model="rnn"):
    return RunInfo("t", name, model, "parity:classify", "quick", 0.001, 0, 1000)


def took(seconds):
    return SimpleNamespace(training=SimpleNamespace(seconds=seconds), test=None)


def test_long_runs_that_are_left_weigh_more_than_short_ones_that_are_done():
    left = Remaining({"short": Work("rnn", 10.0), "long": Work("rnn", 90.0)})
    assert left.seconds(0.0) is None
    left.finished(info("short"), took(5.0))
    assert left.seconds(5.0) == pytest.approx(45.0)  # and not 5, as one of two runs
    left.progressed(info("long"), Progress("train", 500, 40))
    assert left.seconds(27.5) == pytest.approx(22.5)
    left.finished(info("long"), took(45.0))
    assert left.seconds(50.0) is None


def test_a_model_costs_what_its_own_runs_took():
    work = {name: Work(name[0], 10.0) for name in ("a1", "a2", "b1", "b2", "c1")}
    left = Remaining(work)
    left.finished(info("a1"), took(2.0))
    left.finished(info("b1"), took(20.0))
    # a2 like a1, b2 like b1, and of the third model the mean of all.
    assert left.seconds(22.0) == pytest.approx(2.0 + 20.0 + 11.0)


def test_two_at_a_time_take_half_as_long():
    left = Remaining({name: Work("rnn", 1.0) for name in "abcd"})
    for name in "ab":
        left.finished(info(name), took(10.0))
    assert left.seconds(10.0) == pytest.approx(10.0)


def test_before_any_run_is_done_its_steps_tell():
    left = Remaining({"a": Work("rnn", 30.0), "b": Work("lstm", 70.0)})
    left.progressed(info("a"), Progress("train", 10, 40))
    assert left.seconds(1.0) is None  # 0.3 %: too little
    left.progressed(info("a"), Progress("train", 500, 40))
    assert left.seconds(15.0) == pytest.approx(85.0)


def test_a_run_that_failed_at_once_says_nothing_of_the_others():
    left = Remaining({"a": Work("rnn", 1.0), "b": Work("rnn", 1.0)})
    left.finished(info("a"), SimpleNamespace(training=None, test=None))
    assert left.seconds(3.0) is None


def test_work_is_steps_and_lengths():
    host = PluginHost.load([])

    def symbols(task, *texts):
        request = RunRequest(("rnn",), (task,), "", "quick", 1, parse_settings(texts))
        (run,) = make_plan(host, request).runs
        (work,) = work_of(host, [run]).values()
        assert work.model == "rnn"
        return work.symbols

    step, tested = 128 * (1 + 40) / 2, 16 * 256 * (41 + 500) / 2
    assert symbols("parity") == pytest.approx(3 * 2000 * step + tested)
    assert symbols("parity", "protocol.steps=500") == pytest.approx(3 * 500 * step + tested)
    assert symbols("d2") == pytest.approx(3 * 2000 * 128 * (1 + 50) / 2 + 16 * 256 * (51 + 100) / 2)


def test_the_live_table_says_it():
    table = LiveTable(
        Console(file=io.StringIO(), width=120),
        total=2,
        work={"a": Work("rnn", 10.0), "b": Work("rnn", 60.0)},
    )
    assert "left" not in table._left(10)
    table._remaining.finished(info("a"), took(10.0))
    assert table._left(10) == ", about 1:00 left"
