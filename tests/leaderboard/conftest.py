"""A small factory of records, and a plugin host that could have made them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
import yaml
from formalbench import builtin
from formalbench.analysis.keys import run_of
from formalbench.contracts.config import Config, option
from formalbench.contracts.identity import ids_of
from formalbench.contracts.language import Language
from formalbench.contracts.network import Traits
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Record, parse_record
from formalbench.contracts.specs import (
    ModelSpec,
    ProtocolSpec,
    Splits,
    SuiteSpec,
    TaskSpec,
)
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.host import LocalPlugin, Plugin, PluginHost
from formalbench.objectives.classify import Classify
from formalbench_leaderboard import plugin as leaderboard_plugin
from formalbench_leaderboard.publishing import contract, strangers
from torch import nn
from typer.testing import CliRunner, Result

SPLITS = Splits(train=(1, 40), test=(41, 71))
PROTOCOL = {
    "name": "quick",
    "version": 1,
    "learning_rates": [0.001, 0.0003],
    "optimiser": {
        "name": "adam",
        "gradient_clip": 1.0,
        "betas": [0.9, 0.999],
        "eps": 1e-8,
        "weight_decay": 0.0,
    },
    "schedule": {"name": "constant", "warm_up": 0},
    "test": {"lengths": 4, "strings": 100},
}

VERSIONS = {"python": "3.11.9", "formalbench": "0.1.0", "torch": "2.13.0", "numpy": "2.4.6"}

LARGE = 9_000_000
"""Parameters of a network whose weights are too large to be kept."""

VALIDATED = 16 * 64
"""Strings of the validation of `PROTOCOL`."""

BY_HAND = 90
"""Parameters of the exact model."""

MakeRecord = Callable[..., Record]


def source(distribution: str, sha256: str) -> dict[str, str]:
    """Return where a plugin came from: only a distribution has a version."""
    version = "" if sha256 else "0.1.0"
    return {"distribution": distribution, "version": version, "sha256": sha256}


def build_record(
    model: str = "regulargpt",
    task: str = "parity:classify",
    *,
    accuracy: float | Sequence[int] = 1.0,
    seed: int = 0,
    rate: float | None = 0.001,
    validation: float = 1.0,
    bits: float = 0.1,
    chance: float = 0.5,
    status: str = "finished",
    options: dict[str, Any] | None = None,
    task_version: int = 1,
    model_version: int = 1,
    distribution: str = "formalbench",
    sha256: str = "",
    kind: str = "learned",
    protocol: dict[str, Any] | None = None,
    command: str = "",
    hardware: str = "a machine",
    date: str = "2026-11-20T12:00:00Z",
    strings: int = 100,
    fingerprint: str | None = None,
    metric: str = "accuracy",
    task_options: dict[str, Any] | None = None,
    task_file: str = "",
    task_sha256: str = "",
    parameters: int | None = None,
    test_id: str | None = None,
    training: dict[str, Any] | None = None,
) -> Record:
    """Make a record that can be published; `accuracy` is a share, or the right ones per cell."""
    correct = [round(accuracy * strings)] * 4 if isinstance(accuracy, float) else list(accuracy)
    used = protocol or PROTOCOL
    size = LARGE if kind == "learned" else BY_HAND
    window = -(-len(correct) // 64)
    counts = [len(correct[first : first + window]) for first in range(0, len(correct), window)]
    # A wrong answer costs a bit, and no two runs have the same cross-entropy to the last digit.
    wrong = [
        sum(strings - right for right in correct[first : first + window])
        for first in range(0, len(correct), window)
    ]
    entropy = {
        "total": [1000 * one for one in wrong],
        "count": [strings * count for count in counts],
    }
    cells = {
        "length": [41 + 10 * index for index in range(len(correct))],
        "strings": [strings] * len(correct),
        "correct": correct,
        "metrics": {"cross-entropy": entropy},
        "window": window,
    }
    test = {
        "metric": metric,
        "fingerprint": fingerprint or true_fingerprint(task),
        "chance_constant": chance,
        "chance_length": chance,
        "seconds": 1.0,
        "cells": cells,
    }
    data = {
        "schema_version": 2,
        "train_id": "0" * 16,
        "test_id": "0" * 16,
        "status": status,
        "model": {
            "name": model,
            "version": model_version,
            "kind": kind,
            "options": options or {},
            "parameters": size if parameters is None else parameters,
            "source": source(distribution, sha256),
        },
        "task": {
            "name": task,
            "version": task_version,
            "options": task_options or {},
            "source": source(task_file or "formalbench", task_sha256),
        },
        "protocol": used,
        "learning_rate": rate,
        "seed": seed,
        "training": training,
        "selected": {
            "step": 100,
            "strings": VALIDATED,
            "correct": (right := round(validation * VALIDATED)),
            "metrics": {
                "cross-entropy": {
                    "total": min(max(bits * VALIDATED, VALIDATED - right), sys.float_info.max),
                    "count": VALIDATED,
                }
            },
        },
        "test": test if status == "finished" else None,
        "environment": {
            "device": "cpu",
            "hardware": hardware,
            "threads": 1,
            "peak_memory_mib": 100,
            "versions": VERSIONS,
        },
        "command": command,
        "date": date,
    }
    record = parse_record(json.dumps(data), "test")
    trained, tested = ids_of(record)
    update = {"train_id": trained, "test_id": test_id or tested}
    if not command:
        files = ["--plugin", distribution] * bool(sha256) + ["--plugin", task_file] * bool(
            task_sha256
        )
        update["command"] = " ".join([run_of(record).command, *files])
    return record.model_copy(update=update)


@pytest.fixture
def make_record() -> MakeRecord:
    return build_record


@pytest.fixture
def make_runs() -> Callable[..., list[Record]]:
    """Make all runs of a model on a task that the protocol asks for, or more seeds."""

    def make(model: str = "regulargpt", seeds: int = 3, **keys: Any) -> list[Record]:
        rates = (0.001, 0.0003)
        return [build_record(model, rate=r, seed=s, **keys) for r in rates for s in range(seeds)]

    return make


class Noise(Config):
    """The options of parity."""

    p: float = option(0.0, "noise")


class Chunks(Config):
    """The options of every model."""

    chunk: int = option(2, "positions", minimum=2)


class FirstSymbol(Language):
    """Strings of two symbols; the class is the first one."""

    alphabet = ("0", "1")

    def __init__(self, config: Noise | None = None) -> None:
        """Take options that change nothing."""

    def sample(self, stream, length, count):
        return stream.integers(2, (count, length))

    def classify(self, strings_BN):
        return strings_BN[:, 0]

    def oracle(self, string):
        return string[0]

    def class_distribution(self, length):
        return (0.5, 0.5)


class ByHand(nn.Module):
    """A network of a paper."""

    traits = Traits(constants={"c": 1.0}, depth=2, width=9)

    def __init__(self, task, config=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(BY_HAND))

    def forward(self, batch):
        """Say the first symbol."""
        return nn.functional.one_hot(batch.symbols[:, 0], 2).to(torch.get_default_dtype())


class Large(nn.Module):
    """A network whose weights are not kept, so that no record needs any."""

    def __init__(self, task, config=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(LARGE))


def build_host(folder: Path) -> PluginHost:
    """Make a host as if one distribution had announced four tasks and six models."""
    host = PluginHost()
    plugin = Plugin("formalbench", "formalbench", "0.1.0")
    for kind in ("objectives", "optimisers", "schedules"):
        for spec in getattr(builtin, f"formalbench_{kind}")():
            host.registries[kind].add(spec, plugin)
    for name in ("parity", "first", "tomita-3", "even-pairs"):
        noise = Noise if name == "parity" else None
        spec = TaskSpec(name, 1, name, FirstSymbol, splits=SPLITS, config=noise)
        host.tasks.add(spec, plugin)
    for name in ("regulargpt", "rnn", "lstm", "transformer", "newcomer"):
        host.models.add(ModelSpec(name, 1, name, Large, config=Chunks), plugin)
    host.models.add(ModelSpec("by-hand", 1, "exact", ByHand, kind="exact"), plugin)
    host.suites.add(SuiteSpec("default", 1, "three", ("parity", "first", "tomita-3")), plugin)
    file = folder / "quick.yaml"
    file.write_text(yaml.safe_dump(PROTOCOL))
    host.protocols.add(ProtocolSpec("quick", "quick", file), plugin)
    return host


@cache
def true_fingerprint(task: str) -> str:
    """Return the fingerprint of the test set of a task of `build_host`."""
    language = task.partition(":")[0]
    built = Task(language, 1, FirstSymbol(), Classify(), SPLITS)
    return draw_test_set(built, Protocol.model_validate(PROTOCOL)).fingerprint


@pytest.fixture
def protocol() -> dict[str, Any]:
    return PROTOCOL


@pytest.fixture
def host(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> PluginHost:
    for module in (contract, strangers):  # its plugins are objects of this process
        monkeypatch.setattr(module, "are_strangers", lambda record, host: False)
    return build_host(tmp_path_factory.mktemp("host"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a clone with nothing published, and work in a folder of it."""
    root = tmp_path / "clone"
    (root / "leaderboard" / "results").mkdir(parents=True)
    (root / "docs").mkdir()
    monkeypatch.chdir(root / "docs")
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "own"))
    return root


