"""A small factory of records, and a plugin host that knows four tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from formalbench.contracts.errors import unknown
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Record, parse_record
from formalbench.contracts.specs import SuiteSpec, TaskSpec

PROTOCOL = {"name": "quick", "version": 1, "learning_rates": [0.001, 0.0003]}

MakeRecord = Callable[..., Record]


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
) -> Record:
    """Make a valid record; `accuracy` is a share, or how many are right in each cell."""
    correct = [round(accuracy * strings)] * 4 if isinstance(accuracy, float) else list(accuracy)
    used = protocol or PROTOCOL
    identity = [model, options, task, task_version, model_version, sha256, used, rate, seed]
    run_id = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    cells = {
        "length": [41 + 10 * index for index in range(len(correct))],
        "strings": [strings] * len(correct),
        "correct": correct,
        "millibits": [0] * len(correct),
    }
    test = {
        "metric": "accuracy",
        "fingerprint": fingerprint or hashlib.sha256(task.encode()).hexdigest(),
        "chance_constant": chance,
        "chance_length": chance,
        "seconds": 1.0,
        "cells": cells,
    }
    data = {
        "schema_version": 1,
        "run_id": run_id,
        "status": status,
        "model": {
            "name": model,
            "version": model_version,
            "kind": kind,
            "options": options or {},
            "parameters": 12_345,
            "source": {"distribution": distribution, "version": "0.1.0", "sha256": sha256},
        },
        "task": {
            "name": task,
            "version": task_version,
            "source": {"distribution": "formalbench", "version": "0.1.0"},
        },
        "protocol": used,
        "learning_rate": rate,
        "seed": seed,
        "selected": {
            "step": 100,
            "strings": 1000,
            "correct": round(validation * 1000),
            "bits": bits,
        },
        "test": test if status == "finished" else None,
        "environment": {
            "device": "cpu",
            "hardware": hardware,
            "threads": 1,
            "peak_memory_mib": 100,
            "versions": {"python": "3.11.9", "torch": "2.13.0"},
        },
        "command": command or f"formalbench run --model {model[:100]} --task {task}",
        "date": date,
    }
    return parse_record(json.dumps(data), "test")


@pytest.fixture
def make_record() -> MakeRecord:
    return build_record


@dataclass
class FakeHost:
    """The part of the plugin host that the leaderboard uses."""

    tasks: dict[str, TaskSpec]

    def task_entry(self, name: str) -> tuple[Any, str, dict[str, int]]:
        language, _, objective = name.partition(":")
        if language not in self.tasks:
            raise unknown("task", name, self.tasks)
        spec = self.tasks[language]
        return SimpleNamespace(spec=spec), objective or spec.objectives[0], {}

    def suite(self, name: str) -> SuiteSpec:
        if name != "default":
            raise unknown("suite", name, ["default"])
        return SuiteSpec(name, 1, "three tasks", ("parity", "first", "tomita-3"))

    def protocol(self, name: str) -> Protocol:
        if name != "quick":
            raise unknown("protocol", name, ["quick"])
        return Protocol.model_validate(PROTOCOL)


@pytest.fixture
def host() -> FakeHost:
    names = ("parity", "first", "tomita-3", "even-pairs")
    return FakeHost({name: TaskSpec(name, 1, name, "nowhere:Nothing") for name in names})


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
