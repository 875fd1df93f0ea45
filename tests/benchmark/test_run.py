"""`formalbench run`: a record for every outcome, and no run twice."""

import json
import shlex
from pathlib import Path

import pytest
from formalbench import api
from formalbench.contracts.errors import RequestError
from formalbench.device import choose_device, choose_devices
from formalbench.evaluation.cells import test_set as draw_test_set  # not a test
from formalbench.host import PluginHost
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store
from refusals import refusal

LISTENER = """
    from pathlib import Path
    from formalbench import hookimpl

    def say(*words):
        with Path("heard.txt").open("a") as file:
            print(*words, file=file)

    @hookimpl
    def formalbench_run_started(run):
        say("started", run.test_id)

    @hookimpl
    def formalbench_session_started(session):
        say("begin", session.results.name, session.quiet, session.runs, session.todo)

    @hookimpl
    def formalbench_run_progress(run, progress):
        say("progress", run.test_id, progress.phase, progress.step, *sorted(progress.metrics))

    @hookimpl
    def formalbench_run_finished(run, record):
        from formalbench.store import Store, default_results
        kept = [r for r in Store(default_results()).records() if r.test_id == run.test_id]
        say("finished", run.test_id, record.status, len(kept))

    @hookimpl
    def formalbench_session_finished(session, records):
        say("session", session.results.name, session.quiet, len(records))
"""


@pytest.fixture
def heard(write):
    """Load an observer; return what it heard since it was last asked."""
    path = write("listener.py", LISTENER)

    def heard():
        file = Path("heard.txt")
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [tuple(line.split()) for line in lines]

    heard.path = path
    return heard


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.json")}


def test_a_run_becomes_a_record(run, results, tiny, odd_models):
    done = run("--model", "bag", "--task", "first", "--seeds", 1)
    assert done.code == 0
    assert "Traceback" not in done.err
    assert "bag" in done.out  # the board
    (record,) = Store(results).records()
    assert (record.status, record.message, record.seed) == ("finished", "", 0)
    assert (record.model.name, record.task.name) == ("bag", "first:classify")
    assert record.model.source.distribution == "odd_models.py"
    assert record.model.parameters == 2 * 8 + 8 * 2 + 2
    assert record.training.steps == 40
    assert record.training.strings == 40 * 8
    assert record.selected.strings == 3 * 8
    assert record.test.cells.length == (41, 271, 500)
    assert record.test.cells.strings == (16, 16, 16)
    assert record.test.metric == "accuracy"
    assert record.test.chance_length == 0.5
    host = PluginHost.load([tiny, odd_models])
    expected = draw_test_set(host.task("first"), host.protocol("tiny"))
    assert record.test.fingerprint == expected.fingerprint
    assert record.environment.device == "cpu"
    assert set(record.environment.versions) >= {"python", "torch", "numpy", "formalbench"}


def test_json_is_all_there_is_on_standard_output(run, results):
    done = run("--model", "bag", "--task", "first,parity:tag", "--json")
    assert done.code == 0
    data = json.loads(done.out)
    assert [(row["task"]["name"], row["seed"]) for row in data] == [
        ("first:classify", 0), ("first:classify", 1), ("parity:tag", 0), ("parity:tag", 1)
    ]  # fmt: skip
    stored = {row["test_id"]: row for row in map(json.loads, contents(results).values())}
    assert stored == {row["test_id"]: row for row in data}
    assert data[0]["schema_version"] == 2


def test_the_same_command_again_trains_nothing(run, results, heard):
    command = ("--model", "bag", "--task", "first", "--plugin", heard.path)
    assert run(*command).code == 0
    kinds = [kind for kind, *_ in heard()]
    assert kinds.count("started") == kinds.count("finished") == 2
    before = contents(results)
    again = run(*command)
    assert again.code == 0
    assert "bag" in again.out  # the board is shown all the same
    assert heard() == [
        ("begin", "results", "False", "2", "0"), ("session", "results", "False", "2")
    ]  # fmt: skip
    assert contents(results) == before
    more = run(*command, "--seeds", 3, "--json")
    assert len(more.data) == 3
    events = heard()
    assert [kind for kind, *_ in events].count("started") == 1
    assert events[-1] == ("session", "results", "True", "3")


