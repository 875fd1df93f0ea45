"""Training: the schedule, the selection, and that a run can be had again bit by bit."""

import math

import pytest
import torch
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.evaluate import CellScore
from formalbench.training import trainer
from formalbench.training.control import Checkpoint, Member
from formalbench.training.flat import Layout
from formalbench.training.optimiser import (
    _ONE_PASS,
    State,
    adam,
    adam_in_one_pass,
    adam_plainly,
    clip,
)
from formalbench.training.programs import OneByOne, Together
from formalbench.training.step import schedule
from formalbench.training.trainer import Cohort, train_cohort
from torch import nn

CPU = torch.device("cpu")


def protocol(**change):
    return Protocol.model_validate(
        {
            "name": "tiny",
            "version": 1,
            "steps": 40,
            "batch": 8,
            "evaluate_every": 10,
            "decay": {"steps": 20, "final": 0.1},
            "validation": {"every": 10, "lengths": 3, "strings": 8},
            "test": {"lengths": 3, "strings": 8},
            **change,
        }
    )


class Sum(nn.Module):
    """Reads the sum of embeddings: small, quick, and it can learn something."""

    def __init__(self, task):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), 8)
        self.read = nn.Linear(8, task.outputs)

    def forward(self, batch):
        return self.read(self.embed(batch.symbols).sum(1).tanh())


class Knowing(nn.Module):
    """Knows FIRST from the start; the parameter is for the optimiser's sake."""

    def __init__(self, task):
        super().__init__()
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def forward(self, batch):
        logit = self.sharpness * (2.0 * batch.symbols[:, 0] - 1.0)
        return torch.stack((-logit, logit), dim=1)


class Failing(Knowing):
    """Gives NaN from a step on."""

    def forward(self, batch):
        self.calls = getattr(self, "calls", 0) + self.training
        return super().forward(batch) * (float("nan") if self.calls > 15 else 1.0)


@pytest.fixture
def task(host):
    return host.task("first")


def train(task, used, *members, network=Sum):
    members = members or (Member(0.01, 0),)
    return train_cohort(Cohort(lambda: network(task), task, used, members, CPU))


@pytest.fixture
def rates(monkeypatch):
    """Hear of the learning rate of every optimiser step of a single run."""
    heard = []

    def hear(rates, first, options, like):
        assert first == len(heard)
        heard.extend(rate for (rate,) in rates)
        return schedule(rates, first, options, like)

    monkeypatch.setattr(trainer, "schedule", hear)
    return heard


def test_the_rate_falls_linearly_to_its_final_share(task, rates):
    (done,) = train(task, protocol(decay={"steps": 20, "final": 0.1, "mastered": 0.0}))
    assert rates[:20] == pytest.approx([0.01] * 20)
    falling = [0.01 * (1 - 0.9 * share / 20) for share in range(1, 21)]
    assert rates[20:] == pytest.approx(falling)
    assert rates[-1] == pytest.approx(0.01 * 0.1)
    assert (done.ended, done.steps, done.strings, done.status) == ("budget", 40, 320, "finished")


def test_a_decay_over_the_whole_budget(task, rates):
    train(task, protocol(decay={"steps": 40, "final": 0.0, "mastered": 0.0}))
    assert rates == pytest.approx([0.01 * (1 - step / 40) for step in range(1, 41)], abs=1e-8)


def test_mastery_begins_the_decay_early(task, rates):
    heard = []
    used = protocol(steps=400, decay={"steps": 20, "final": 0.5})
    (done,) = train(task, used, Member(0.001, 0, heard.append), network=Knowing)
    # one stage per evaluation, then the decay
    assert [p.stage for p in heard] == [2, 4, 7, 11, 17, 26, 40, 40, 40]
    assert [p.step for p in heard] == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert (done.ended, done.steps, done.stage) == ("mastered", 90, 40)
    assert rates[:70] == pytest.approx([0.001] * 70)
    assert rates[-1] == pytest.approx(0.0005)
    assert done.best.correct == done.best.strings == 24


def test_a_run_that_masters_nothing_stays_and_decays_on_everything(task):
    heard = []
    used = protocol(curriculum={"error": 0.0}, decay={"steps": 20, "mastered": 0.0})

    class Stuck(Knowing):
        def forward(self, batch):
            return -super().forward(batch)

    (done,) = train(task, used, Member(1e-9, 0, heard.append), network=Stuck)
    assert [p.stage for p in heard] == [2, 2, 40, 40]
    assert [p.error for p in heard] == [1.0] * 4
    assert (done.stage, done.ended) == (2, "budget")


