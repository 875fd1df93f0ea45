"""A cohort that is killed goes on where it was, to the same numbers."""

import math
import os
import time
from dataclasses import dataclass, field, replace

import pytest
import small_training
import torch
from formalbench.contracts.objective import Measure
from formalbench.contracts.protocol import Capping, Decay, Protocol
from formalbench.training import run_state
from formalbench.training.gradients import BatchedGradients, SequentialGradients
from formalbench.training.run_state import (
    Checkpoint,
    Checkpointer,
    CurvePoint,
    Member,
    RunState,
    saved_cohorts,
)
from formalbench.training.trainer import _CohortTraining, train_cohort

PROTOCOL = Protocol.model_validate(
    {
        "name": "resumed", "version": 1, "batch": 8, "steps": 120, "evaluate_every": 10,
        "decay": {"steps": 40}, "curriculum": {"first": 2, "error": 0.45},
        "validation": {"every": 20, "lengths": 3, "strings": 8},
        "schedule": {"name": "plateau", "patience": 0},
    }
)  # fmt: skip

PATIENT = PROTOCOL.model_copy(
    update={
        "steps": 400,
        "decay": Decay(steps=40, mastered=0.6, validated=0.99, share=0.5),
        "patience": Capping(after=40, steps=80, gain=0.5),
        "shared_lengths": True,
    }
)
"""Small training errors wait for a validation that is never good, so that every run is capped."""


class Killed(BaseException):
    pass


RUNS = [(0.01, 0), (0.001, 0), (0.01, 1)]


def checkpointer(runs=RUNS, key="key"):
    return Checkpointer(key, [Member(rate, seed) for rate, seed in runs])


def cohort(
    host, checkpointer, *, program=BatchedGradients, report=lambda progress: None, protocol=PROTOCOL
):
    task = host.task("parity")
    members = [Member(rate, seed, report) for rate, seed in RUNS]
    build = lambda: host.network("rnn", task, {"width": 8})  # noqa: E731
    return small_training.cohort(host, task, protocol, members, build, program, checkpointer)


def numbers(trained):
    return [
        (one.status, one.ended, one.steps, one.stage, one.best.step, one.best.measures)
        for one in trained
    ]


def kill_at(step):
    """Return what kills a training from a step on."""

    def kill(progress):
        if progress.step >= step:
            raise Killed

    return kill


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [PROTOCOL, PATIENT], ids=["plain", "patient"])
@pytest.mark.parametrize("program", [SequentialGradients, BatchedGradients])
def test_a_killed_cohort_goes_on_to_the_same_numbers(host, monkeypatch, program, protocol):
    monkeypatch.setattr(run_state, "EVERY", 0.0)
    killed = cohort(host, checkpointer(), program=program, report=kill_at(70), protocol=protocol)
    with pytest.raises(Killed):
        train_cohort(killed)
    assert checkpointer().path.exists()
    heard = []

    def hear(progress):
        heard.append(progress.step)

    again = train_cohort(
        cohort(host, checkpointer(), program=program, report=hear, protocol=protocol)
    )
    whole = train_cohort(cohort(host, None, program=program, protocol=protocol))
    ended = {one.ended for one in whole}
    assert ended == ({"capped"} if protocol is PATIENT else {"budget"})
    assert heard[0] == 70  # the interval in flight is all that was lost
    assert numbers(again) == numbers(whole)
    for one, other in zip(again, whole, strict=True):
        for mine, theirs in zip(one.network.parameters(), other.network.parameters(), strict=True):
            assert torch.equal(mine, theirs)


@pytest.mark.slow
def test_within_the_first_minute_a_cohort_is_saved_at_its_end_alone(host):
    """Its records are written one by one: after a kill between two, none is trained without it."""
    with pytest.raises(Killed):
        train_cohort(cohort(host, checkpointer(), report=kill_at(70)))
    assert not checkpointer().path.exists()
    whole = train_cohort(cohort(host, checkpointer()))
    again = train_cohort(cohort(host, checkpointer(), report=kill_at(10)))
    assert numbers(again) == numbers(whole)
    alone = replace(cohort(host, checkpointer(RUNS[:1])), members=checkpointer(RUNS[:1]).members)
    train_cohort(alone)
    assert not alone.checkpointer.path.exists()


def flipped(contents):
    middle = len(contents) // 2
    return contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda _: b"", lambda whole: whole[:300], flipped])
