"""Strings with labels that are known by hand, and strings that a task has no label for."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from formalbench.host import PluginHost

HOST = PluginHost.load()
KNOWN = yaml.safe_load((Path(__file__).parent / "known_strings.yaml").read_text("utf-8"))

ANSWERS = {
    "reverse-string": {"011": "110"},
    "duplicate-string": {"01": "0101"},
    "odds-first": {"00110": "01010", "110": "110"},
    "bucket-sort": {"10204112": "00111224"},
    "repeat-copy": {"0110": "0110"},
    "copy": {"7 0 4": "704"},
    "sort": {"7 0 4": "047"},
    "first-occurrences": {"3 1 3 3 2 1": "312"},
    "square-root": {"100101": "110", "111": "10", "0": "0", "1": "1"},
    "binary-addition": {
        "001+01101": "01011",
        "1001+000001": "100101",
        "1+1": "01",
        "00+0": "0",
        "1000+0": "1",
    },
    "binary-multiplication": {"001*01101": "0001101", "1001*000001": "000001001", "111*0": "0"},
    "stack-manipulation": {
        "0 1 1 0 push1 pop pop": "110",
        "1 1 0 pop pop pop": "",
        "1 pop pop push0 push1": "10",
        "pop push1 pop pop push0": "0",
    },
}
OUTSIDE = {
    "modular-arithmetic": ("", "+", "1+", "12", "1+2-", "+12", "1+-2", "1+23"),
    "modular-arithmetic-brackets": (
        *("", "+", "()", "1+", "(1", "1)", "12", "(1)(2)", "1(2)", "*1", "1*+2", ")1(", "((1)"),
    ),
    "solve-equation": (
        *("", "x", "x=", "=1", "1=1", "x+x=2", "x=x", "x=-1", "x=1=1", "(x=1", "x=11", "2x=1"),
    ),
    "missing-duplicate": ("0_10001001",),
    "flip-flop": ("", "w", "r0", "w0r1", "w00r", "w0w", "wwww", "i0r0"),
    "binary-addition": ("1", "+", "1+", "+1", "1++1", "1+1+", "101"),
    "binary-multiplication": ("*",),
    "stack-manipulation": ("1 pop 0", "push0 1"),
}


def ids_of(source, text):
    words = text.split() if " " in text else list(text)
    return [source.alphabet.index(word) for word in words]


def batch(string):
    return np.array([string], dtype=np.int64).reshape(1, -1)


@pytest.mark.parametrize("name", KNOWN)
def test_labels(name):
    language = HOST.task(name).source
    for text, label in KNOWN[name].items():
        string = ids_of(language, text)
        assert language.in_domain(batch(string)).all(), text
        assert language.classify(batch(string)).tolist() == [label] == [language.oracle(string)]


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name):
    function = HOST.task(name).source
    for text, answer in ANSWERS[name].items():
        string = ids_of(function, text)
        answers_1M, (size,) = function.transduce(batch(string))
        assert answers_1M[0, :size].tolist() == [int(symbol) for symbol in answer]
        assert list(function.oracle(string)) == answers_1M[0, :size].tolist()


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_the_domain(name):
    source = HOST.task(name).source
    for text in OUTSIDE[name]:
        assert not source.in_domain(batch(ids_of(source, text))).any(), text
