"""Records: what goes in comes out, and what is no record is refused in one line."""

import json

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import Measure
from formalbench.contracts.record import Record
from formalbench.contracts.verification import MAX_BYTES, parse_any
from formalbench.evaluation.evaluate import CellScore
from formalbench.running.run_record import cells_of
from refusals import refusal

BITS = {"total": [0, 24_000, 9000], "count": [10, 20, 10]}
CELLS = {"length": [41, 52, 60], "strings": [10, 20, 10], "correct": [10, 10, 5],
         "metrics": {"cross-entropy": BITS}}  # fmt: skip


def sample(**change):
    data = {
        "schema_version": 2,
        "train_id": "fedcba9876543210",
        "test_id": "0123456789abcdef",
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
        "selected": {
            "step": 900,
            "strings": 1024,
            "correct": 1024,
            "metrics": {"cross-entropy": {"total": 1.024, "count": 1024}},
        },
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
    return parse_any(json.dumps(data), "r.json")


def problem(text):
    message = refusal(lambda: parse_any(text, "r.json"))
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
    again = parse_any(record.to_json(), "r.json")
    assert again == record
    assert again.to_json() == record.to_json()
    assert again.protocol.steps == 1000
    assert again.protocol.batch == 128
    assert {key: type(v) for key, v in again.model.options.items()} == {
        "width": int, "bias": bool, "rate": float, "kind": str
    }  # fmt: skip


def test_the_file_begins_with_the_schema_version_and_is_one_line():
    text = read(sample()).to_json()
    assert text.startswith('{"schema_version":2,')
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


@pytest.mark.parametrize("metrics", [(), ("answer-accuracy",)], ids=len)
def test_460_cells_fit_into_8_kib(host, metrics):
    answers = dict.fromkeys(metrics, Measure(130_123, 262_144))
    measures = {"first": Measure(257, 512), "cross-entropy": Measure(512.34567, 512), **answers}
    cells = cells_of([CellScore(n, n, 512, measures) for n in range(41, 501)], "first")
    assert cells.bits == pytest.approx(512.34567 / 512, abs=1e-5)
    data = put(("test", "cells"), cells.model_dump(mode="json"))
    data["protocol"] = host.protocol("standard").model_dump(mode="json")
    data["weights"] = "c" * 64
    data["environment"]["hardware"] = "NVIDIA H200 with a rather long marketing name"
    data["command"] = "formalbench run --model regulargpt --task parity:classify " * 2
    record = read(data)
    assert len(record.to_json()) <= 8192
    assert parse_any(record.to_json(), "r.json") == record


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
        (("train_id",), "../../etc/passwd"),
        (("test_id",), "../../etc/passwd"),
        (("test_id",), "0123456789abcdef\n"),
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
        (("test", "cells"), {"length": [], "strings": [], "correct": []}),  # no accuracy
        (("test", "cells", "correct"), [11, 0, 0]),
        (("test", "cells", "correct"), [1, 1]),
        (("test", "cells", "strings"), [0, 20, 10]),
        (("test", "cells", "length"), [52, 41, 60]),
        (("test", "cells", "length"), [41, 41, 60]),
        (("test", "cells", "metrics"), {"x": {"total": [1, 2], "count": [1, 2]}}),
        (("test", "cells", "metrics"), {"x": {"total": [1, 2, 3], "count": [1, 2]}}),
        (("test", "cells", "metrics"), {"x": {"total": [1, 2, 3], "count": [1, 2, -3]}}),
        (("test", "cells", "metrics"), {"X Y": BITS}),
        (("test", "cells", "window"), 0),
        (("test", "cells", "answers"), [9, 20, 10]),
        (("test", "cells", "correct"), [-1, 0, 0]),
        (("test", "cells", "strings"), [10, 20, 2**53 + 1]),
        (("test", "cells", "strings"), [10, 20, 10.5]),
        (("test", "cells", "length"), [-1, 52, 60]),
        (("test", "cells", "length"), [41, 52, 2**53 + 1]),
        (("test", "cells", "length"), [41]),
        (("protocol", "steps"), 1000.5),
        (("protocol", "steps"), 1010),  # no multiple of evaluate_every
        (("protocol", "schema_version"), "1"),
        (("selected", "correct"), 1025),
        (("place",), {"file": "x.py", "line": -1, "frames": []}),
        (("date",), "yesterday"),
        (("command",), "x" * 10_001),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(path, value):
    for _ in range(2):  # nothing is taken for what was read before
        read(sample())
        message = problem(json.dumps(put(path, value)))
        assert "not a valid record" in message


def test_cross_entropy_counts_every_cell_alike_though_the_last_entry_has_fewer():
    five = {"length": [1, 2, 3, 4, 5], "strings": [10] * 5, "correct": [9] * 5}
    sums = {"total": [2000, 4000, 4500], "count": [20, 20, 10]}
    data = put(("test", "cells"), {**five, "window": 2, "metrics": {"cross-entropy": sums}})
    cells = read(data).test.cells
    assert cells.bits == pytest.approx((2 * 100 + 2 * 200 + 450) / 5000)
    assert cells.whole("cross-entropy") == (10_500, 50)
    assert cells.whole("other") is None


def test_answers_beside_strings():
    cells = {**CELLS, "answers": [40, 80, 40], "correct": [40, 60, 10]}
    test = read(put(("test", "cells"), cells)).test
    assert test.cells.asked == (40, 80, 40)
    assert test.accuracy == pytest.approx((1.0 + 0.75 + 0.25) / 3)
    assert read(sample()).test.cells.asked == (10, 20, 10)
    selected = read(put(("selected", "answers"), 4096)).selected
    assert (selected.accuracy, selected.bits) == (0.25, 0.001)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(number):
    text = json.dumps(sample()).replace('"total": 1.024', f'"total": {number}')
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
     b"[" * 100_000, b'{"schema_version": 2}', b'{"schema_version": 0}',
     b'{"schema_version": 1.0}', b"9" * 10_000,
     *(json.dumps(sample(schema_version=version)).encode() for version in (True, "2", 2.0, None))],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_what_is_no_record_is_refused(text):
    problem(text)


