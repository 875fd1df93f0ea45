"""What the trackers have in common: a thread, names that fit, and an end to every run."""

from __future__ import annotations

import math
import sys
import threading
from types import SimpleNamespace

import pytest
from formalbench import Progress, RunInfo
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.session import asked_trackers
from formalbench_trackers import tracker
from formalbench_trackers.tracker import Tracker

RUN = RunInfo("t" * 16, "r" * 16, "bag[width=8]", "first:classify", "tiny", 0.01, 0, 40)


class Book(Tracker):
    """Writes down what it is asked; it raises at `bad`, and waits at `gate`."""

    def __init__(self, bad="", gate=None):
        self.pages, self.bad, self.gate = [], bad, gate
        super().__init__()

    def _page(self, *page):
        if self.gate:
            self.gate.wait()
        if page[0] == self.bad:
            raise ConnectionError("the server left")
        self.pages.append(page)

    def begin(self, run, facts):
        self._page("begin", facts["seed"])
        return run.test_id

    def log(self, opened, axis, at, numbers):
        self._page("log", axis, at, numbers)

    def conclude(self, opened, status, config, results):
        self._page("conclude", status)


def progress(step, **metrics):
    return Progress("train", step, 40, {name.replace("_", "/"): v for name, v in metrics.items()})


def test_a_run_that_is_interrupted_is_concluded():
    book = Book()
    book.formalbench_run_started(RUN)
    book.formalbench_run_progress(RUN, progress(10, train_loss=0.5))
    book.formalbench_run_progress(RUN, progress(20))  # a test that begins has no numbers
    book.close()
    assert book.pages == [
        ("begin", 0),
        ("log", "step", 10, {"train/loss": pytest.approx(0.5 / math.log(2))}),  # in bits
        ("conclude", "interrupted"),
    ]


def test_no_run_waits_for_a_library():
    gate = threading.Event()
    book = Book(gate=gate)
    for step in range(100):
        book.formalbench_run_progress(RUN, progress(step, train_loss=0.5))
    assert book.pages == []
    gate.set()
    book.close()
    assert len(book.pages) == 102


def test_a_library_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(tracker, "PATIENCE", 0.05)
    gate = threading.Event()
    book = Book(gate=gate)
    book.formalbench_run_started(RUN)
    with pytest.raises(TimeoutError, match="not all data was sent"):
        book.close()
    gate.set()


def test_whoever_tells_next_hears_why_a_library_failed():
    book = Book(bad="log")
    book.formalbench_run_progress(RUN, progress(10, train_loss=0.5))
    book._thread.join()
    with pytest.raises(ConnectionError, match="the server left"):
        book.formalbench_run_progress(RUN, progress(20, train_loss=0.5))
    with pytest.raises(ConnectionError, match="the server left"):
        book.close()


def record_with(**cells):
    usual = {"group": None, "window": 1, "metrics": {}}
    return SimpleNamespace(test=SimpleNamespace(metric="accuracy", cells=SimpleNamespace(
        **{**usual, **cells}
    )))  # fmt: skip


def sums(total, count):
    return SimpleNamespace(total=total, count=count)


def test_numbers_by_length_are_those_of_the_record():
    record = record_with(
        length=(5, 6, 7),
        correct=(1, 2, 4),
        asked=(4, 4, 4),
        window=2,
        metrics={"cross-entropy": sums((2000, 500), (4, 1)), "odd": sums((1, 1), (2, 0))},
    )
    assert list(tracker.by_length(record)) == [
        (5, {"test/accuracy": 0.25}),
        (6, {"test/accuracy": 0.5, "test/cross-entropy": 0.5, "test/odd": 0.5}),
        (7, {"test/accuracy": 1.0, "test/cross-entropy": 0.5}),
    ]


def test_named_parts_of_a_test_are_curves_of_their_own():
    record = record_with(length=(5, 5), correct=(1, 4), asked=(4, 4), group=("long", "short"))
    assert list(tracker.by_length(record)) == [
        (5, {"test/long/accuracy": 0.25}),
        (5, {"test/short/accuracy": 1.0}),
    ]
    assert list(tracker.by_length(SimpleNamespace(test=None))) == []


def test_each_tracker_has_options_of_its_own():
    host = PluginHost.load()
    names = ["wandb[project=mine]", "tensorboard[folder=events]"]
    wandb, board = asked_trackers(host, names, ())
    assert (wandb.config.project, wandb.config.mode, board.config.folder) == ("mine", "", "events")
    settings = parse_settings(["tracker.mode=offline"])
    wandb, board = asked_trackers(host, names, settings)
    assert (wandb.config.project, wandb.config.mode) == ("mine", "offline")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("wandb[projet=x]",), "unknown option of wandb 'projet': did you mean project?"),
        (("wandb[project=x],wandb",), "--tracker wandb: wandb is given twice"),
        (
            ("wandb[project=x]", "--set", "tracker.project=y"),
            "--set tracker.project=y: project is set twice, as well in wandb[project=x]",
        ),
    ],
)
def test_options_that_cannot_be_are_one_line(refused, tiny, arguments, said):
    words = ("run", "--model", "gru", "--task", "first", "--plugin", tiny, "--protocol", "tiny")
    assert refused(*words, "--device", "cpu", "--tracker", *arguments) == f"formalbench: {said}"


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_missing_extra_is_one_line(refused, tiny, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    said = refused(
        *("run", "--model", "gru", "--task", "first", "--plugin", tiny, "--protocol", "tiny"),
        *("--device", "cpu", "--tracker", name),
    )
    assert said == (
        f"formalbench: --tracker {name} needs the package {name}: pip install 'formalbench[{name}]'"
    )
