"""Batches of several lengths: padded, or length by length, to the same numbers."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter

import numpy as np
import pytest
import torch
from formalbench.contracts.example import Example, split
from formalbench.contracts.network import Traits
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.source import Transduction
from formalbench.contracts.specs import Splits
from formalbench.contracts.task import Task
from formalbench.training.curriculum import InterleavedStages, draw_mix
from formalbench.training.data import Interval, TrainingData
from formalbench.training.gradients import Gradients, OneByOne, Together
from formalbench.training.parameters import Layout, Rows, make_update
from formalbench.training.resolved_protocol import make_recipe
from formalbench.training.run_state import Member
from formalbench.training.step import Group, Share
from formalbench.training.trainer import Cohort, train_cohort
from torch import nn

CPU = torch.device("cpu")
MEMBERS = [Member(0.01, 0), Member(0.003, 0), Member(0.01, 1)]
TASKS = ["cycle-navigation", "parity:tag", "tomita-3:next-symbols", "dyck-2-3:generate"]


def protocol(**change):
    return Protocol.model_validate(
        {
            "name": "mixed", "version": 1, "batch": 12, "mixed_lengths": True, "steps": 12,
            "evaluate_every": 3, "decay": {"steps": 6}, "curriculum": {"error": 1.0},
            "validation": {"every": 6, "lengths": 2, "strings": 4}, **change,
        }
    )  # fmt: skip


def train(host, task_name, used, members, *, padding, program):
    task = host.task(task_name)

    def build():
        network = host.network("lstm", task, {"width": 6}).double()
        network.traits = replace(network.traits, padding=padding)
        return network

    return train_networks(host, task, build, used, members, program)


def train_networks(host, task, build, used, members, program):
    def choose(networks, task, device):
        return program(networks, task)

    recipe = make_recipe(host, used)
    return train_cohort(Cohort(build, task, used, members, CPU, recipe, choose))


def compare(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert (one.steps, one.stage, one.strings) == (other.steps, other.stage, other.strings)
        assert one.best.step == other.best.step
        for mine, his in zip(one.network.parameters(), other.network.parameters(), strict=True):
            torch.testing.assert_close(mine, his, rtol=0, atol=1e-9)


@pytest.mark.parametrize("program", [OneByOne, Together])
@pytest.mark.parametrize("name", TASKS)
def test_padded_is_one_length_at_a_time(host, name, program):
    padded, apart = (
        train(host, name, protocol(), MEMBERS, padding=padding, program=program)
        for padding in (True, False)
    )
    compare(padded, apart)
    assert padded[0].strings == 144
    assert padded[0].stage > 2


@pytest.mark.slow
@pytest.mark.parametrize("padding", [True, False])
def test_a_run_alone_has_the_numbers_it_has_in_a_cohort(host, padding):
    together = train(host, "parity:tag", protocol(), MEMBERS, padding=padding, program=Together)
    for member, one in zip(MEMBERS, together, strict=True):
        alone = train(host, "parity:tag", protocol(), [member], padding=padding, program=OneByOne)
        compare([one], alone)


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"curriculum": {"kind": "generated"}}, {"accumulate": 3}])
def test_with_lengths_as_they_are_generated_and_with_accumulated_batches(host, change):
    padded, apart = (
        train(
            host, "dyck-2-3:generate", protocol(**change), MEMBERS[:2], padding=p, program=Together
        )
        for p in (True, False)
    )
    compare(padded, apart)


class Squeeze(Transduction):
    """The string without its b's, whose length is unknown."""

    alphabet = ("a", "b", "c")
    outputs = ("a", "c")

    def sample(self, stream, length, count):
        return stream.integers(3, (count, length))

    def transduce(self, strings_BN):
        kept = strings_BN != 1
        order = np.argsort(~kept, axis=1, kind="stable")
        answers = np.take_along_axis(strings_BN // 2, order, axis=1)
        lengths_B = kept.sum(axis=1)
        inside = np.arange(strings_BN.shape[1]) < lengths_B[:, None]
        return np.where(inside, answers, 0), lengths_B

    def oracle(self, string):
        return [symbol // 2 for symbol in string if symbol != 1]


class Pair(nn.Module):
    """An encoder-decoder of sums: of the symbols, and of the answers so far."""

    def __init__(self, task, padding):
        super().__init__()
        self.encode = nn.Embedding(len(task.alphabet), 4)
        self.decode = nn.Embedding(task.outputs, 4)
        self.read = nn.Linear(4, task.outputs)
        self.traits = Traits(encoder_decoder=True, padding=padding)

    def forward(self, batch):
        x_BND = self.encode(batch.symbols)
        if batch.lengths is not None:
            at_N = torch.arange(batch.symbols.shape[1])
            x_BND = x_BND * (at_N < batch.lengths[:, None]).unsqueeze(-1)
        said_BMD = self.decode(batch.decoded).cumsum(1)
        states_BMD = torch.cat((torch.zeros_like(x_BND.sum(1, keepdim=True)), said_BMD), 1)
        return self.read(torch.tanh(states_BMD + x_BND.sum(1, keepdim=True)))


@pytest.mark.parametrize("mixed", [True, False])
def test_answers_that_are_decoded(host, mixed):
    task = Task("squeeze", 1, Squeeze(), host.objective("decode"), Splits((1, 7), (8, 9)))
    used = protocol(mixed_lengths=mixed)

    def make(padding, program, members=MEMBERS):
        build = lambda: Pair(task, padding).double()  # noqa: E731
        return train_networks(host, task, build, used, members, program)

    together = make(True, Together)
    compare(make(False, Together), together)
    compare(make(True, OneByOne), together)
    for member, one in zip(MEMBERS, together, strict=True):
        compare(make(True, OneByOne, [member]), [one])


def interval(used, first=0, steps=4):
    (*_, whole) = InterleavedStages().stages(used, range(2, 9, 2))
    batches = range(first * used.accumulate, (first + steps) * used.accumulate)
    mixes = tuple(draw_mix(used, whole, batch) for batch in batches)
    return Interval(first, mixes, whole[-1], (0, 1))


@pytest.mark.parametrize("name", ["dyck-2-3:classify", "dyck-2-3:tag", "dyck-2-3:generate"])
@pytest.mark.parametrize("batches", [1, 2])
def test_the_strings_are_the_same_and_shapes_do_not_change(host, name, batches):
    task, used = host.task(name), protocol(accumulate=batches)
    asked = interval(used)
    padded = TrainingData(task, used, CPU, padded=True).take(asked)
    apart = TrainingData(task, used, CPU).take(asked)
    assert {share.example.inputs.shape for step in padded for share in step} == {(2, 12, 8)}
    assert {share.example.targets.shape for step in padded for share in step} == {
        (2, 12, *padded[0][0].example.targets.shape[2:])
    }
    for whole, parts in zip(padded, apart, strict=True):
        assert len(whole) == batches
        assert sum(part.example.inputs.shape[1] for part in parts) == 12 * batches
        for seed in (0, 1):
            mine = strings(task, [share.example.map(itemgetter(seed)) for share in whole])
            theirs = strings(task, [part.example.map(itemgetter(seed)) for part in parts])
            assert mine == theirs
        weights_U = sum(part.weight for part in parts)
        torch.testing.assert_close(weights_U, torch.ones(2, dtype=torch.float64))
    assert asked.strings == 48 * batches


def strings(task, examples):
    parts = [part for example in examples for part in split(example, task.layout)]
    return sorted(row for part in parts for row in part.inputs.tolist())


class Scripted(OneByOne):
    """Says what a script says, and hears of the noise."""

    def __init__(self, network, said):
        self.layout, self.said, self.noise = Layout.of(network), list(said), []

    def select(self, runs):
        return None

    def gradients(self, selected, flat_RP, example, noise):
        self.noise.append(list(noise))
        return self.said.pop(0)


def test_shares_are_averaged_and_those_without_an_answer_left_out(host):
    nan = torch.nan
    program = Scripted(
        torch.nn.Linear(1, 1, bias=False),
        [
            Gradients(torch.tensor([[1.0], [nan]]), torch.tensor([2.0, nan]), torch.tensor([1, 0])),
            Gradients(torch.tensor([[5.0], [3.0]]), torch.tensor([4.0, 1.0]), torch.tensor([2, 3])),
        ],
    )
    recipe = make_recipe(host, protocol())
    rows = Rows.start(torch.zeros(2, 1), recipe.optimiser)
    group = Group((0, 1), program, rows, make_update(recipe.optimiser, None, torch.nn.Linear(1, 1)))
    empty = Example(torch.zeros(2, 1, 1), None)
    shares = [Share(empty, torch.tensor(w)) for w in ([0.25, 0.0], [0.75, 1.0])]
    found = group.gradients(shares, [7, 8])
    assert found.gradients.tolist() == [[4.0], [3.0]]
    assert found.losses.tolist() == [3.5, 1.0]
    assert found.wrong.tolist() == [3, 3]
    assert program.noise[0] == [7, 8]
    assert len({seed for seeds in program.noise for seed in seeds}) == 4


def test_answers_of_different_numbers_weigh_by_what_is_scored(host):
    task, used = host.task("parity:tag"), protocol(batch=3)
    data = TrainingData(task, used, CPU)
    ((one, two),) = data.take(Interval(0, (((2, 1), (7, 2)),), 7, (0,)))
    assert np.allclose([one.weight.item(), two.weight.item()], [2 / 16, 14 / 16])
