"""What a cohort's training is made of: strings drawn ahead, recorded steps, precisions."""

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.precision import check_precision, forward_in, multiplying
from formalbench.training import fit, graphs
from formalbench.training.control import Member
from formalbench.training.graphs import WARM_UP, GraphedGroup, Recording
from formalbench.training.optimiser import State
from formalbench.training.programs import OneByOne, Together
from formalbench.training.step import Group, StepInputs, schedule
from formalbench.training.strings import Interval, Strings
from formalbench.training.trainer import Cohort

CPU = torch.device("cpu")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def protocol(**change):
    return Protocol.model_validate({"name": "parts", "version": 1, "batch": 8} | change)


def interval(first, seeds=(0, 1)):
    return Interval(first, (3, 5, 3), seeds)


def test_strings_drawn_ahead_are_the_same(host):
    task = host.task("parity")
    plain = Strings(task, protocol(), CPU)
    ahead = Strings(task, protocol(), torch.device("cuda"))
    ahead._device = CPU  # draws in the background, yet needs no GPU
    try:
        for first in (0, 3, 6):
            got = ahead.take(interval(first))
            ahead.draw_ahead(interval(first + 3))
            for mine, other in zip(got, plain.take(interval(first)), strict=True):
                assert torch.equal(mine[0], other[0])
                assert torch.equal(mine[1], other[1])
        ahead.draw_ahead(interval(6))
        ahead.draw_ahead(Interval(9, (7,), (0,)))  # guesses that the runs do not follow
        assert len(ahead.take(Interval(9, (8,), (0,)))) == 1
        assert {one.first for one in ahead._waiting} == {9}
    finally:
        ahead.close()


def test_runs_of_one_seed_share_their_strings_whoever_else_there_is(host):
    strings = Strings(host.task("parity"), protocol(), CPU)
    (both, _), *_ = strings.take(interval(0))
    (alone, _), *_ = strings.take(interval(0, seeds=(1,)))
    assert torch.equal(both[1:], alone)


@pytest.fixture
def made(host):
    """A program of three runs, their state, and inputs of steps of two lengths."""
    task = host.task("parity")
    torch.manual_seed(0)
    networks = [host.network("regulargpt", task, {"width": 8}).double() for _ in range(3)]
    program = Together(networks, task.objective)
    state = State.start(program.layout.stack(networks))
    steps = []
    for step in range(12):
        length = 3 if step % 3 else 4
        strings, targets = task.sample(task.stream("parts", step), length, 8)
        symbols, answers = torch.from_numpy(strings), torch.from_numpy(targets)
        rates, scales = schedule([[0.01, 0.02, 0.03]], step, protocol().optimiser, state.mean)
        steps.append(
            StepInputs(symbols.expand(3, -1, -1), answers.expand(3, -1), rates[0], scales[0])
        )
    return program, state, steps


def test_a_recorded_length_is_replayed_with_new_inputs(made, monkeypatch):
    """On a CPU: a recording that computes again what it recorded stands for CUDA's."""
    recorded = []

    class Again:
        def __init__(self, group, inputs):
            self.group, self.inputs = group, inputs

        def replay(self):
            Group.step(self.group, self.inputs, [0] * 3)

    def record(self, inputs, noise):
        kept = StepInputs(*(tensor.clone() for tensor in inputs))
        recorded.append(inputs.symbols.shape[-1])
        return Recording(Again(self, kept), kept)

    monkeypatch.setattr(graphs.torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(GraphedGroup, "_record", record)
    program, state, steps = made
    plain = Group((0, 1, 2), program, state, protocol().optimiser)
    graphed = GraphedGroup((0, 1, 2), program, state, protocol().optimiser)
    for inputs in steps:
        plain.step(inputs, [0] * 3)
        graphed.step(inputs, [0] * 3)
    assert sorted(recorded) == [3, 4]
    assert len(steps) > 2 * WARM_UP
    for mine, other in zip(graphed.state, plain.state, strict=True):
        assert torch.equal(mine, other)
    assert torch.equal(graphed.losses, plain.losses)
    assert torch.equal(graphed.wrong, plain.wrong)


def test_a_network_that_cannot_be_recorded_goes_on(made, monkeypatch):
    def refuse(self, inputs, noise):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(graphs.torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(GraphedGroup, "_record", refuse)
    program, state, steps = made
    plain = Group((0, 1, 2), program, state, protocol().optimiser)
    graphed = GraphedGroup((0, 1, 2), program, state, protocol().optimiser)
    for inputs in steps:
        plain.step(inputs, [0] * 3)
        graphed.step(inputs, [0] * 3)
    assert torch.equal(graphed.state.parameters, plain.state.parameters)


@needs_cuda
def test_cuda_graphs_compute_the_same(made):
    program, state, steps = made
    for network in program.networks:
        network.cuda()
    program = Together(program.networks, program.objective)
    state = State(*(tensor.cuda() for tensor in state))
    plain = Group((0, 1, 2), program, state, protocol().optimiser)
    graphed = GraphedGroup((0, 1, 2), program, state, protocol().optimiser)
    for inputs in steps:
        moved = StepInputs(*(tensor.cuda() for tensor in inputs))
        plain.step(moved, [0] * 3)
        graphed.step(moved, [0] * 3)
    assert len(graphed._recordings) == 2
    torch.testing.assert_close(graphed.state.parameters, plain.state.parameters, rtol=0, atol=1e-10)


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


@pytest.mark.parametrize(("free", "expected"), [(10_000, 3), (410, 2), (100, 1), (0, 1)])
def test_as_many_runs_as_memory_allows(host, monkeypatch, free, expected):
    task = host.task("parity")
    members = [Member(0.01, seed) for seed in range(3)]
    cohort = Cohort(lambda: host.network("rnn", task), task, protocol(), members, CPU)
    assert fit.runs_that_fit(cohort) == 3
    monkeypatch.setattr(fit.torch.cuda, "mem_get_info", lambda device: (free, 10**9))
    monkeypatch.setattr(fit, "_peak", lambda work, device: 100)
    on_gpu = Cohort(cohort.build, task, protocol(), members, torch.device("cuda"))
    assert fit.runs_that_fit(on_gpu) == expected


def test_the_step_that_is_measured_is_one_at_the_longest_length(host, monkeypatch):
    lengths = []

    class Heard(OneByOne):
        def gradients(self, selected, flat_RP, symbols_RBN, targets, noise):
            lengths.append(tuple(symbols_RBN.shape))
            return super().gradients(selected, flat_RP, symbols_RBN, targets, noise)

    task = host.task("parity")
    choose = lambda networks, objective, device: Heard(networks, objective)  # noqa: E731
    members = [Member(0.01, seed) for seed in range(3)]
    build = lambda: host.network("rnn", task, {"width": 4})  # noqa: E731
    fit._longest_step(Cohort(build, task, protocol(), members, CPU, choose))
    assert lengths == [(1, 8, 40)]