def test_nothing_is_selected_on_test_data(task, monkeypatch):
    keys = []
    real = Task.stream

    def watching(self, *key):
        assert key[0] != "test"
        keys.append(key[0])
        return real(self, *key)

    def refuse(*arguments):
        raise AssertionError("the test set was drawn during training")

    monkeypatch.setattr(Task, "stream", watching)
    monkeypatch.setattr("formalbench.evaluation.cells.test_set", refuse)
    (done,) = train(task, protocol())
    assert done.status == "finished"
    assert set(keys) == {"train", "validation"}


def test_the_selected_weights_are_those_of_the_best_validation(task, monkeypatch):
    script = [(5, 0.9), (9, 0.5), (9, 0.4), (7, 0.1)]
    weights = []

    def scripted(network, objective, cells, device, precision):
        correct, bits = script[len(weights)]
        weights.append({k: v.clone() for k, v in network.state_dict().items()})
        return [CellScore(1, 10, correct, bits)]

    monkeypatch.setattr(trainer, "evaluate", scripted)
    (done,) = train(task, protocol(decay={"steps": 20, "mastered": 0.0}))
    assert (done.best.step, done.best.correct, done.best.bits) == (30, 9, 0.4)
    for name, value in done.network.state_dict().items():
        assert torch.equal(value, weights[2][name])
    assert not all(torch.equal(weights[2][name], weights[3][name]) for name in weights[0])


@pytest.mark.parametrize(
    ("new", "old", "better"),
    [
        ((5, 0.9), None, True),
        ((6, 0.9), (5, 0.1), True),
        ((5, 0.1), (6, 0.9), False),
        ((5, 0.1), (5, 0.2), True),
        ((5, 0.2), (5, 0.2), False),  # of equals the earlier one stays
    ],
)
def test_more_right_answers_then_less_cross_entropy(new, old, better):
    made = [
        None if s is None else Checkpoint(1, s[0], 10, s[1], torch.zeros(0)) for s in (new, old)
    ]
    assert made[0].better_than(made[1]) is better


def same(one, other):
    ours, theirs = one.network.state_dict(), other.network.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_run_again_is_the_same_bit_by_bit(task):
    torch.manual_seed(1)
    (one,) = train(task, protocol())
    torch.manual_seed(2)
    (again,) = train(task, protocol())
    assert same(one, again)
    assert one.best.bits == again.best.bits
    (other,) = train(task, protocol(), Member(0.01, 1))
    assert not same(one, other)


def test_the_callers_random_state_is_left_alone(task):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    train(task, protocol())
    assert torch.equal(torch.rand(3), expected)


MEMBERS = [Member(0.05, 0), Member(0.05, 1), Member(1e-5, 0), Member(1e-5, 1)]


def close(one, other):
    ours, theirs = one.network.state_dict(), other.network.state_dict()
    return all(torch.allclose(ours[name], theirs[name], atol=1e-9) for name in ours)


@pytest.mark.parametrize("program", [OneByOne, Together])
def test_a_cohort_equals_its_runs_alone(task, program):
    """In double precision: Adam divides by tiny gradients, which blows rounding up."""

    def build():
        return Sum(task).double()

    def choose(networks, objective, device):
        return program(networks, objective)

    used = protocol(steps=60, curriculum={"first": 2, "error": 0.3})
    together = train_cohort(Cohort(build, task, used, MEMBERS, CPU, choose))
    stages = set()
    for member, one in zip(MEMBERS, together, strict=True):
        (alone,) = train_cohort(Cohort(build, task, used, [member], CPU))
        assert close(one, alone)
        assert (one.steps, one.stage, one.ended) == (alone.steps, alone.stage, alone.ended)
        assert one.best.bits == pytest.approx(alone.best.bits, abs=1e-9)
        stages.add((one.stage, one.steps))
    assert len(stages) > 1  # the cohort did split


@pytest.mark.parametrize("program", [OneByOne, Together])
def test_one_run_that_diverges_leaves_the_others_alone(task, program):
    def choose(networks, objective, device):
        return program(networks, objective)

    def build():
        return Sum(task).double()

    # A rate so large that the parameters overflow, beside one that trains.
    members = [Member(1e300, 0), Member(0.01, 1)]
    bad, good = train_cohort(Cohort(build, task, protocol(), members, CPU, choose))
    (alone,) = train_cohort(Cohort(build, task, protocol(), members[1:], CPU))
    assert bad.status == "diverged"
    assert good.status == "finished"
    assert close(good, alone)


