"""Trackers: a thread, names that fit, an end to every run, and each library's own reader."""

import json
import math
import struct
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from formalbench import Progress, RunInfo
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.session import asked_trackers
from formalbench.store import Store
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


@pytest.fixture
def ask(refused, tiny):
    """Ask for a run with a tracker that is refused, and return the line that says why."""
    words = ("run", "--model", "gru", "--task", "first", "--plugin", tiny, "--protocol", "tiny")
    return lambda *arguments: refused(*words, "--device", "cpu", "--tracker", *arguments)


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
def test_options_that_cannot_be_are_one_line(ask, arguments, said):
    assert ask(*arguments) == f"formalbench: {said}"


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_missing_extra_is_one_line(ask, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    assert ask(name) == (
        f"formalbench: --tracker {name} needs the package {name}: pip install 'formalbench[{name}]'"
    )


pytestmark = pytest.mark.filterwarnings("default")  # the libraries' own

STEPS = [10, 20, 30, 40]
LENGTHS = [41, 271, 500]


@pytest.fixture
def tracked(cli, tiny):
    """Run a session with trackers, and return its one record."""

    def tracked(*arguments):
        done = cli(
            *("run", "--model", "gru[width=8]", "--task", "first", "--plugin", tiny),
            *("--protocol", "tiny", "--device", "cpu", "--seeds", 1, "--jobs", 1, *arguments),
        )
        assert done.code == 0, done.err
        assert "failed" not in done.err
        assert "dropped" not in done.err
        (record,) = Store(Path("results")).records()
        return record

    return tracked


def shares(record):
    cells = record.test.cells
    return [
        pytest.approx(right / of) for right, of in zip(cells.correct, cells.strings, strict=True)
    ]


def test_tensorboard_shows_a_run(tracked):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    record = tracked("--tracker", "tensorboard", "--set", "tracker.folder=events")
    (folder,) = Path("events/gru-width=8/first--classify").iterdir()
    assert folder.name == f"seed-0-{record.test_id}"
    events = EventAccumulator(str(folder))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == STEPS
    assert {event.step for event in events.Scalars("validation/accuracy")} <= {*STEPS}
    tested = events.Scalars("test/accuracy")
    assert [event.step for event in tested] == LENGTHS
    assert [event.value for event in tested] == shares(record)
    (final,) = events.Scalars("final/accuracy")
    assert final.value == pytest.approx(record.test.accuracy)
    told = {
        tag: b"".join(event.tensor_proto.string_val) for tag in events.Tags()["tensors"]
        for event in events.Tensors(tag)
    }  # fmt: skip
    assert told["config/test_id/text_summary"].decode() == record.test_id
    assert told["status/text_summary"] == b"finished"
    assert "_hparams_/session_start_info" in events.summary_metadata


def wandb_records(path):
    """Read the records of a file of Weights & Biases: LevelDB's log, and protobuf in it."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if (left := 32768 - at % 32768) < 7:
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or its last part
            record = Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


@pytest.mark.slow
def test_weights_and_biases_keeps_a_run_offline(tracked):
    import wandb

    record = tracked("--tracker", "wandb", "--set", "tracker.mode=offline")
    wandb.teardown()  # as at the end of a process: the library's own process writes the file
    (path,) = Path("wandb").glob("offline-run-*/run-*.wandb")
    rows, config, summary, exit_codes = [], {}, {}, []
    for kept in wandb_records(path):
        kind = kept.WhichOneof("record_type")
        if kind == "history":
            names = [item.key or "/".join(item.nested_key) for item in kept.history.item]
            values = [json.loads(item.value_json) for item in kept.history.item]
            rows.append(dict(zip(names, values, strict=True)))
        elif kind in ("run", "config"):
            changed = kept.run.config if kind == "run" else kept.config
            config |= {i.key or i.nested_key[0]: json.loads(i.value_json) for i in changed.update}
            assert kind == "config" or kept.run.project == "formalbench"
        elif kind == "summary":
            summary |= {i.key or i.nested_key[0]: i.value_json for i in kept.summary.update}
        elif kind == "exit":
            exit_codes.append(kept.exit.exit_code)
    trained = [row for row in rows if "train/loss" in row]
    assert [row["step"] for row in trained] == STEPS
    tested = [row for row in rows if "test/accuracy" in row]
    assert [row["length"] for row in tested] == LENGTHS
    assert [row["test/accuracy"] for row in tested] == shares(record)
    assert (config["test_id"], config["train_id"]) == (record.test_id, record.train_id)
    assert (config["protocol.batch"], config["model.width"]) == (8, 8)
    assert json.loads(summary["final/accuracy"]) == pytest.approx(record.test.accuracy)
    assert exit_codes == [0]


@pytest.mark.slow
def test_mlflow_keeps_a_run_in_a_folder(tracked, monkeypatch):
    from mlflow.tracking import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    record = tracked("--tracker", "mlflow", "--set", "tracker.experiment=mine")
    client = MlflowClient(Path("mlruns").absolute().as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    assert run.info.run_name == "gru[width=8] on first:classify, seed 0, rate 0.01"
    assert run.info.status == "FINISHED"
    assert run.data.tags["test_id"] == run.data.params["test_id"] == record.test_id
    assert run.data.params["protocol.test.strings"] == "16"
    curve = client.get_metric_history(run.info.run_id, "train/loss")
    assert [point.step for point in curve] == STEPS
    tested = client.get_metric_history(run.info.run_id, "test/accuracy")
    assert [point.step for point in tested] == LENGTHS
    assert [point.value for point in tested] == shares(record)
    assert run.data.metrics["final/accuracy"] == pytest.approx(record.test.accuracy)


def test_nobody_goes_online_unknown(ask, monkeypatch):
    monkeypatch.setenv("NETRC", "nowhere")
    assert ask("wandb") == (
        "formalbench: --tracker wandb: nobody is logged in: run `wandb login`, or add "
        "--set tracker.mode=offline"
    )
