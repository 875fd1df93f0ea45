"""A cohort that is killed goes on where it was, to the same numbers."""

import math

import pytest
import torch
from formalbench.contracts.protocol import Protocol
from formalbench.training import resume
from formalbench.training.control import Member
from formalbench.training.programs import OneByOne, Together
from formalbench.training.resume import Keeper
from formalbench.training.trainer import Cohort, train_cohort

PROTOCOL = Protocol.model_validate(
    {
        "name": "resumed", "version": 1, "batch": 8, "steps": 120, "evaluate_every": 10,
        "decay": {"steps": 40}, "curriculum": {"first": 2, "error": 0.45},
        "validation": {"every": 20, "lengths": 3, "strings": 8},
    }
)  # fmt: skip


class Killed(BaseException):
    pass


def cohort(host, keeper, *, program=Together, report=lambda progress: None):
    task = host.task("parity")

    def choose(networks, objective, device):
        return program(networks, objective)

    def build():
        return host.network("rnn", task, {"width": 8})

    members = [Member(0.01, 0, report), Member(0.001, 0), Member(0.01, 1)]
    return Cohort(build, task, PROTOCOL, members, torch.device("cpu"), choose, keeper)


def numbers(trained):
    return [
        (one.status, one.ended, one.steps, one.stage, one.best.step, one.best.bits)
        for one in trained
    ]


@pytest.mark.parametrize("program", [OneByOne, Together])
def test_a_killed_cohort_goes_on_to_the_same_numbers(host, tmp_path, monkeypatch, program):
    monkeypatch.setattr(resume, "EVERY", 0.0)
    heard = []

    def kill(progress):
        heard.append(progress.step)
        if progress.step == 70:
            raise Killed

    path = tmp_path / "training" / "kept.safetensors"
    with pytest.raises(Killed):
        train_cohort(cohort(host, Keeper(path), program=program, report=kill))
    assert path.exists()
    heard.clear()

    def hear(progress):
        heard.append(progress.step)

    again = train_cohort(cohort(host, Keeper(path), program=program, report=hear))
    whole = train_cohort(cohort(host, None, program=program))
    assert heard[0] == 70  # the interval in flight is all that was lost
    assert numbers(again) == numbers(whole)
    for one, other in zip(again, whole, strict=True):
        for mine, theirs in zip(one.network.parameters(), other.network.parameters(), strict=True):
            assert torch.equal(mine, theirs)


def test_nothing_is_saved_within_the_first_minute(host, tmp_path):
    path = tmp_path / "kept.safetensors"
    train_cohort(cohort(host, Keeper(path)))
    assert not path.exists()


@pytest.mark.parametrize("damage", ["empty", "cut", "foreign"])
def test_a_damaged_file_begins_anew(host, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(resume, "EVERY", 0.0)
    path = tmp_path / "kept.safetensors"
    train_cohort(cohort(host, Keeper(path)))
    if damage == "foreign":
        resume.save_file({"parameters": torch.zeros(1)}, path, {"progress": "{}"})
    else:
        path.write_bytes(b"" if damage == "empty" else path.read_bytes()[:300])
    monkeypatch.setattr(resume, "EVERY", math.inf)
    assert numbers(train_cohort(cohort(host, Keeper(path)))) == numbers(
        train_cohort(cohort(host, None))
    )


def test_a_folder_that_cannot_be_written_costs_nothing(host, tmp_path, monkeypatch):
    monkeypatch.setattr(resume, "EVERY", 0.0)
    (tmp_path / "file").write_text("")
    keeper = Keeper(tmp_path / "file" / "kept.safetensors")
    assert numbers(train_cohort(cohort(host, keeper))) == numbers(train_cohort(cohort(host, None)))
    keeper.forget()
