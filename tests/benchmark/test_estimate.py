"""``run --dry-run``: how many units a request is, and how long they would take."""

from functools import partial

import pytest
from formalbench.running.estimate import Estimate
from formalbench.store import Store


@pytest.fixture
def ask(run):
    return partial(run, seeds=2, jobs=None)


def seconds(record):
    return record.training.seconds + record.test.seconds


def test_what_is_left_takes_as_long_as_runs_like_it_took(ask, results):
    for seed, model in ((0, "bag"), (0, "bag[width=9]"), (1, "bag")):
        assert ask("--model", model, "--task", "first", "--seeds", f"{seed},", "--quiet").code == 0
    bag, wide = [], []
    for record in Store(results).records():
        (wide if record.model.options else bag).append(seconds(record))
    files = sorted(results.rglob("*"))
    dry = ("--dry-run", "--json", "--task", "first,parity")
    found = ask("--model", "bag,bag[width=9],bag[width=10]", *dry).data
    assert (found["runs"], found["finished"], found["units"]) == (12, 3, 9)
    assert found["records"] == 3
    known = {"same_task": 1, "other_tasks": 4, "other_models": 4, "nothing": 0}
    assert found["known_from"] == known
    of_bag, of_wide = sum(bag) / 2, wide[0]
    whole = of_wide + 2 * (of_bag + of_wide) + 4 * (of_bag + of_wide) / 2
    hours = {row["at_once"]: row["hours"] for row in found["hours"]}
    assert hours[1] == pytest.approx(whole / 3600, abs=1e-4)
    assert found["longest_unit_seconds"] == pytest.approx(max(of_bag, of_wide), abs=1e-3)
    assert sorted(results.rglob("*")) == files


def test_it_is_told_in_words(ask, results):
    request = ("--model", "bag", "--task", "first", "--dry-run")
    unknown = ask(*request)
    assert unknown.code == 0
    assert "2 runs: 0 finished, 2 left in 2 units" in unknown.out
    assert "no time estimate" in unknown.out
    assert not results.exists()
    ask(*request[:-1], "--quiet", "--seeds", 1)
    known = ask(*request, "--jobs", 4)
    assert "2 runs: 1 finished, 1 left in 1 unit\n" in known.out
    assert "1 from same task" in known.out
    assert known.out.split()[-2] == "4"
    assert "0 left" in ask(*request, "--seeds", 1).out


def test_a_run_that_only_tests_tells_nothing_of_one_that_trains(ask):
    ask("--model", "rejecting", "--task", "first", "--quiet", "--seeds", 1)
    dry = ("--task", "first,parity", "--dry-run", "--json")
    found = ask("--model", "bag", *dry).data
    assert (found["records"], found["known_from"]["nothing"], found["hours"]) == (0, 4, [])


@pytest.mark.slow
def test_runs_under_another_protocol_tell_nothing(ask):
    ask("--model", "bag", "--task", "first", "--quiet", "--set", "protocol.steps=20")
    found = ask("--model", "bag", "--task", "first", "--dry-run", "--json").data
    assert (found["records"], found["known_from"]["nothing"], found["hours"]) == (0, 2, [])


@pytest.mark.parametrize(("jobs", "hours"), [(1, 10), (2, 7), (3, 6), (8, 5)])
def test_units_begin_in_turn_when_one_has_ended(jobs, hours):
    found = Estimate(4, 0, (1.0, 3.0, 1.0, 5.0), {}, 1)
    assert found.at_once(jobs) == hours
    assert found.seconds == 10
