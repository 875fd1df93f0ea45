"""The profile of a row: languages solved, learned and not learned, and its horizon."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formalbench.statistics.board import Profile, profile_of
from formalbench.statistics.build import View, build_page

TASKS = ("parity", "first", "d2")


@pytest.fixture
def page(make_record):
    """Make a model that solves one of three languages, learns one and fails one, and its better."""
    runs = {
        "parity": [([100] * 4, 1.0)] * 2 + [([100, 100, 98, 100], 1.0)],
        "first": [([100, 99, 90, 100], 1.0)] * 2 + [([50] * 4, 0.8)],
        "d2": [([100] * 4, 1.0), *[([100] * 4, 0.98)] * 2],
    }
    records = [
        make_record("rnn", f"{task}:classify", accuracy=right, validation=held, seed=seed)
        for task, seeds in runs.items()
        for seed, (right, held) in enumerate(seeds)
    ]
    records += [
        make_record("lstm", f"{task}:classify", seed=seed) for task in TASKS for seed in range(3)
    ]
    return build_page(records, View("test", TASKS))


def test_a_profile_counts_languages_by_two_thirds_of_their_seeds(page):
    rows = {row.model: row.profile for row in page.boards[0].rows}
    # Of the six seeds that learned three have 99 % up to 71, the others up to 51.
    assert rows["rnn"] == Profile(1, 1, 1, 3 / 9, 6 / 9, horizon=71)
    assert rows["lstm"] == Profile(3, 0, 0, 1.0, 1.0, 71)


def test_a_row_is_profiled_on_the_languages_that_count(make_record):
    records = [make_record("rnn"), make_record("rnn", "own:classify", validation=0.5)]
    (board,) = build_page([*records, make_record("lstm", "own:classify")], View("t", TASKS)).boards
    profiles = {row.model: row.profile for row in board.rows}
    assert profiles == {"rnn": Profile(1, 0, 0, 1.0, 1.0, 71), "lstm": None}


def test_what_diverged_on_longer_strings_is_learned_and_not_solved(make_record):
    trained = make_record(not_finite=(2, 3))
    (board,) = build_page([trained], View("t", ("parity",))).boards
    assert board.rows[0].profile == Profile(0, 1, 0, 0.0, 1.0, 51)
    assert profile_of([]) is None


def test_half_of_the_seeds_are_less_than_two_thirds(make_record):
    held = (1.0, 1.0, 0.9, 0.9)
    runs = [make_record("rnn", seed=seed, validation=one) for seed, one in enumerate(held)]
    (board,) = build_page(runs, View("t", ("parity",))).boards
    assert board.rows[0].profile == Profile(0, 0, 1, 0.5, 0.5, 71)


def test_a_part_of_a_test_that_fails_at_the_same_length_counts(make_record):
    """Named parts of a test can be of one length: one that is right does not solve the others."""
    record = make_record(accuracy=[100, 100, 100, 50])
    (board,) = build_page([record], View("t", ("parity",))).boards
    (result,) = board.rows[0].results
    (run,) = result.runs
    cells = replace(run.cells, length=(41, 61, 71, 71), group=("a", "a", "a", "b"))
    found = profile_of([replace(result, runs=(replace(run, cells=cells),))])
    assert found == Profile(0, 1, 0, 0.0, 1.0, 61)


