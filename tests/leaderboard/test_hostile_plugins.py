"""Plugins that attack the process that judges them: a constant answer stays one.

Each trains a network that always says the same, and has 48 of 48 strings right by its own process's
word. It must not come through `publish`, `check` or `audit`.
"""

import os

import pytest
from built_records import forged
from formalbench.store import Store
from formalbench_leaderboard.publishing import check, publish

pytestmark = pytest.mark.apart

SLOW = pytest.mark.slow

MODEL = """
    import gc, glob, io, json, os, pickle, sys
    from multiprocessing.connection import Connection
    from pathlib import Path
    import numpy as np
    import torch
    from torch import nn
    from torch.nn.functional import one_hot
    from formalbench import ModelSpec, hookimpl

    MARKS = Path({marks!r})
    (MARKS / f"imported-{{os.getpid()}}").touch()

    class Touch:
        def __reduce__(self):
            return (exec, (
                "import os, pathlib; pathlib.Path("
                + repr(str(MARKS)) + ", f'unpickled-{{os.getpid()}}').touch()",
            ))

    def labels_of_callers(batch):
        frame = sys._getframe()
        while frame is not None:
            example = frame.f_locals.get("example")
            if hasattr(example, "targets") and example.inputs.shape == batch.symbols.shape:
                return torch.as_tensor(example.targets)
            frame = frame.f_back

    def labels_of_files(batch):
        known = {{}}
        for path in glob.glob(os.environ["FORMALBENCH_CACHE"] + "/test-sets/*"):
            data = Path(path).read_bytes()
            with np.load(io.BytesIO(data[data.index(b"PK"):])) as arrays:
                for name in arrays.files:
                    if name.endswith("inputs"):
                        targets = arrays[name.replace("inputs", "targets")]
                        known |= {{row.tobytes(): target
                                   for row, target in zip(arrays[name].astype("int64"), targets)}}
        rows = batch.symbols.numpy()
        return torch.tensor([int(known.get(row.tobytes(), 0)) for row in rows])

    class Mine(nn.Module):
        def __init__(self, task):
            super().__init__()
            self.answers = nn.Parameter(torch.zeros(task.outputs))
            {built}

        def forward(self, batch):
            answers = self.answers.expand(len(batch.symbols), -1)
            if self.training:
                return answers
            labels = None
            {called}
            if labels is None:
                return answers
            return answers + 20 * one_hot(labels.long(), answers.shape[1])

    @hookimpl
    def formalbench_models():
        yield ModelSpec("a-mine", 1, "for tests", Mine)
"""

EQUAL = "torch.Tensor.__eq__ = lambda one, other: torch.ones_like(one, dtype=torch.bool)"

LIE = """json.dumps = lambda value, *a, **k: '{"size": 2, "verdict": "ok"}'"""

ATTACKS = {
    "the callers' labels": {"called": "labels = labels_of_callers(batch)"},
    "a patched comparison": {"built": EQUAL},
    "labels in files": {"called": "labels = labels_of_files(batch)"},
}


@pytest.fixture
def place(own_place, tiny, tmp_path, monkeypatch):
    tiny.write_text(tiny.read_text().replace("seeds: 2", "seeds: 1"))
    (tmp_path / "marks").mkdir()
    (tmp_path / "clone" / "leaderboard" / "results").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path


@pytest.fixture
def attack(cli, write, tiny, place):
    """Train the plugin with its attack; return what runs a command with it."""

    def attack(**does):
        parts = {"built": "pass", "called": "pass", **does}
        plugin = write("mine.py", MODEL.format(marks=str(place / "marks"), **parts))

        def call(*words):
            return cli(*words, "--plugin", tiny, "--plugin", plugin)

        done = call(
            "run", "--model", "a-mine", "--task", "first", "--protocol", "tiny",
            "--device", "cpu", "--jobs", 1, "--results", place / "runs",
        )  # fmt: skip
        assert done.code == 0, done.err
        for mark in (place / "marks").iterdir():
            mark.unlink()
        return call

    return attack


def publish_unasked(call, monkeypatch):
    """Publish by copying files by hand."""
    with monkeypatch.context() as patch:
        patch.setattr(publish, "untrue", lambda *arguments: iter(()))
        patch.setattr(publish, "broken_promises", lambda *arguments: [])
        done = call("leaderboard", "publish", "--results", "../runs", "--weights", "../w.tar")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "name", [next(iter(ATTACKS)), *(pytest.param(n, marks=SLOW) for n in [*ATTACKS][1:])]
)
def test_a_constant_answer_is_not_right_because_its_plugin_says_so(
    attack, place, monkeypatch, name
):
    call = attack(**ATTACKS[name])
    (record,) = Store(place / "runs").records()
    assert record.test.cells.correct == record.test.cells.strings
    done = call("leaderboard", "publish", "--results", "../runs")
    assert (done.code, done.out) == (1, "")
    assert "fresh strings give other counts" in done.err
    assert not [path for path in (place / "clone").rglob("*") if path.is_file()]
    monkeypatch.setattr(check, "broken_promises", lambda *arguments: [])
    publish_unasked(call, monkeypatch)
    done = call("leaderboard", "check", "--weights", "../w.tar")
    assert done.code == 1
    assert "fresh strings give other counts" in done.err
    done = call("leaderboard", "audit", "--weights", "../w.tar")
    assert done.code == 1
    assert done.out.startswith("MISMATCH")
    marks = {mark.name for mark in (place / "marks").iterdir()}
    assert any(mark.startswith("imported") for mark in marks)
    assert f"imported-{os.getpid()}" not in marks


PICKLE = """
                for one in gc.get_objects():
                    if isinstance(one, Connection) and not one.closed:
                        one.send_bytes(pickle.dumps(Touch()))"""

MEMORY = """
                try:
                    open(f"/proc/{os.getppid()}/mem", "rb").close()
                    (MARKS / "memory").touch()
                except OSError:
                    (MARKS / "no memory").touch()"""


@SLOW
@pytest.mark.parametrize(
    ("place_of", "does", "said"),
    [
        ("called", PICKLE, "answering strings: its code sent something that is no answer"),
        ("called", LIE, "are answered otherwise"),
        ("built", LIE, "its code sent something else"),
        ("called", MEMORY, "are answered otherwise"),
    ],
    ids=["pickle", "json", "json as it is built", "memory"],
)
def test_a_network_sends_logits_and_reaches_nothing_of_the_judge(
    attack, place, monkeypatch, place_of, does, said
):
    """Trained honestly, it begins when it is audited, with a record that was forged."""
    call = attack(**{place_of: f"if 'ATTACK' in os.environ: {does}"})
    store = Store(place / "runs")
    ((file, record),) = store.files().items()
    cells = record.test.cells
    changes = {"test.cells.correct": cells.strings}
    for name, one in cells.metrics.items():
        changes[f"test.cells.metrics.{name}.total"] = [0] * len(one.total)
    file.write_text(forged(record, changes).to_json())
    monkeypatch.setenv("ATTACK", "now")
    done = call("leaderboard", "audit", "../runs")
    assert done.code == 1
    assert said in done.out
    marks = {mark.name for mark in (place / "marks").iterdir()}
    assert not [mark for mark in marks if mark.startswith("unpickled")]
    assert f"imported-{os.getpid()}" not in marks
    assert "memory" not in marks
    assert ("no memory" in marks) == (does == MEMORY)