def test_dropout_does_not_depend_on_the_cohort(task):
    class Noisy(Sum):
        vmappable = False

        def forward(self, batch):
            hidden = nn.functional.dropout(self.embed(batch.symbols).sum(1), 0.5, self.training)
            return self.read(hidden)

    together = train(task, protocol(), *MEMBERS, network=Noisy)
    for member, one in zip(MEMBERS, together, strict=True):
        (alone,) = train(task, protocol(), member, network=Noisy)
        assert same(one, alone)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("largest", [None, 0.1])
@pytest.mark.parametrize("take", [adam, adam_plainly])
def test_adam_is_the_librarys(weight_decay, largest, take):
    torch.manual_seed(0)
    networks = [nn.Linear(3, 2).double() for _ in range(2)]
    layout = Layout.of(networks[0])
    state = State.start(layout.stack(networks))
    options = protocol(optimiser={"weight_decay": weight_decay, "gradient_clip": largest}).optimiser
    rates = [0.1, 0.003]
    theirs = [
        torch.optim.Adam(network.parameters(), lr=rate, weight_decay=weight_decay)
        for network, rate in zip(networks, rates, strict=True)
    ]
    for step in range(5):
        gradient = torch.randn(state.parameters.shape, dtype=torch.float64)
        for row, (network, optimiser) in enumerate(zip(networks, theirs, strict=True)):
            views = layout.views(gradient[row : row + 1])
            for name, parameter in network.named_parameters():
                parameter.grad = views[name][0].clone()
            if largest is not None:
                nn.utils.clip_grad_norm_(network.parameters(), largest)
            optimiser.step()
        rates_TR1, scales_T = schedule([rates], step, options, gradient)
        take(state, gradient, rates_TR1[0], scales_T[0], options)
        assert torch.allclose(state.parameters, layout.stack(networks), atol=1e-12)


@pytest.mark.parametrize("size", [_ONE_PASS - 1, _ONE_PASS])
@pytest.mark.parametrize("largest", [None, 1.0])
@pytest.mark.parametrize("worst", [1.0, math.inf, math.nan])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_in_one_pass_is_the_plain_one(size, largest, worst, weight_decay):
    torch.manual_seed(0)
    parameters, gradient = torch.randn(2, size), torch.randn(2, size)
    gradient[1, 3] = worst
    options = protocol(optimiser={"gradient_clip": largest, "weight_decay": weight_decay}).optimiser
    plain, fast, chosen = (State.start(parameters.clone()) for _ in range(3))
    for step in range(3):
        (rate,), (scale,) = schedule([[0.1, 0.003]], step, options, gradient)
        adam_plainly(plain, gradient.clone(), rate, scale, options)
        adam_in_one_pass(fast, gradient.clone(), rate, scale, options)
        adam(chosen, gradient.clone(), rate, scale, options)
    for one, other in zip(plain, fast, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7, equal_nan=True)
    expected = fast if size == _ONE_PASS else plain
    for one, other in zip(chosen, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_a_gradient_is_clipped_run_by_run():
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    expected = torch.tensor([[0.6, 0.8], [0.3, 0.4]])
    assert torch.allclose(clip(gradient, 1.0), expected, atol=1e-5)


def test_training_learns(task):
    used = protocol(steps=300, curriculum={"first": 1, "growth": 1.0}, batch=32)
    (done,) = train(task, used, Member(0.01, 0))
    assert done.best.bits < 1.0


def test_a_loss_that_is_no_number_is_a_divergence(task):
    heard = []
    (done,) = train(task, protocol(), Member(0.01, 0, heard.append), network=Failing)
    assert done.status == "diverged"
    assert [p.step for p in heard] == [10]  # told by the evaluation after it happened
    assert done.steps == 20
    assert done.best.step == 10
    assert not math.isnan(done.best.bits)


def test_a_time_limit_ends_a_run_at_an_evaluation(task):
    (done,) = train(task, protocol(time_limit=1e-9))
    assert (done.status, done.ended, done.steps) == ("timeout", "stopped", 10)
    (done,) = train(task, protocol(time_limit=1e9))
    assert (done.status, done.steps) == ("finished", 40)


def test_dropout_is_on_in_training_and_off_in_validation(task):
    modes = []

    class Watching(Sum):
        def forward(self, batch):
            modes.append(self.training)
            return super().forward(batch)

    train(task, protocol(), network=Watching)
    # 40 steps, and 3 validation cells after every 10
    assert modes == ([True] * 10 + [False] * 3) * 4
