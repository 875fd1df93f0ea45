"""A cohort of every learned model gives the numbers of its runs alone."""

from itertools import product

import pytest
import torch
from formalbench.contracts.network import Traits
from formalbench.contracts.protocol import OptimiserChoice, Protocol
from formalbench.host import PluginHost
from formalbench.training import trainer
from formalbench.training.gradients import (
    AdaptiveGradients,
    BatchedGradients,
    SequentialGradients,
    least_together,
)
from formalbench.training.run_state import Member
from formalbench.training.trainer import Cohort, resolve_protocol, train_cohort
from formalbench_models.plugin import formalbench_models

HOST = PluginHost.load()
LEARNED = [
    spec.name
    for spec in formalbench_models()
    if spec.kind == "learned" and not spec.by_name  # those are of these families
]
MEMBERS = [Member(0.003, 0), Member(0.001, 0), Member(0.003, 1)]
PROTOCOL = Protocol(
    name="fifty",
    version=1,
    batch=16,
    steps=50,
    evaluate_every=10,
    shared_lengths=True,
    curriculum={"kind": "uniform"},
    decay={"steps": 10},
    validation={"every": 50, "lengths": 2, "strings": 4},
)


def parameters(trained):
    return torch.cat([p.detach().flatten() for p in trained.network.parameters()])


def train(build, task, members, choose, protocol=PROTOCOL):
    """Train a cohort; `choose` says by which program."""
    resolved = resolve_protocol(HOST, protocol)
    trained = train_cohort(
        Cohort(build, task, protocol, members, torch.device("cpu"), resolved, choose)
    )
    assert all(one.best.step == 50 for one in trained)
    return trained


def by(program):
    return lambda networks, task, device, batch=None: program(networks, task)


@pytest.mark.parametrize(
    ("name", "task_name", "optimiser"),
    [
        *product(LEARNED, ("cycle-navigation", "d2:next-symbols"), ("adam",)),
        *product(("lstm",), ("cycle-navigation",), ("lion", "muon")),
    ],
)
def test_parameters_after_fifty_steps(name, task_name, optimiser):
    task = HOST.task(task_name)
    used = PROTOCOL.model_copy(update={"optimiser": OptimiserChoice(name=optimiser)})

    def build():
        return HOST.network(name, task, {"width": 8}).double()

    together = train(build, task, MEMBERS, by(BatchedGradients), used)
    for member, one in zip(MEMBERS, together, strict=True):
        (alone,) = train(build, task, [member], by(SequentialGradients), used)
        torch.testing.assert_close(parameters(one), parameters(alone), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("program", [SequentialGradients, BatchedGradients])
def test_training_in_bf16(name, program):
    task = HOST.task("cycle-navigation")
    # Not heads of one unit each, as of eight at this width.
    heads = {"heads": 2} if name.startswith("regulargpt") else {}

    def build():
        return HOST.network(name, task, {"width": 8, **heads})

    half, full = (
        train(build, task, MEMBERS[:2], by(program), PROTOCOL.model_copy(update={"precision": one}))
        for one in ("bf16", "fp32")
    )
    for mine, other in zip(half, full, strict=True):
        assert mine.status == "finished"
        weights = [parameters(one) for one in (mine, other)]
        assert weights[0].dtype == torch.float32
        assert not torch.equal(*weights)  # it did compute in bf16
        # As a whole: a single weight can go anywhere, since Adam divides by small gradients.
        assert (weights[0] - weights[1]).norm() < 0.02 * weights[1].norm()


def test_what_parts_from_a_cohort_goes_on_run_by_run(monkeypatch):
    task = HOST.task("parity")

    def build():
        return HOST.network("rnn", task, {"width": 8}).double()

    alone = [train(build, task, [member], by(SequentialGradients))[0] for member in MEMBERS]
    assert [one.cohort for one in alone] == [(), (), ()]

    taken = []

    class Watched(AdaptiveGradients):
        def select(self, runs):
            selected = super().select(runs)
            taken.append((runs, type(selected)))
            return selected

    # As when one of them reaches its next stage after 20 steps.
    intervals = iter([[(0, 1, 2)], [(0, 1, 2)], [(0, 1), (2,)], [(0, 1), (2,)], [(0, 1), (2,)]])
    monkeypatch.setattr(trainer._CohortTraining, "_together", lambda *_: next(intervals))
    parted = train(build, task, MEMBERS, lambda *networks: Watched(*networks[:2], least=3))
    assert taken == [((0, 1, 2), dict), ((0, 1), list), ((2,), list)]
    assert [one.cohort for one in parted] == [MEMBERS, MEMBERS, MEMBERS]
    for mine, other in zip(parted, alone, strict=True):
        torch.testing.assert_close(parameters(mine), parameters(other), rtol=0, atol=1e-9)


def test_which_networks_go_together_on_which_device():
    task = HOST.task("parity")
    small, medium, large, plain = (
        HOST.network(name, task, {"width": width})
        for name, width in (("rnn", 16), ("rnn", 64), ("rnn", 256), ("transformer", 16))
    )
    assert least_together(small, "cpu") == 2
    assert least_together(medium, "cpu") == 3
    assert least_together(large, "cpu") is None
    assert least_together(plain, "cpu") is None
    plain.traits = Traits(cpu_cohort=1)  # from the least number that can be meant
    assert least_together(plain, "cpu") == 2
    assert least_together(large, "cuda") == least_together(plain, "cuda") == 1
