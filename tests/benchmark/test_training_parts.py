"""What a cohort's training is made of: strings drawn ahead, recorded steps, precisions."""

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Example, tensors
from formalbench.contracts.protocol import Protocol
from formalbench.device import check_precision, forward_in, multiplying, own_numerics
from formalbench.training import step as training_step
from formalbench.training import trainer
from formalbench.training.configs import AdamConfig
from formalbench.training.curriculum import Interval, TrainingData
from formalbench.training.gradients import BatchedGradients, Gradients, SequentialGradients
from formalbench.training.optimisers import Adam
from formalbench.training.parameters import Layout, Rows, make_update, numbers_of_steps
from formalbench.training.run_state import Member
from formalbench.training.step import WARM_UP, GraphedGroup, Group, Recording, StepInputs
from formalbench.training.trainer import Cohort, resolve_protocol

CPU = torch.device("cpu")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def protocol(**change):
    return Protocol.model_validate({"name": "parts", "version": 1, "batch": 8} | change)


def interval(first, seeds=(0, 1), lengths=(3, 5, 3)):
    return Interval(first, tuple((length, 8) for length in lengths), seeds)


def test_strings_drawn_ahead_are_the_same(host):
    task = host.task("parity")
    plain = TrainingData(task, protocol(), CPU)
    ahead = TrainingData(task, protocol(), torch.device("cuda"))
    ahead._device = CPU  # draws in the background, yet needs no GPU
    try:
        for first in (0, 3, 6):
            got = ahead.take(interval(first))
            ahead.draw_ahead(interval(first + 3))
            for (mine,), (other,) in zip(got, plain.take(interval(first)), strict=True):
                assert torch.equal(mine.inputs, other.inputs)
                assert torch.equal(mine.targets, other.targets)
        ahead.draw_ahead(interval(6))
        ahead.draw_ahead(interval(9, (0,), (7,)))  # guesses that the runs do not follow
        assert len(ahead.take(interval(9, (0,), (8,)))) == 1
        assert {one.first for one in ahead._waiting} == {9}
    finally:
        ahead.close()


def test_runs_of_one_seed_share_their_strings_whoever_else_there_is(host):
    data = TrainingData(host.task("parity"), protocol(), CPU)
    (both,), *_ = data.take(interval(0))
    (alone,), *_ = data.take(interval(0, seeds=(1,)))
    assert torch.equal(both.inputs[1:], alone.inputs)


def test_a_steps_strings_are_those_of_its_key(host):
    task = host.task("parity")
    (batch,), *_ = TrainingData(task, protocol(), CPU).take(interval(5))
    asked = task.sample(task.stream("train", "parts", 1, 1, 5), 3, 8)
    assert batch.inputs[1].tolist() == asked.inputs.tolist()
    borrowing = protocol(name="other", version=3, draws=["parts", 1])
    (same,), *_ = TrainingData(task, borrowing, CPU).take(interval(5))
    assert torch.equal(same.inputs, batch.inputs)


class Scripted(SequentialGradients):
    """Says what a script says, and hears of the noise."""

    def __init__(self, network, said):
        self.layout, self.said, self.noise = Layout.of(network), list(said), []

    def select(self, runs):
        return None

    def gradients(self, selected, flat_RP, example, noise):
        self.noise.append(list(noise))
        return self.said.pop(0)


def test_the_batches_of_a_step_are_averaged_and_draw_numbers_of_their_own(host):
    said = [
        Gradients(torch.tensor([[1.0], [2.0]]), torch.tensor([2.0, 3.0]), torch.tensor([1, 0])),
        Gradients(torch.tensor([[5.0], [3.0]]), torch.tensor([4.0, 1.0]), torch.tensor([2, 3])),
    ]
    program = Scripted(torch.nn.Linear(1, 1, bias=False), said)
    rows = Rows.start(torch.zeros(2, 1), ADAM)
    group = Group((0, 1), program, rows, make_update(ADAM, None, torch.nn.Linear(1, 1)))
    found = group.gradients([Example(torch.zeros(2, 1, 1), None)] * 2, [7, 8])
    assert found.gradients.tolist() == [[3.0], [2.5]]
    assert found.losses.tolist() == [3.0, 2.0]
    assert found.wrong.tolist() == [3, 3]
    assert program.noise[0] == [7, 8]
    assert len({seed for seeds in program.noise for seed in seeds}) == 4


ADAM = Adam(AdamConfig())


@pytest.fixture
def made(host):
    """A program of three runs, their rows, and inputs of steps of two lengths."""
    task = host.task("parity")
    torch.manual_seed(0)
    networks = [host.network("regulargpt", task, {"width": 8}).double() for _ in range(3)]
    program = BatchedGradients(networks, task)
    rows = Rows.start(program.layout.stack(networks), ADAM)
    steps = []
    for step in range(12):
        length = 3 if step % 3 else 4
        example = tensors(task.sample(task.stream("parts", step), length, 8))
        ((rate, scalars),) = numbers_of_steps([[0.01, 0.02, 0.03]], step, ADAM, rows.parameters)
        batch = example.map(lambda part: part.expand(3, *part.shape))
        steps.append(StepInputs((batch,), rate, scalars))
    return program, rows, make_update(ADAM, 1.0, networks[0]), steps


