"""The script that rewrites records after a default changed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from built_records import build_record
from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.verification import parse_any
from formalbench.host import PluginHost
from formalbench.statistics.records import run_of
from formalbench.store import Store, weights_path

REWRITTEN = """
transformer | parity:classify |  | causal=false
transformer-logn | first:classify | width=16 | width=16, causal=false
transformer | parity:classify | causal=true, positions=rope | positions=rope
transformer | flip-flop:tag | positions=rope | positions=rope
transformer | flip-flop:tag | causal=true, positions=rope | positions=rope
transformer | reverse-string:transduce |  | causal=false
rnn | parity:classify |  |
minlstm | parity:classify |  | normalised=true
stack-attention | dyck-1:classify | cell=8 | cell=8, push=sigmoid
gated-deltanet | first:classify |  | heads=1
gated-deltanet | first:classify | heads=4 |
gated-deltanet | first:classify | heads=2 | heads=2
rwkv-7 | first:classify |  | shell=shared, initial=torch, rank=16
rwkv-7 | first:classify | rank=32, heads=4 | shell=shared, initial=torch, heads=4
transformer | flip-flop:tag | positions=fire | positions=fire, threshold=512
transformer | parity:classify | causal=true, positions=t5 | positions=t5, shared_positions=false
transformer | flip-flop:tag | positions=kerple-log | positions=kerple-log, shared_positions=false
"""
"""Models, tasks, their options in older records, and the same with today's defaults."""

SCRIPT = Path(__file__).parents[2] / "leaderboard" / "rewrite_defaults.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("rewrite_defaults", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def lines_of_its_own(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "DONE", tmp_path / "done.txt")


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def made(options=None, task="parity:classify", model="transformer", **more):
    fingerprint = "0" * 64
    record = build_record(model, task, options=options or {}, fingerprint=fingerprint, **more)
    return record.model_copy(update={"command": run_of(record).command})


def apart_from_names(record):
    data = json.loads(record.to_json())
    for key in ("train_id", "test_id", "command"):
        del data[key]
    del data["model"]["options"]
    return data


@pytest.mark.slow
@pytest.mark.parametrize("line", REWRITTEN.strip().splitlines())
def test_a_record_names_its_old_value_and_not_todays_default(script, host, line):
    model, task, *options = (part.strip() for part in line.split("|"))
    before, after = (yaml.safe_load(f"{{{one.replace('=', ': ')}}}") for one in options)
    old, done = made(before, task, model), set()
    new = script.rewritten(old, host, done)
    assert new.model.options == after
    assert (new.train_id, new.test_id) == ids_of(new)
    assert new.command == run_of(new).command
    assert ("model.causal=false" in new.command) == (after.get("causal") is False)
    assert apart_from_names(new) == apart_from_names(old)
    assert (new is old) == (before == after)
    assert script.rewritten(new, host, done) is new  # once is enough
    copy = parse_any(old.to_json(), "")
    assert script.rewritten(copy, host, done) == new  # a copy elsewhere is rewritten as well


@pytest.fixture
def commits(script, tmp_path, monkeypatch):
    """Three commits, one after another."""
    monkeypatch.setattr(script, "HERE", tmp_path)
    script.is_in.cache_clear()

    def git(*words):
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", *named, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    found = []
    for name in "abc":
        git("commit", "-q", "--allow-empty", "-m", name)
        found.append(git("rev-parse", "HEAD"))
    yield found
    script.is_in.cache_clear()


def test_a_record_made_after_a_change_stays(script, host, commits):
    before, change, after = commits
    changes = (replace(script.CHANGES[0], commit=change),)

    def made_by(commit):
        record = made()
        environment = record.environment.model_copy(update={"commit": commit})
        record = record.model_copy(update={"environment": environment})
        return record, script.rewritten(record, host, set(), changes)

    for commit in (change, after, f"{after}-dirty"):
        old, new = made_by(commit)
        assert new is old
    for commit in (before, None):
        assert made_by(commit)[1].model.options == {"causal": False}
    with pytest.raises(RequestError, match="this clone lacks commit 0000"):
        made_by("0" * 40)


def test_a_folder_is_rewritten_with_its_weights(script, host, tmp_path, capsys):
    store = Store(tmp_path / "results")
    records = [
        made(seed=seed, options=options) for seed in (0, 1) for options in ({}, {"causal": True})
    ]
    old = [store.write(record, bytes([number])) for number, record in enumerate(records)]
    other = store.write(made(model="rnn"))
    assert script.main([str(store.path)]) == 0
    assert "4 records rewritten" in capsys.readouterr().out
    assert not any(path.exists() for path in old[1::2])
    assert len(store.files()) == 5
    assert other.exists()
    for number, record in enumerate(records):
        after = {} if record.model.options else {"causal": False}
        (file,) = (
            file
            for file, one in store.files().items()
            if (one.model.name, one.model.options, one.seed) == ("transformer", after, record.seed)
        )
        assert file == store.path_of(store.files()[file])
        assert weights_path(file).read_bytes() == bytes([number])
    before = store.files()
    assert script.main([str(store.path)]) == 0
    assert "0 records rewritten" in capsys.readouterr().out
    assert store.files() == before
    assert script.main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such file or folder" in capsys.readouterr().err


def test_nothing_changes_where_another_record_is_in_the_way(script, host, tmp_path):
    store = Store(tmp_path)
    store.write(made())
    store.write(made({"causal": False}))
    before = store.files()
    with pytest.raises(RequestError, match="where another record is"):
        script.rewrite_folder(tmp_path, host, set())
    assert store.files() == before
