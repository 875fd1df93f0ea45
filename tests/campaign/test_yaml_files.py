"""Damaged YAML: a task, a suite, a protocol. It is read, or refused in one line."""

import textwrap

import pytest
from mutate import damaged

TASK = """
    name: no-aba
    alphabet: abc
    regex: (b|c|a+c|a+b(b|c))*(a+b?)?
    version: 1
    summary: no factor aba
    splits: {train: [1, 40], test: [41, 500]}
"""

AUTOMATON = """
    name: b-at-the-end
    alphabet: [a, b]
    states: [p, q]
    start: p
    accept: [q]
    transitions: {p: {a: p, b: q}, q: {a: p, b: q}}
"""

SUITE = """
    name: mine
    summary: two
    tasks: [parity, "parity[p=0.3]", tomita-3:next-symbols]
    protocol: quick
"""

PROTOCOL = """
    name: mine
    version: 1
    extends: quick
    seeds: 2
    learning_rates: [0.01, 0.001]
    steps: 40
    batch: 8
    evaluate_every: 10
    decay: {steps: 20}
    curriculum: {kind: staged, first: 2, growth: 1.5}
    optimiser: {name: adam, betas: [0.9, 0.99]}
    validation: {every: 20, lengths: 3, strings: 8}
    test: {lengths: [41, 100], strings: 16}
"""

FILES = {
    "task": (TASK, [("show", "task", "no-aba"), ("sample", "no-aba", "--length", 7)]),
    "automaton": (
        AUTOMATON,
        [("show", "task", "b-at-the-end"), ("sample", "b-at-the-end:tag", "--length", 5)],
    ),
    "suite": (SUITE, [("show", "suite", "mine"), ("list", "suites")]),
    "protocol": (PROTOCOL, [("show", "protocol", "mine"), ("list", "protocols")]),
}


@pytest.mark.parametrize("kind", FILES)
def test_whole_files_are_read(cli, tmp_path, kind):
    text, commands = FILES[kind]
    path = tmp_path / "mine.yaml"
    path.write_text(textwrap.dedent(text))
    for command in commands:
        assert cli(*command, "--plugin", path).code == 0


@pytest.mark.parametrize("kind", FILES)
def test_damaged_files_are_read_or_refused(cli, tmp_path, rng, kind):
    text, commands = FILES[kind]
    path = tmp_path / "mine.yaml"
    path.write_bytes(damaged(rng, textwrap.dedent(text).encode()))
    for command in commands:
        done = cli(*command, "--plugin", path)
        assert done.code in (0, 2), (path.read_bytes(), done)
        assert done.code == 0 or len(done.err.splitlines()) == 1, (path.read_bytes(), done)
