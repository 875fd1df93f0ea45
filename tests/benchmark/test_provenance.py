"""A record names the code that made it, and how training went; no id depends on it."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from built_records import forged
from formalbench import commit
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import parse_any
from formalbench.running.cohort import packages_of
from formalbench.running.plan import key_of
from formalbench.running.run_record import MAX_SIZE, _with_curve
from formalbench.store import Store
from formalbench.store.record_file import read_packed, written
from formalbench.training import trainer
from formalbench.training.run_state import LearningPoint

ROOT = Path(__file__).parents[2]

NEVER = """

def never():
    import wandb
"""


@pytest.fixture
def run(run):
    def record(*arguments):
        done = run("--quiet", "--json", *arguments, task="parity", seeds=1, jobs=None)
        assert done.code == 0
        (data,) = done.data
        return Record.model_validate(data)

    return record


@pytest.fixture
def small(mine):
    """Write a plugin that imports something, something when it is built, and something never."""
    path = mine("small", imported="import networkx", built="import tabulate")
    path.write_text(path.read_text() + NEVER)
    return path


def git(folder, *words):
    someone = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *someone, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with a file of code and one of documentation."""
    root = tmp_path / "checkout"
    (root / "benchmark").mkdir(parents=True)
    (root / "benchmark" / "one.py").write_text("one = 1\n")
    (root / "README.md").write_text("one\n")
    git(tmp_path, "init", "--quiet", str(root))
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "one")
    return root


def test_a_checkout_is_dirty_if_its_code_was_changed(checkout, tmp_path):
    head = git(checkout, "rev-parse", "HEAD")
    assert commit.commit_of(checkout) == head
    (checkout / "README.md").write_text("two\n")
    assert commit.commit_of(checkout) == head
    (checkout / "benchmark" / "two.py").write_text("two = 2\n")
    assert commit.commit_of(checkout) == f"{head}-dirty"
    assert commit.commit_of(tmp_path) == ""


def test_a_record_names_commit_and_source(run):
    record = run("--model", "rnn[width=8]")
    assert record.environment.commit == (commit.own_commit() or None)
    assert len(record.environment.source) == 64
    assert set(record.environment.versions) == {"python", "formalbench", "torch", "numpy"}


def test_a_record_names_the_packages_that_a_plugin_imported(run, small):
    record = run("--model", "small", "--plugin", small)
    others = record.environment.versions.keys() - {"python", "formalbench", "torch", "numpy"}
    assert others == {"networkx", "tabulate"}


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Import a package of two files, of which each imports something."""
    folder = tmp_path / "two_files"
    folder.mkdir()
    (folder / "__init__.py").write_text("import networkx\nfrom .other import Other\n")
    (folder / "other.py").write_text("import tabulate\nclass Other: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder, importlib.import_module("two_files").Other()
    for name in ("two_files", "two_files.other", "two_files.late"):
        sys.modules.pop(name, None)


def test_a_file_that_is_half_saved_or_deleted_costs_its_packages_alone(imported):
    folder, part = imported
    whole = (folder / "other.py").read_text()
    (folder / "other.py").write_text("import (")
    assert packages_of([part]).keys() == {"networkx"}
    (folder / "other.py").unlink()
    assert packages_of([part]).keys() == {"networkx"}
    (folder / "other.py").write_text(whole)
    assert packages_of([part]).keys() == {"networkx", "tabulate"}


def test_a_module_that_is_imported_later_counts_from_then_on(imported):
    folder, part = imported
    assert packages_of([part]).keys() == {"networkx", "tabulate"}
    (folder / "late.py").write_text("import numpy\nimport yaml\n")
    importlib.import_module("two_files.late")
    assert packages_of([part]).keys() >= {"networkx", "tabulate", "PyYAML"}


def test_a_plugin_that_changes_has_another_source(run, small):
    first = run("--model", "small", "--plugin", small)
    small.write_text(f"{small.read_text()}\n# more\n")
    second = run("--model", "small", "--plugin", small)
    assert first.environment.source != second.environment.source


def test_the_learning_curve_has_every_validation(run):
    record = run("--model", "rnn[width=8]")
    curve = record.training.curve
    assert curve.steps == (20, 40)
    assert all(0 <= share <= 1 for share in (*curve.error, *curve.accuracy))
    at = curve.steps.index(record.selected.step)
    assert curve.accuracy[at] == pytest.approx(record.selected.accuracy, abs=1e-4)


def test_a_record_names_the_commit_of_when_its_training_began(run, monkeypatch):
    train = trainer.train_cohort

    def train_beside_a_commit(cohort):
        monkeypatch.setattr(commit, "commit_of", lambda root: "b" * 40)
        return train(cohort)

    commit.own_commit.cache_clear()
    monkeypatch.setattr(commit, "commit_of", lambda root: "a" * 40)
    monkeypatch.setattr(trainer, "train_cohort", train_beside_a_commit)
    record = run("--model", "rnn[width=8]")
    commit.own_commit.cache_clear()
    assert record.environment.commit == "a" * 40


def test_a_record_tested_again_keeps_the_code_that_trained_it(run, monkeypatch):
    before = run("--model", "rnn[width=8]")
    commit.own_commit.cache_clear()
    monkeypatch.setattr(commit, "commit_of", lambda root: "f" * 40)
    after = run("--model", "rnn[width=8]", "--set", "protocol.test.strings=8")
    other = run("--model", "gru[width=8]")
    commit.own_commit.cache_clear()
    assert after.environment == before.environment
    assert after.training == before.training
    assert other.environment.commit == "f" * 40


def test_a_curve_takes_the_room_that_a_record_has(run):
    record = run("--model", "rnn[width=8]")
    bare = record.model_copy(
        update={"training": record.training.model_copy(update={"curve": None})}
    )
    points = [LearningPoint(40_000 + 200 * i, 1.23e-5, 0.1234, 0.4321) for i in range(250)]
    whole = _with_curve(bare, points)
    assert len(whole.training.curve.steps) > 80
    assert whole.training.curve.steps[-1] == points[-1].step
    full = whole.model_copy(update={"message": "x" * 500, "command": "x" * 4000})
    full = full.model_copy(update={"training": bare.training})
    some = _with_curve(full, points)
    assert 1 <= len(some.training.curve.steps) < 80
    for one in (whole, some):
        assert len(one.to_json()) <= MAX_SIZE
        assert parse_any(one.to_json(), "r.json") == one
    huge = bare.model_copy(update={"command": "x" * 9000})
    assert _with_curve(huge, points) == huge


def test_records_without_it_are_read_and_keep_their_text_and_ids(run, tmp_path):
    record = run("--model", "rnn[width=8]")
    data = json.loads(record.to_json())
    del data["training"]["curve"], data["environment"]["source"]
    data["environment"].pop("commit", None)  # there is none outside a clone
    old = Record.model_validate(data)
    assert json.loads(old.to_json()) == data
    assert key_of(old) == key_of(record)
    file = tmp_path / "packed.jsonl"
    file.write_text(written([old, record]))
    assert read_packed(file) == [old, record]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("environment.commit", "main"),
        ("environment.source", "abc"),
        ("training.curve.steps", [40, 20]),
        ("training.curve.loss", [0.5]),
        ("training.curve.accuracy", [0.5, 1.5]),
    ],
)
def test_what_cannot_be_is_refused(run, path, value):
    record = run("--model", "rnn[width=8]")
    with pytest.raises(RequestError):
        forged(record, {path: value})


def test_published_records_are_as_they_were():
    for file, record in Store(ROOT / "leaderboard" / "results").files().items():
        assert record.to_json() == file.read_text("utf-8")