def test_observers_hear_a_run_in_order_and_after_its_record_is_on_disk(run, heard):
    run("--model", "bag", "--task", "first", "--seeds", 1, "--plugin", heard.path)
    events = heard()
    own = ("train/error", "train/loss", "train/tokens-per-second")
    measured = ("accuracy", "cross-entropy", "mutual-information")
    all_of_them = (*own, *(f"validation/{name}" for name in measured))
    assert [(kind, *rest[1:]) for kind, *rest in events] == [
        ("begin", "False", "1", "1"),
        ("started",),
        ("progress", "train", "10", *own),
        ("progress", "train", "20", *all_of_them),
        ("progress", "train", "30", *all_of_them),
        ("progress", "train", "40", *all_of_them),
        ("progress", "test", "40"),
        ("finished", "finished", "1"),
        ("session", "False", "1"),
    ]


def test_an_observer_that_raises_does_not_end_a_run(run, write, results, heard):
    path = write(
        "bad.py",
        "from formalbench import hookimpl\n@hookimpl\ndef formalbench_run_progress(progress):\n"
        "    raise ValueError('one\\ntwo')\n",
    )
    done = run("--model", "bag", "--task", "first", "--plugin", path, "--plugin", heard.path)
    assert done.code == 0
    line = f"plugin bad.py ({path}) dropped as an observer: ValueError: one two\n"
    assert done.err.count(line) == 1
    assert len(Store(results).records()) == 2
    assert [kind for kind, *_ in heard()].count("progress") == 10


def test_a_time_limit(cli, write, odd_models, results):
    path = write(
        "short.yaml", "name: short\nversion: 1\ntime_limit: 1.0e-9\nlearning_rates: [0.01]\n"
    )
    done = cli(
        "run", "--model", "bag", "--task", "first", "--protocol", "short", "--seeds", 1,
        "--plugin", path, "--plugin", odd_models, "--device", "cpu", "--json",
    )  # fmt: skip
    assert done.code == 1
    (record,) = done.data
    assert record["status"] == "timeout"
    assert record["training"]["ended"] == "stopped"
    assert record["training"]["steps"] == 20
    assert record["test"] is None


def test_an_exact_model_is_tested_without_training(run):
    (record,) = run("--model", "rejecting", "--task", "first", "--json").data
    assert (record["learning_rate"], record["seed"], record["training"]) == (None, 0, None)
    assert record["test"]["cells"]["correct"] == [8, 8, 8]  # balanced: half are class 0
    bits = record["test"]["cells"]["metrics"]["cross-entropy"]
    assert bits == {"total": [16_000, 16_000, 16_000], "count": [16, 16, 16]}


def test_the_command_in_a_record_repeats_the_run(run, cli, monkeypatch, odd_models, tiny, heard):
    (record,) = run("--model", "bag", "--task", "first", "--seeds", 1, "--json").data
    assert all(f"--plugin {file}" in record["command"] for file in ("odd_models.py", "tiny.yaml"))
    Path("odd_models.py").write_bytes(odd_models.read_bytes())  # the plugin it names, here
    monkeypatch.setenv("FORMALBENCH_PLUGINS", str(tiny))  # the protocol's file
    words = shlex.split(record["command"])
    assert words[0] == "formalbench"
    again = cli(*words[1:], "--json", "--plugin", heard.path)
    assert again.code == 0
    assert [row["test_id"] for row in again.data] == [record["test_id"]]
    assert [kind for kind, *_ in heard()] == ["begin", "session"]  # nothing to do: the same run


TASK = """
from formalbench import Language, TaskSpec, hookimpl


class Ones(Language):
    alphabet = ("a", "b")

    def sample(self, stream, length, count):
        strings = stream.integers(2, (count, length))
        strings[:, 0] = SYMBOL
        return strings

    def classify(self, strings):
        return strings[:, 0]

    def oracle(self, string):
        return string[0]

    def class_distribution(self, length):
        return SHARES


@hookimpl
def formalbench_tasks():
    yield TaskSpec("mine", 1, "", Ones)
"""


