"""A small factory of records of runs, as if formalbench had four tasks and six models."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from formalbench.contracts.cells import Sums
from formalbench.contracts.config import Config, option
from formalbench.contracts.identity import ids_of
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Record, Training
from formalbench.contracts.source import Language
from formalbench.contracts.specs import Splits
from formalbench.contracts.task import Task
from formalbench.contracts.verification import AnyRecord, VerificationRecord, parse_any
from formalbench.documents.reproduction import Document, TableCell
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.objectives.classify import Classify
from formalbench.statistics.records import run_of
from formalbench.store import Store

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


TO_ITS_END = {
    "steps": 400,
    "ended": "mastered",
    "stage": 40,
    "strings": 51200,
    "seconds": 60.0,
    "strings_per_second": 853.3,
}
"""A training that was completed, with any test result."""


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
    not_finite: Sequence[int] = (),
) -> Record:
    """Make a record that can be published; `accuracy` is a share, or the right ones per cell.

    At cells that are `not_finite` chance counts, and the run has diverged.
    """
    correct = [round(accuracy * strings)] * 4 if isinstance(accuracy, float) else list(accuracy)
    used = protocol or PROTOCOL
    size = LARGE if kind == "learned" else BY_HAND
    for index in not_finite:
        correct[index], status = round(chance * strings), "diverged"
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
    for index in not_finite:
        entropy["total"][index] = entropy["count"][index] = 0
    cells = {
        "length": [41 + 10 * index for index in range(len(correct))],
        "strings": [strings] * len(correct),
        "correct": correct,
        "metrics": {"cross-entropy": entropy},
        "window": window,
        "not_finite": list(not_finite) or None,
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
        "test": test if status == "finished" or not_finite else None,
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
    record = parse_any(json.dumps(data), "test")
    trained, tested = ids_of(record)
    update = {"train_id": trained, "test_id": test_id or tested}
    if not command:
        files = ["--plugin", distribution] * bool(sha256) + ["--plugin", task_file] * bool(
            task_sha256
        )
        update["command"] = " ".join([run_of(record).command, *files])
    return record.model_copy(update=update)


def build_runs(
    models: Mapping[str, dict[str, Any]], tasks: Iterable[str], seeds: int = 1
) -> list[Record]:
    """Make a record of each model, with its arguments, on each task with each seed."""
    return [
        build_record(model, f"{task}:classify", seed=seed, **keys)
        for model, keys in models.items()
        for task in tasks
        for seed in range(seeds)
    ]


class Noise(Config):
    """The options of parity."""

    p: float = option(0.0, "noise")


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


@cache
def true_fingerprint(task: str) -> str:
    """Return the fingerprint of the test set of a task of `FirstSymbol`."""
    language = task.partition(":")[0]
    built = Task(language, 1, FirstSymbol(), Classify(), SPLITS)
    return draw_test_set(built, Protocol.model_validate(PROTOCOL)).fingerprint


def with_test(record: Record, metric: str = "", **cells: Any) -> Record:
    """Return a record with other parts of its test's cells, or another metric."""
    assert record.test is not None
    update = {"cells": record.test.cells.model_copy(update=cells)}
    update |= {"metric": metric} if metric else {}
    return record.model_copy(update={"test": record.test.model_copy(update=update)})


def with_sums(
    record: Record,
    extra: dict[str, int] | None = None,
    **sums: tuple[Sequence[float], Sequence[int]],
) -> Record:
    """Return a record with further metrics of its test: by name, totals and counts.

    Of those of plugins `extra` has the versions.
    """
    assert record.test is not None
    more = {
        name.replace("_", "-"): Sums(total=tuple(total), count=tuple(count))
        for name, (total, count) in sums.items()
    }
    test = record.test.model_copy(update={"extra_metrics": extra or record.test.extra_metrics})
    metrics = {**record.test.cells.metrics, **more}
    return with_test(record.model_copy(update={"test": test}), metrics=metrics)


def forged(record: AnyRecord, paths: Mapping[str | tuple[str, ...], Any]) -> AnyRecord:
    """Return a record with other values at some paths; at ``...`` what was there is deleted.

    A path is a tuple of keys, or a text with a dot between them.
    """
    data = json.loads(record.to_json())
    for path, value in paths.items():
        *parts, last = path.split(".") if isinstance(path, str) else path
        place = data
        for part in parts:
            place = place[part]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return parse_any(json.dumps(data), "forged")


def renamed(record: AnyRecord) -> AnyRecord:
    """Return a record with the identities of its contents, as a forger writes it."""
    if isinstance(record, VerificationRecord):
        return record.model_copy(update={"verification_id": record.identity})
    trained, tested = ids_of(record)
    return record.model_copy(update={"train_id": trained, "test_id": tested})


def timed(record: Record, seconds: float) -> Record:
    """Return a record whose whole budget was trained in some time."""
    strings = 256_000
    training = Training(
        steps=2000,
        ended="budget",
        stage=40,
        strings=strings,
        seconds=seconds,
        strings_per_second=round(strings / seconds, 1),
    )
    return record.model_copy(update={"training": training})


def weights_of(record: Record) -> bytes:
    """Return something that stands for the weights of a run."""
    return f"weights of {record.test_id}".encode()


def with_weights(record: Record) -> Record:
    """Return a record that names the weights that stand for its own."""
    return record.model_copy(update={"weights": hashlib.sha256(weights_of(record)).hexdigest()})


def write_all(store: Store, records: Iterable[AnyRecord]) -> None:
    """Write records, and beside those that name weights what stands for them."""
    for record in records:
        named = isinstance(record, Record) and record.weights
        store.write(record, weights_of(record) if named else None)


def build_document(cells: Iterable[TableCell], **keys: Any) -> Document:
    """Make the document of a reproduction with these cells and nothing else."""
    empty = dict.fromkeys(("about", "command", "reduced", "took"), "")
    none = dict.fromkeys(("environments", "claims", "remarks", "data"), ())
    told = {"scale": "quick", "date": "2026-11-20", "seconds": 1.0, "records": 0}
    return Document(
        **{**empty, **none, **told, "figure": False, "holds": True, "cells": tuple(cells), **keys}
    )
