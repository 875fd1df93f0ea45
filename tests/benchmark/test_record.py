"""Records: what goes in comes out, and what is no record is refused in one line."""

import json

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import MAX_BYTES, Record, parse_record

CELLS = {"length": [41, 52, 60], "strings": [10, 20, 10], "correct": [10, 10, 5],
         "millibits": [0, 1200, 900]}  # fmt: skip


def sample(**change):
    data = {
        "schema_version": 1,
        "run_id": "0123456789abcdef",
        "status": "finished",
        "model": {
            "name": "lstm",
            "version": 1,
            "options": {"width": 64, "bias": True, "rate": 0.5, "kind": "x"},
            "parameters": 12_345,
            "source": {"distribution": "formalbench", "version": "0.1.0"},
        },
        "task": {
            "name": "parity:classify",
            "version": 1,
            "source": {"distribution": "mine.py", "sha256": "a" * 64},
        },
        "protocol": {"name": "quick", "version": 1, "steps": 1000},
        "learning_rate": 0.001,
        "seed": 2,
        "training": {
            "steps": 900,
            "ended": "mastered",
            "stage": 40,
            "strings": 115_200,
            "seconds": 12.5,
            "strings_per_second": 9216.0,
        },
        "selected": {"step": 900, "strings": 1024, "correct": 1024, "bits": 0.001},
        "test": {
            "metric": "accuracy",
            "fingerprint": "b" * 64,
            "chance_constant": 0.5,
            "chance_length": 0.5,
            "seconds": 3.25,
            "cells": CELLS,
        },
        "environment": {
            "device": "cpu",
            "hardware": "a processor",
            "threads": 1,
            "peak_memory_mib": 300,
            "versions": {"python": "3.11.9", "torch": "2.13.0"},
        },
        "command": "formalbench run --model lstm --task parity",
        "date": "2026-11-05T12:00:00Z",
    }
    return {**data, **change}


def read(data):
    return parse_record(json.dumps(data), "r.json")


def problem(text):
    with pytest.raises(RequestError) as caught:
        parse_record(text, "r.json")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("r.json: ")
    return message


def put(path, value):
    data = json.loads(json.dumps(sample()))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


def test_round_trip():
    record = read(sample())
    again = parse_record(record.to_json(), "r.json")
    assert again == record
    assert again.to_json() == record.to_json()
    assert again.protocol.steps == 1000
    assert again.protocol.batch == 128
    assert {key: type(v) for key, v in again.model.options.items()} == {
        "width": int, "bias": bool, "rate": float, "kind": str
    }  # fmt: skip


def test_the_file_begins_with_the_schema_version_and_is_one_line():
    text = read(sample()).to_json()
    assert text.startswith('{"schema_version":1,')
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    assert text.isascii()


def test_accuracy_by_hand():
    test = read(sample()).test
    assert test.accuracy == pytest.approx((1.0 + 0.5 + 0.5) / 3)  # cells count the same
    assert test.scaled_accuracy == pytest.approx((2 / 3 - 0.5) / 0.5)


def test_scaled_accuracy_uses_chance_by_length_and_can_be_negative_or_undefined():
    below = read(put(("test", "chance_length"), 0.75)).test
    assert below.scaled_accuracy == pytest.approx((2 / 3 - 0.75) / 0.25)
    assert read(put(("test", "chance_length"), 1.0)).test.scaled_accuracy is None
    assert read(put(("test", "chance_constant"), 0.1)).test.scaled_accuracy == pytest.approx(1 / 3)


def test_460_cells_fit_into_8_kib(host):
    lengths = list(range(41, 501))
    cells = {
        "length": lengths,
        "strings": [512] * 460,
        "correct": [257] * 460,
        "millibits": [12_345] * 58,
        "window": 8,
    }
    data = put(("test", "cells"), cells)
    data["protocol"] = host.protocol("standard").model_dump(mode="json")
    data["weights"] = "c" * 64
    data["environment"]["hardware"] = "NVIDIA H200 with a rather long marketing name"
    data["command"] = "formalbench run --model regulargpt --task parity:classify " * 3
    record = read(data)
    assert len(record.to_json()) <= 8192
    assert parse_record(record.to_json(), "r.json") == record


