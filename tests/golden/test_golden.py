"""What users and records rely on is as it was; `make golden` renews what was meant to change."""

import pytest
from golden import golden


def changes(name):
    return golden.differences(name, golden.read(name), golden.SECTIONS[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(golden.SECTIONS.keys() - {"faces"}))
def test_nothing_changed(name):
    assert changes(name) == []


def test_no_face_changed():
    assert changes("faces") == []


def test_a_difference_names_what_differs():
    old = {"torch": "1 AVX2", "rnn": "aa bb 1.00000001 2", "gone": "x", "help": "one\ntwo\n"}
    new = {"torch": "1 AVX2", "rnn": "aa cc 1.00000002 2", "come": "x", "help": "one\nthree\n"}
    assert golden.differences("s", old, new) == [
        "s: come: new",
        "s: gone: gone",
        "s: help: two -> three",
        "s: rnn: bb 1.00000001 -> cc 1.00000002",
    ]
    assert golden.differences("s", {"a": "1", "b": "2"}, {"b": "2", "a": "1"}) == [
        "s: another order: b stands where a was"
    ]


def test_last_digits_of_weights_are_the_processors():
    old = {"torch": "1 AVX512", "rnn": "aa bb 1.00000001 2"}
    assert golden.differences("s", old, {"torch": "1 DEFAULT", "rnn": "aa cc 1.00000002 2"}) == []
    assert golden.differences("s", old, {"torch": "1 DEFAULT", "rnn": "aa cc 1.01 2"})
    assert golden.differences("s", old, {"torch": "1 DEFAULT", "rnn": "ab bb 1.00000001 2"})