def after(program, rows, update, steps):
    """Return a plain and a graphed group that have taken the same steps."""
    groups = [kind((0, 1, 2), program, rows, update) for kind in (Group, GraphedGroup)]
    for inputs in steps:
        for group in groups:
            group.step(inputs, [0] * 3)
    return groups


def test_a_recorded_length_is_replayed_with_new_inputs(made, monkeypatch):
    """On a CPU: a recording that computes again what it recorded stands for CUDA's."""
    recorded = []

    class Again:
        def __init__(self, group, inputs):
            self.group, self.inputs = group, inputs

        def replay(self):
            Group.step(self.group, self.inputs, [0] * 3)

    def record(self, inputs, noise):
        kept = inputs.map(torch.clone)
        recorded.append(inputs.examples[0].inputs.shape[-1])
        return Recording(Again(self, kept), kept)

    monkeypatch.setattr(training_step.torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(GraphedGroup, "_record", record)
    plain, graphed = after(*made)
    assert sorted(recorded) == [3, 4]
    assert len(made[-1]) > 2 * WARM_UP
    for mine, other in zip(
        (graphed.rows.parameters, *graphed.rows.slots),
        (plain.rows.parameters, *plain.rows.slots),
        strict=True,
    ):
        assert torch.equal(mine, other)
    assert torch.equal(graphed.losses, plain.losses)
    assert torch.equal(graphed.wrong, plain.wrong)


def test_a_network_that_cannot_be_recorded_goes_on(made, monkeypatch):
    def refuse(self, inputs, noise):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(training_step.torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(GraphedGroup, "_record", refuse)
    plain, graphed = after(*made)
    assert torch.equal(graphed.rows.parameters, plain.rows.parameters)


@needs_cuda
def test_cuda_graphs_compute_the_same(host, made):
    program, rows, update, steps = made
    for network in program.networks:
        network.cuda()
    program = BatchedGradients(program.networks, host.task("parity"))
    rows = Rows(rows.parameters.cuda(), tuple(slot.cuda() for slot in rows.slots))
    moved = [inputs.map(lambda tensor: tensor.cuda()) for inputs in steps]
    plain, graphed = after(program, rows, update, moved)
    assert len(graphed._recordings) == 2
    torch.testing.assert_close(graphed.rows.parameters, plain.rows.parameters, rtol=0, atol=1e-10)


def test_bf16_computes_in_bf16_and_returns_to_fp32():
    with forward_in("bf16", CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with forward_in("fp32", CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_tf32_is_on_only_where_it_is_asked_for():
    before = torch.backends.cudnn.allow_tf32
    with multiplying("tf32"):
        assert torch.backends.cudnn.allow_tf32
        assert torch.backends.cuda.matmul.allow_tf32
    with multiplying("fp32"):
        assert not torch.backends.cudnn.allow_tf32
    assert torch.backends.cudnn.allow_tf32 == before


def test_tf32_needs_a_gpu():
    with pytest.raises(RequestError, match="tf32 needs a CUDA device"):
        check_precision(protocol(precision="tf32"), "cpu")
    check_precision(protocol(precision="tf32"), "cuda:0")
    check_precision(protocol(precision="bf16"), "cpu")


def test_defaults_are_torchs_inside_and_the_callers_after(monkeypatch):
    def fails():
        raise AttributeError("as it does before torch 2.9, once the default was None")

    monkeypatch.setattr(torch, "get_default_device", fails)
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    with own_numerics():
        made = torch.ones(1)
        assert (made.dtype, made.device.type) == (torch.float32, "cpu")
    made = torch.ones(1)
    assert (made.dtype, made.device.type) == (torch.float64, "meta")
    torch.set_default_device(None)
    with own_numerics(), own_numerics():
        assert torch.ones(1).device.type == "cpu"
    assert torch.ones(1).device.type == "cpu"


@pytest.mark.parametrize(("free", "expected"), [(10_000, 3), (410, 2), (100, 1), (0, 1)])
def test_as_many_runs_as_memory_allows(host, monkeypatch, free, expected):
    task = host.task("parity")
    members = [Member(0.01, seed) for seed in range(3)]
    resolved = resolve_protocol(host, protocol())
    build = lambda: host.network("rnn", task)  # noqa: E731
    assert trainer.runs_that_fit(Cohort(build, task, protocol(), members, CPU, resolved)) == 3
    monkeypatch.setattr(trainer.torch.cuda, "mem_get_info", lambda device: (free, 10**9))
    monkeypatch.setattr(trainer, "peak_of", lambda work, device: 100)
    on_gpu = Cohort(build, task, protocol(), members, torch.device("cuda"), resolved)
    assert trainer.runs_that_fit(on_gpu) == expected


@pytest.mark.parametrize("change", [{}, {"accumulate": 3}])
def test_the_step_that_is_measured_is_one_at_the_longest_length(host, change):
    shapes = []

    class Heard(SequentialGradients):
        def gradients(self, selected, flat_RP, example, noise):
            shapes.append(tuple(example.inputs.shape))
            return super().gradients(selected, flat_RP, example, noise)

    task, used = host.task("parity"), protocol(**change)
    choose = lambda networks, task, device: Heard(networks, task)  # noqa: E731
    members = [Member(0.01, seed) for seed in range(3)]
    build = lambda: host.network("rnn", task, {"width": 4})  # noqa: E731
    resolved = resolve_protocol(host, used)
    trainer.longest_step(Cohort(build, task, used, members, CPU, resolved, choose))
    assert shapes == [(1, 8, 40)]
