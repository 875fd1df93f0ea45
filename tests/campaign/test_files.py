"""Damaged files: YAML, data, records, weights and caches are read, or refused in one line."""

import contextlib
import shutil
import textwrap
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from formalbench.cache import cache_folder, cached
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.evaluation.cells import saved_test_set
from formalbench.host import PluginHost
from formalbench.store import read_record
from formalbench.store.weights import load_network, pack
from formalbench.training.run_state import Checkpointer, Member, RunState, saved_cohorts
from mutate import damaged

TASK = """
    name: no-aba
    alphabet: abc
    regex: (b|c|a+c|a+b(b|c))*(a+b?)?
    version: 1
    summary: no factor aba
    splits: {train: [1, 40], test: [41, 500]}
"""

AUTOMATON = """
    name: b-at-the-end
    alphabet: [a, b]
    states: [p, q]
    start: p
    accept: [q]
    transitions: {p: {a: p, b: q}, q: {a: p, b: q}}
"""

SUITE = """
    name: mine
    summary: two
    tasks: [parity, "parity[p=0.3]", tomita-3:next-symbols]
    protocol: quick
"""

PROTOCOL = """
    name: mine
    version: 1
    extends: quick
    seeds: 2
    learning_rates: [0.01, 0.001]
    steps: 40
    batch: 8
    evaluate_every: 10
    decay: {steps: 20}
    curriculum: {kind: staged, first: 2, growth: 1.5}
    optimiser: {name: adam, betas: [0.9, 0.99]}
    validation: {every: 20, lengths: 3, strings: 8}
    test: {lengths: [41, 100], strings: 16}
"""

FILES = {
    "task": (TASK, [("show", "task", "no-aba"), ("sample", "no-aba", "--length", 7)]),
    "automaton": (
        AUTOMATON,
        [("show", "task", "b-at-the-end"), ("sample", "b-at-the-end:tag", "--length", 5)],
    ),
    "suite": (SUITE, [("show", "suite", "mine"), ("list", "suites")]),
    "protocol": (PROTOCOL, [("show", "protocol", "mine"), ("list", "protocols")]),
}


@pytest.mark.parametrize("kind", FILES)
def test_whole_files_are_read(cli, tmp_path, kind):
    text, commands = FILES[kind]
    path = tmp_path / "mine.yaml"
    path.write_text(textwrap.dedent(text))
    for command in commands:
        assert cli(*command, "--plugin", path).code == 0


@pytest.mark.parametrize("kind", FILES)
def test_damaged_files_are_read_or_refused(cli, tmp_path, rng, kind):
    text, commands = FILES[kind]
    path = tmp_path / "mine.yaml"
    path.write_bytes(damaged(rng, textwrap.dedent(text).encode()))
    for command in commands:
        done = cli(*command, "--plugin", path)
        assert done.code in (0, 2), (path.read_bytes(), done)
        assert done.code == 0 or len(done.err.splitlines()) == 1, (path.read_bytes(), done)


EXAMPLE = Path(__file__).parents[2] / "examples" / "dataset"
COMMANDS = (
    ("show", "task", "shuffled-brackets"),
    ("sample", "shuffled-brackets", "--length", 12, "--count", 3),
)


def test_a_damaged_file_is_read_or_refused(cli, tmp_path, rng):
    folder = tmp_path / "data"
    shutil.copytree(EXAMPLE, folder)
    file = folder / rng.choice(sorted(path.name for path in EXAMPLE.iterdir()))
    file.write_bytes(damaged(rng, file.read_bytes()))
    for command in COMMANDS:
        done = cli(*command, "--plugin", folder / "shuffled-brackets.yaml")
        told = [line for line in done.err.splitlines() if not line.startswith("warning: ")]
        assert done.code in (0, 2), (file, done)
        assert len(told) == (done.code == 2), (file, done)
        assert all(line.isprintable() for line in told), (file, done)


PUBLISHED = Path(__file__).parents[2] / "leaderboard" / "results"
RECORDS = sorted((PUBLISHED / "default").rglob("*.json"))
HOST = PluginHost.load()


def test_a_record(cli, results, rng):
    path = results / "record.json"
    path.parent.mkdir()
    path.write_bytes(damaged(rng, rng.choice(RECORDS).read_bytes()))
    done = cli("leaderboard", "--results", results, "--format", "json")
    assert done.code in (0, 1), (path.read_bytes(), done)
    assert "Traceback" not in done.err
    assert done.code == 0 or len(done.err.splitlines()) == 2, (path.read_bytes(), done)


@pytest.fixture(scope="module")
def kept():
    """Return a small network's record, and what would be its weights."""
    record = read_record(next(path for path in RECORDS if "default/rnn/" in path.as_posix()))
    task = record.protocol.apply(HOST.task(record.task.name, record.task.options))
    packed = pack(HOST.network(record.model.name, task, record.model.options))
    return record.model_copy(update={"weights": sha256(packed).hexdigest()}), packed


def test_weights(tmp_path, rng, kept):
    record, packed = kept
    path = tmp_path / "run.safetensors"
    path.write_bytes(packed)
    load_network(HOST, record, path)
    path.write_bytes(damaged(rng, packed))
    with pytest.raises(RequestError, match=r"not the weights of run|larger than"):
        load_network(HOST, record, path)


def test_weights_that_a_forged_record_names(tmp_path, rng, kept):
    """A network, as far as it is one, or one line: and nothing else."""
    record, packed = kept
    path = tmp_path / "run.safetensors"
    path.write_bytes(damaged(rng, packed))
    forged = record.model_copy(update={"weights": sha256(path.read_bytes()).hexdigest()})
    with contextlib.suppress(RequestError):
        load_network(HOST, forged, path)


SMALL = Protocol.model_validate(
    {"name": "small", "version": 1, "test": {"lengths": 3, "strings": 8}}
)
TASKS = ("parity", "tomita-3:next-symbols", "dyck-2-3:generate", "cycle-navigation:tag")


def damage_one(rng, folder):
    (path,) = (path for path in (cache_folder() / folder).rglob("*") if path.is_file())
    path.write_bytes(damaged(rng, path.read_bytes()))


def test_a_value(rng):
    value = [rng.random() for _ in range(rng.randint(1, 5))]
    assert cached("key", lambda: value) == value
    damage_one(rng, "values")
    assert cached("key", lambda: "anew") == "anew"
    assert cached("key", lambda: "again") == "anew"


def test_a_test_set(rng):
    task = HOST.task(rng.choice(TASKS))
    whole = saved_test_set(task, "", SMALL)
    damage_one(rng, "test-sets")
    again = saved_test_set(task, "", SMALL)
    for one, other in zip(whole.cells, again.cells, strict=True):
        assert (one.first, one.last) == (other.first, other.last)
        for before, after in zip(one.examples, other.examples, strict=True):
            assert before.known.keys() == after.known.keys()
            assert all((before.known[name] == after.known[name]).all() for name in before.known)
    assert whole.fingerprint == again.fingerprint


def test_a_saved_training(rng):
    members = [Member(0.1 / (seed + 1), seed) for seed in range(rng.randint(1, 3))]
    saved = Checkpointer("key", members)
    saved.save([RunState(steps=40, parameters=torch.rand(5)) for _ in members])
    fresh = [RunState(parameters=torch.zeros(5)) for _ in members]
    damage_one(rng, "training")
    assert saved.restore(fresh) == 0
    assert not any(run.steps or run.parameters.any() for run in fresh)
    assert list(saved_cohorts("key")) == []
