"""Records that are read one after another are all checked."""

from __future__ import annotations

import gc
import json

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import parse_record
from formalbench.store import Store, without_collection


def data(**changes):
    bits = {"total": [0, 300], "count": [300, 300]}
    cells = {
        "length": [41, 42],
        "strings": [300, 300],
        "correct": [300, 0],
        "metrics": {"cross-entropy": bits},
    }
    test = {
        "metric": "accuracy",
        "fingerprint": "0" * 64,
        "chance_constant": 0.5,
        "chance_length": 0.5,
        "seconds": 1.0,
        "cells": cells | changes.pop("cells", {}),
    }
    source = {"distribution": "formalbench"}
    return {
        "schema_version": 2,
        "train_id": "1" * 16,
        "test_id": "0" * 16,
        "status": "finished",
        "model": {"name": "rnn", "version": 1, "source": source},
        "task": {"name": "parity:classify", "version": 1, "source": source},
        "protocol": {"name": "quick", "version": 1, "steps": 2000} | changes.pop("protocol", {}),
        "learning_rate": 0.001,
        "seed": 0,
        "selected": {"step": 1, "strings": 1, "correct": 1},
        "test": test,
        "environment": {
            "device": "cpu",
            "hardware": "",
            "threads": 1,
            "peak_memory_mib": 1,
            "versions": {},
        },
        "command": "",
        "date": "2026-01-01T00:00:00Z",
        **changes,
    }


def read(**changes):
    return parse_record(json.dumps(data(**changes)), "it")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"protocol": {"steps": 2000.5}}, "protocol.steps"),
        ({"protocol": {"steps": 2010}}, "multiple of evaluate_every"),
        ({"protocol": {"unknown": 1}}, "protocol.unknown"),
        ({"cells": {"length": [42, 41]}}, "in order of length"),
        ({"cells": {"length": [41, 41]}}, "in order of length"),
        ({"cells": {"length": [-1, 42]}}, "at least 0"),
        ({"cells": {"length": [41, 2**53 + 1]}}, "at most"),
        ({"cells": {"length": [41]}}, "differ in size"),
        ({"cells": {"length": [], "strings": [], "correct": [], "metrics": {}}}, "at least one"),
        ({"cells": {"strings": [300, 0]}}, "non-empty"),
        ({"cells": {"strings": [300, 2**53 + 1]}}, "at most"),
        ({"cells": {"strings": [300, 300.5]}}, "test.cells.strings.1"),
        ({"cells": {"correct": [301, 0]}}, "more answers correct"),
        ({"cells": {"correct": [-1, 0]}}, "at least 0"),
        ({"cells": {"correct": [1]}}, "differ in size"),
        ({"cells": {"metrics": {"x": {"total": [0], "count": [0]}}}}, "does not fit"),
    ],
)
def test_what_is_wrong_is_refused_each_time(changes, said):
    for _ in range(2):
        read()
        with pytest.raises(RequestError) as caught:
            read(**{key: dict(value) for key, value in changes.items()})
        assert said in str(caught.value)


def test_equal_values_of_other_types_are_not_taken_for_each_other():
    assert read(protocol={"schema_version": 1}).protocol.schema_version == 1
    for _ in range(2):
        with pytest.raises(RequestError, match=r"protocol\.schema_version"):
            read(protocol={"schema_version": "1"})


def test_the_collector_works_again_after_reading(tmp_path):
    assert gc.isenabled()
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(RequestError):
        Store(tmp_path).files()
    assert gc.isenabled()
    with without_collection():
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
