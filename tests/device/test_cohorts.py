"""On a device, too, a cohort gives the numbers of its runs alone, and the CPU's."""

import torch
from formalbench.contracts.protocol import Protocol
from formalbench.training.gradients import BatchedGradients, SequentialGradients
from formalbench.training.run_state import Member
from formalbench.training.trainer import Cohort, resolve_protocol, train_cohort

MEMBERS = [Member(0.003, 0), Member(0.001, 0), Member(0.003, 1)]
PROTOCOL = Protocol(
    name="ten",
    version=1,
    batch=8,
    steps=10,
    evaluate_every=5,
    shared_lengths=True,
    curriculum={"kind": "uniform"},
    decay={"steps": 5},
    validation={"every": 10, "lengths": 1, "strings": 4},
)


def train(host, task, model, device, members, program):
    """Return the parameters of each run after ten steps in double precision."""

    def build():
        return host.network(model, task, {"width": 8}).double()

    def choose(networks, task, device, batch=None):
        return program(networks, task)

    resolved = resolve_protocol(host, PROTOCOL)
    trained = train_cohort(Cohort(build, task, PROTOCOL, members, device, resolved, choose))
    assert [run.status for run in trained] == ["finished"] * len(members)
    return [
        torch.cat([p.detach().cpu().flatten() for p in run.network.parameters()]) for run in trained
    ]


def test_a_cohort_equals_its_runs(host, task, model, device):
    together = train(host, task, model, device, MEMBERS, BatchedGradients)
    for member, mine in zip(MEMBERS, together, strict=True):
        (alone,) = train(host, task, model, device, [member], SequentialGradients)
        torch.testing.assert_close(mine, alone, rtol=0, atol=1e-8)


def test_a_run_equals_that_of_the_cpu(host, task, model, device):
    (here,) = train(host, task, model, torch.device("cpu"), MEMBERS[:1], SequentialGradients)
    (there,) = train(host, task, model, device, MEMBERS[:1], BatchedGradients)
    torch.testing.assert_close(there, here, rtol=0, atol=1e-6)