@pytest.mark.parametrize("version", [-1, 0, 1])
def test_an_earlier_schema_says_run_it_again(version):
    message = problem(json.dumps({"schema_version": version, "run_id": "0" * 16}))
    assert f"schema_version {version} was written by an older formalbench" in message
    assert "repeat the run" in message


def test_a_later_schema_says_upgrade():
    assert "upgrade formalbench" in problem(json.dumps(sample(schema_version=3)))
    assert "upgrade formalbench" in problem(json.dumps({"schema_version": 99, "new": True}))


def test_a_large_file_is_refused():
    assert "larger than" in problem(b" " * (MAX_BYTES + 1))


def test_an_unfinished_run_needs_no_test():
    record = read(sample(status="error", message="ValueError: x", test=None, training=None))
    assert record.test is None
    assert "place" not in record.to_json()
    place = {"file": "mine.py", "line": 3, "frames": ["mine.py:3 in forward: raise"]}
    placed = read(sample(status="error", test=None, place=place))
    assert parse_any(placed.to_json(), "r.json").place.line == 3
    with pytest.raises(RequestError):
        read(sample(message="x" * 501))


def test_a_record_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        read(sample()).seed = 3
    assert isinstance(read(sample()), Record)


def test_the_cells_of_a_test():
    measures = {
        "answer-accuracy": Measure(7.0, 10),
        "string-accuracy": Measure(1.0, 2),
        "share": Measure(0.123456789123, 10),
        "cross-entropy": Measure(2.5, 10),
    }
    scores = [CellScore(3, 3, 2, measures), CellScore(4, 6, 2, measures)]
    cells = cells_of(scores, "answer-accuracy")
    assert (cells.length, cells.first, cells.strings) == ((3, 6), (3, 4), (2, 2))
    assert (cells.correct, cells.answers, cells.asked) == ((7, 7), (10, 10), (10, 10))
    assert cells.bits == pytest.approx(0.25)
    assert cells.metrics["share"].total == (0.123456789,) * 2
    text = cells.model_dump_json()
    assert '"correct":[7,7]' in text  # counts are whole numbers
    assert '"cross-entropy":{"total":[2500,2500]' in text
    plain = cells_of([CellScore(n, n, 2, measures) for n in range(40)], "string-accuracy")
    assert (plain.first, plain.answers, plain.window) == (None, None, 4)
    assert plain.whole("answer-accuracy") == (280, 400)