@pytest.mark.parametrize(
    "path",
    [("extra",), ("model", "extra"), ("task", "source", "extra"), ("protocol", "extra"),
     ("training", "extra"), ("test", "cells", "extra"), ("environment", "extra")],
    ids=".".join,
)  # fmt: skip
def test_an_unknown_key_is_refused_anywhere(path):
    message = problem(json.dumps(put(path, 1)))
    assert ".".join(path) in message


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("status",), "done"),
        (("run_id",), "../../etc/passwd"),
        (("run_id",), "0123456789abcdef\n"),
        (("seed",), -1),
        (("learning_rate",), 0),
        (("learning_rate",), "fast"),
        (("model", "name"), ""),
        (("model", "name"), "x" * 201),
        (("model", "options"), {"a": [1]}),
        (("model", "options"), {"a": None}),
        (("protocol", "name"), "../up"),
        (("protocol", "name"), "a\n"),
        (("test",), None),  # finished, but not tested
        (("test", "chance_length"), 1.5),
        (("test", "fingerprint"), "b" * 63),
        (("test", "cells", "correct"), [11, 0, 0]),
        (("test", "cells", "correct"), [1, 1]),
        (("test", "cells", "strings"), [0, 20, 10]),
        (("test", "cells", "length"), [52, 41, 60]),
        (("test", "cells", "length"), [41, 41, 60]),
        (("test", "cells", "millibits"), [1, 2]),
        (("test", "cells", "window"), 0),
        (("date",), "yesterday"),
        (("command",), "x" * 10_001),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(path, value):
    message = problem(json.dumps(put(path, value)))
    assert "not a valid record" in message


def test_a_record_without_cells_has_no_accuracy_to_compute():
    empty = {"length": [], "strings": [], "correct": [], "millibits": []}
    problem(json.dumps(put(("test", "cells"), empty)))


def test_cross_entropy_counts_every_cell_alike_though_the_last_entry_has_fewer():
    five = {"length": [1, 2, 3, 4, 5], "strings": [9] * 5, "correct": [9] * 5}
    data = put(("test", "cells"), {**five, "window": 2, "millibits": [100, 200, 450]})
    assert read(data).test.cells.bits == pytest.approx((2 * 100 + 2 * 200 + 450) / 5000)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(number):
    text = json.dumps(sample()).replace('"bits": 0.001', f'"bits": {number}')
    assert number in text
    problem(text)


def test_every_truncation_is_refused():
    text = read(sample()).to_json().rstrip()
    for end in range(0, len(text), 7):
        assert "truncated" in problem(text[:end])
        problem(text[:end].encode())


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe\x00", b"[]", b"null", b"3", b'"x"', b"{}", b'{"schema_version": "1"}',
     b"[" * 100_000, b'{"schema_version": 1}', b'{"schema_version": 0}',
     b'{"schema_version": 1.0}', b"9" * 10_000],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_what_is_no_record_is_refused(text):
    problem(text)


@pytest.mark.parametrize("version", [True, -1, 0])
def test_only_the_number_one_is_schema_version_one(version):
    problem(json.dumps(sample(schema_version=version)))


def test_a_later_schema_says_upgrade():
    assert "upgrade formalbench" in problem(json.dumps(sample(schema_version=2)))
    assert "upgrade formalbench" in problem(json.dumps({"schema_version": 99, "new": True}))


def test_a_large_file_is_refused():
    assert "larger than" in problem(b" " * (MAX_BYTES + 1))


def test_an_unfinished_run_needs_no_test():
    record = read(sample(status="error", message="ValueError: x", test=None, training=None))
    assert record.test is None
    with pytest.raises(RequestError):
        read(sample(message="x" * 501))


def test_a_record_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        read(sample()).seed = 3
    assert isinstance(read(sample()), Record)