def test_a_damaged_file_begins_anew(host, monkeypatch, damage):
    monkeypatch.setattr(run_state, "EVERY", 0.0)
    train_cohort(cohort(host, checkpointer()))
    path = checkpointer().path
    path.write_bytes(damage(path.read_bytes()))
    monkeypatch.setattr(run_state, "EVERY", math.inf)
    assert checkpointer().restore(states(host)) == 0
    assert numbers(train_cohort(cohort(host, checkpointer()))) == numbers(
        train_cohort(cohort(host, None))
    )


def states(host):
    return _CohortTraining(cohort(host, None)).runs


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_costs_nothing(host, tmp_path, monkeypatch):
    monkeypatch.setattr(run_state, "EVERY", 0.0)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert numbers(train_cohort(cohort(host, checkpointer()))) == numbers(
        train_cohort(cohort(host, None))
    )
    checkpointer().forget()
    assert list(saved_cohorts("key")) == []


def test_saved_cohorts_are_found_by_what_decides_them_the_last_first():
    for age, runs in enumerate([RUNS, RUNS[:1]]):
        checkpointer(runs).save([annealed() for _ in runs])
        os.utime(checkpointer(runs).path, (time.time() - age, time.time() - age))
    checkpointer(key="another").save([annealed() for _ in RUNS])
    found = [[(m.learning_rate, m.seed) for m in one.members] for one in saved_cohorts("key")]
    assert found == [RUNS, RUNS[:1]]
    checkpointer().forget()
    (left,) = saved_cohorts("key")
    assert len(left.members) == 1


def test_what_nobody_will_ask_for_again_goes():
    abandoned = checkpointer(key="of code that changed")
    for one in (abandoned, checkpointer()):
        one.save([annealed() for _ in RUNS])
    long_ago = time.time() - run_state.ABANDONED - 60
    os.utime(abandoned.path, (long_ago, long_ago))
    assert len(list(saved_cohorts("key"))) == 1
    assert not abandoned.path.parent.exists()


@dataclass
class Annealed(RunState):
    """A run that has more to remember."""

    temperature: float = 1.0
    noise: torch.Tensor = field(default_factory=lambda: torch.zeros(2))
    levels: list[int] = field(default_factory=list)


def annealed(**change):
    values = {"parameters": torch.zeros(3), "slots": {"mean": torch.zeros(3)}, **change}
    return Annealed(**values)


def test_a_run_is_saved_whole_whatever_it_has_to_remember():
    saved = checkpointer(RUNS[:2])
    measures = {"accuracy": Measure(3.0, 4), "close-bracket-accuracy": Measure(math.inf, 0)}
    run = annealed(
        stage=2,
        decay_from=30,
        ended="mastered",
        steps=40,
        seconds=1.5,
        measures=measures,
        best=Checkpoint(20, 4, measures, (0.75, -math.inf), torch.arange(3.0)),
        curves=[(CurvePoint(3, 4, 120, {"attention.0": 0.5}),)],
        schedule={"best": 0.25},
        parameters=torch.tensor([1.0, math.nan, 2.0]),
        slots={"mean": torch.ones(3)},
        temperature=0.125,
        noise=torch.tensor([4.0, 5.0]),
        levels=[1, 2],
    )
    saved.save([run, annealed(status="diverged", steps=10)])
    again = [annealed(), annealed()]
    assert saved.restore(again) == 40
    found, other = again
    assert (other.status, other.temperature, other.best) == ("diverged", 1.0, None)
    assert torch.equal(found.best.weights, torch.arange(3.0))
    tensors = ("parameters", "noise", "slots", "best")
    assert plain(found, tensors) == plain(run, tensors)
    assert plain(found.best, ("weights",)) == plain(run.best, ("weights",))
    assert torch.equal(found.noise, run.noise)
    assert torch.equal(found.slots["mean"], run.slots["mean"])
    torch.testing.assert_close(found.parameters, run.parameters, rtol=0, atol=0, equal_nan=True)


def plain(value, without):
    return {name: part for name, part in vars(value).items() if name not in without}


@pytest.mark.parametrize(
    "runs",
    [
        [annealed()],
        [annealed(parameters=torch.zeros(4), slots={"mean": torch.zeros(4)})] * 2,
        [annealed(slots={"momentum": torch.zeros(3)})] * 2,
        [RunState(parameters=torch.zeros(3), slots={"mean": torch.zeros(3)})] * 2,
    ],
    ids=["fewer", "larger", "another optimiser", "knows less"],
)
def test_what_was_saved_of_other_runs_changes_nothing(runs):
    saved = checkpointer(RUNS[:2])
    saved.save([annealed(steps=10, temperature=0.5), annealed(steps=10)])
    assert saved.restore(runs) == 0
    assert {run.steps for run in runs} == {0}
