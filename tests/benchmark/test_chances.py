"""The chance level at each length: as the task states it, compared with the record."""

import pytest
from formalbench.contracts.record import Origin
from formalbench.host import PluginHost
from formalbench.statistics.aggregate import aggregate, chances_here, facts_of, known_chances
from formalbench.statistics.build import View, build_page
from formalbench.statistics.frame import cells_frame
from formalbench.statistics.length_profile import strip_of
from formalbench.statistics.records import task_contents
from made_records import make


@pytest.fixture(scope="module")
def host():
    return PluginHost.load([])


@pytest.fixture
def tested(host):
    """Make the record of a run on an installed task."""

    def tested(task, lengths, chance, correct=None, **cells):
        entry = host.select_task(task)
        strings = [10] * len(lengths)
        cells = {"length": lengths, "strings": strings, "correct": correct or strings, **cells}
        test = {"metric": "accuracy", "fingerprint": "0" * 64, "seconds": 1, "cells": cells}
        record = make(
            status="finished",
            selected={"step": 7, "strings": 100, "correct": 100},
            test={**test, "chance_constant": chance, "chance_length": chance},
        )
        used = {"name": task, "version": entry.spec.version, "source": entry.plugin.source}
        return record.model_copy(update={"task": record.task.model_copy(update=used)})

    return tested


def test_brackets_that_are_generated_are_ever_harder_to_guess(host, tested):
    levels = [2.0**-2, 2.0**-5]
    record = tested("dyck-2-3:generate", [4, 10], sum(levels) / 2)
    assert chances_here(host, record) == tuple(levels)


@pytest.mark.parametrize(
    ("task", "lengths", "chance", "cells"),
    [
        ("d2:classify", [51, 52], 0.5, {}),  # not the mean of what the task says
        ("d2:classify", [51, 10**9], 0.75, {}),
        ("d2:classify", [51, 52], 0.75, {"first": [1, 52]}),
        ("parity:tag", [41, 42], 0.0, {}),  # strings would have to be drawn
    ],
)
def test_what_is_not_stated_or_does_not_fit_is_unknown(host, tested, task, lengths, chance, cells):
    assert chances_here(host, tested(task, lengths, chance, **cells)) is None


@pytest.mark.parametrize("change", [{"version": 99}, {"source": Origin(distribution="else")}])
def test_another_task_of_the_name_says_nothing(host, tested, change):
    record = tested("d2:classify", [51, 52], 0.75)
    other = record.model_copy(update={"task": record.task.model_copy(update=change)})
    assert chances_here(host, record) == (1.0, 0.5)
    assert task_contents(other) != task_contents(record)
    assert chances_here(host, other) is None


@pytest.mark.parametrize(
    "task", ["d2", "tomita-5", "cycle-navigation", "solve-equation", "missing-duplicate"]
)
def test_what_is_stated_is_the_chance_level(host, task):
    asked = host.task(task)
    lengths = [n for n in range(30, 40) if asked.lengths(n, n)]
    assert asked.objective.stated_chance(asked.source, lengths) == asked.chance(lengths)
    assert host.task("parity:tag").objective.stated_chance(asked.source, lengths) is None


@pytest.mark.parametrize(
    ("correct", "longest"),
    [
        ([10, 10, 10, 10, 10], 54),  # what is right at 55 is no success
        ([10, 10, 10, 0, 10], 52),
        ([10, 10, 9, 10, 10], 52),  # a network that fails where chance does not, fails
        ([10, 0, 10, 10, 10], None),  # right at 51 only
    ],
)
def test_what_chance_solves_is_not_solved(host, tested, correct, longest):
    record = tested("d2:classify", [51, 52, 53, 54, 55], 0.8, correct)
    view = View("test", ("d2",), chances=known_chances(host))
    (board,) = build_page([record], view).boards
    assert board.facts[0].chances == (1.0, 0.5, 1.0, 0.5, 1.0)
    assert board.facts[0].trivial == (True, False, True, False, True)
    assert board.rows[0].results[0].longest_99 == longest


def test_without_a_host_the_mean_stands_for_every_length(tested):
    record = tested("d2:classify", [51, 52, 53], 0.8)
    facts = facts_of([record])
    assert facts.chance_by_cell == (0.8, 0.8, 0.8)
    assert aggregate([record], facts, ["key"]).result.longest_99 == 53


def test_the_tidy_table_has_it_beside_each_cell(host, tested):
    runs = [tested("d2:classify", [51, 52], 0.75), tested("parity:tag", [41, 42], 0.0), make()]
    told = cells_frame(runs, known_chances(host))["chance_at"]
    assert told.iloc[:2].tolist() == [1.0, 0.5]
    assert told.iloc[2:].isna().all()


def test_a_strip_of_the_map_leaves_them_out(host, tested):
    """Half right at 52 and all right at 54, above a chance of one half: 0 and 1."""
    record = tested("d2:classify", [51, 52, 53, 54, 55], 0.8, [10, 5, 10, 10, 10])
    (board,) = build_page([record], View("test", ("d2",), chances=known_chances(host))).boards
    (facts,), (row,) = board.facts, board.rows
    strip = strip_of(row.results[0], facts)
    assert [(step.first, step.last, step.share) for step in strip] == [(52, 52, 0.0), (54, 54, 1.0)]
    assert facts.last_informative_length == 54
