"""Records that are made up, for what reads and writes them."""

import json
from hashlib import sha256
from pathlib import Path

from formalbench.contracts.verification import parse_any
from formalbench.store import Store


def make(
    model="lstm", task="parity:classify", test_id="0" * 16, options=None, kind="learned", **change
):
    data = {
        "schema_version": 2,
        "train_id": "a" * 16,
        "test_id": test_id,
        "status": "error",
        "model": {
            "name": model,
            "version": 1,
            "kind": kind,
            "options": options or {},
            "source": {"distribution": "formalbench"},
        },
        "task": {"name": task, "version": 1, "source": {"distribution": "formalbench"}},
        "protocol": {"name": "quick", "version": 1},
        "learning_rate": 0.0003,
        "seed": 1,
        "environment": {
            "device": "cpu",
            "hardware": "",
            "threads": 1,
            "peak_memory_mib": 0,
            "versions": {},
        },
        "command": "formalbench run",
        "date": "2026-11-05T12:00:00Z",
    }
    return parse_any(json.dumps({**data, **change}), "made")


def make_finished(number, packed, **change):
    """Return the record of a run that left some weights, the contents of their file."""
    cells = {"length": [41], "strings": [1], "correct": [1]}
    test = {"metric": "accuracy", "fingerprint": "0" * 64, "chance_constant": 0, "seconds": 1}
    usual = {
        "status": "finished",
        "weights": sha256(packed).hexdigest(),
        "selected": {"step": 1, "strings": 1, "correct": 1},
        "test": {**test, "chance_length": 0, "cells": cells},
    }
    return make(test_id=f"{number:016x}", **{**usual, **change})


def write_many(folder, first, last):
    """Write the records of some runs, as a worker does."""
    for number in range(first, last):
        Store(Path(folder)).write(make_finished(number, b"weights"), b"weights")