def test_a_changed_language_is_tested_on_its_own_strings(run, write):
    def accuracy(symbol, shares):
        path = write("mine.py", TASK.replace("SYMBOL", symbol).replace("SHARES", shares))
        (row,) = run("--model", "rejecting", "--task", "mine", "--json", "--plugin", path).data
        return sum(row["test"]["cells"]["correct"]) / 48, row["test"]["fingerprint"]

    before, print_before = accuracy("0", "(1.0, 0.0)")
    after, print_after = accuracy("1", "(0.0, 1.0)")
    assert (before, after) == (1.0, 0.0)
    assert print_before != print_after


def test_a_changed_chance_level_is_not_taken_from_the_cache(run, write):
    def chance(shares):
        path = write("mine.py", TASK.replace("SYMBOL", "0").replace("SHARES", shares))
        (row,) = run("--model", "rejecting", "--task", "mine", "--json", "--plugin", path).data
        return row["test"]["chance_length"]

    assert chance("(0.75, 0.25)") == 0.75
    assert chance("(1.0, 0.0)") == 1.0


def test_from_python(tiny, odd_models, results):
    frame = api.run(
        models=iter(["bag", "rejecting"]), tasks=iter(["first"]), protocol="tiny", device="cpu",
        settings={"model.width": 4}, plugins=[tiny, str(odd_models)], seeds=2,
    )  # fmt: skip
    assert list(frame.columns) == [
        "model", "task", "learning_rate", "seed", "status", "accuracy", "chance",
        "scaled_accuracy", "parameters", "steps", "seconds", "test_id",
    ]  # fmt: skip
    assert list(frame["model"]) == ["bag", "bag", "rejecting"]
    assert list(frame["status"]) == ["finished"] * 3
    assert list(frame["parameters"]) == [2 * 4 + 4 * 2 + 2] * 2 + [0]
    assert frame["accuracy"].iloc[2] == 0.5
    assert frame["scaled_accuracy"].iloc[2] == 0.0
    assert len(Store(results).records()) == 3
    import formalbench

    assert formalbench.run is api.run
    with pytest.raises(RequestError, match="did you mean bag"):
        api.run(models=["bgg"], plugins=[odd_models])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"seeds": 1.5},
            "seeds=1.5: must be a number of seeds (5) or a list of seeds ([3, 7, 11])",
        ),
        ({"seeds": "2"}, "seeds='2': must be a number of seeds"),
        ({"seeds": [0, 1.5]}, "seeds=[0, 1.5]: must be a number of seeds"),
        ({"seeds": True}, "seeds=True: must be a number of seeds"),
        ({"models": []}, "name a model"),
        ({"models": 3}, "are lists of names, and one is of type int"),
        ({"tasks": []}, "tasks=[]: name at least one task, or omit tasks to use those of a suite"),
        ({"plugins": "mine.py"}, "plugins is a list of paths: write ['mine.py']"),
        ({"plugins": Path("mine.py")}, "plugins is a list of paths: write ['mine.py']"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_for_from_python(results, asked, said):
    assert said in refusal(lambda: api.run(**({"models": ["lstm"], "tasks": ["first"]} | asked)))
    assert not results.exists()


def test_a_changed_plugin_stops_the_workers_with_its_reason(tiny, odd_models, write, results):
    path = write("mine.py", odd_models.read_text())
    host = PluginHost.load([tiny, path])
    request = RunRequest(("bag",), ("first",), protocol="tiny")
    plan = make_plan(host, request)
    path.write_text(path.read_text() + "\n# changed\n")
    with pytest.raises(RequestError, match="changed while it was in use"):
        execute(host, plan, Store(results), RunOptions(jobs=2))


def test_devices_of_a_machine_with_two(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert choose_device("auto") == "cuda:0"
    assert choose_device("cuda") == "cuda:0"
    assert choose_device("cuda:1") == "cuda:1"
    assert choose_devices("auto") == choose_devices("cuda") == ("cuda:0", "cuda:1")
    assert choose_devices("cuda:1") == ("cuda:1",)
    assert choose_devices("cpu") == ("cpu",)
    with pytest.raises(RequestError, match="has 2 CUDA devices"):
        choose_device("cuda:2")