@pytest.fixture
def invoke(host: PluginHost, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run ``formalbench leaderboard …`` in this process."""
    monkeypatch.setattr("formalbench.ui.state.host_of", lambda ctx: host)
    app = typer.Typer(rich_markup_mode=None)
    leaderboard_plugin.formalbench_commands(app)

    @app.command()
    def other() -> None:
        """Make the application one of several commands."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["leaderboard", *map(str, arguments)])

    return run


@pytest.fixture
def add_local_model(host: PluginHost) -> Callable[[str, str], None]:
    """Let the host know a model of a local plugin."""

    def add(name: str, sha256: str) -> None:
        path = Path(f"/somewhere/{name}.py")
        plugin = Plugin(path.name, str(path), "", local=LocalPlugin(path, sha256))
        host.models.add(ModelSpec(name, 1, name, Large), plugin)

    return add


@pytest.fixture
def many_records() -> list[Record]:
    """Three models on three tasks, three seeds, two rates; one of them lacks a task."""
    records = []
    for model, level in (("regulargpt", 0.99), ("rnn", 0.9), ("transformer", 0.6)):
        for task in ("parity", "first", "tomita-3"):
            if (model, task) == ("transformer", "first"):
                continue
            for rate, loss in ((0.001, 0.0), (0.0003, 0.1)):
                for seed in range(3):
                    records.append(
                        build_record(
                            model,
                            f"{task}:classify",
                            accuracy=level - loss - seed / 100,
                            validation=level - loss,
                            rate=rate,
                            seed=seed,
                        )
                    )
    return records
