"""Samplers and penalties of plugins: what they change of a training, and what is refused."""

import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Traits
from formalbench.contracts.training import Penalty, Sampler, WeightedPenalty
from formalbench.training import trainer
from formalbench.training.gradients import AdaptiveGradients, BatchedGradients, SequentialGradients
from formalbench.training.run_state import Member
from formalbench.training.trainer import resolve_protocol, train_cohort
from small_training import Sum, cohort, protocol
from torch import nn


class Seen(Sum):
    """It can be looked into."""

    traits = Traits()

    def trace(self, batch):
        return {"state": self.embed(batch.symbols).sum(1).tanh()}


ONE = (Member(0.01, 0),)


@pytest.fixture
def train(host):
    """Train runs on FIRST in fp64, with parts in the place of the protocol's."""
    task = host.task("first")

    def run(used, members=ONE, program=SequentialGradients, **parts):
        return train_cohort(
            cohort(host, task, used, members, lambda: Seen(task).double(), program, **parts)
        )

    return run


def parameters(trained):
    return torch.cat([p.detach().flatten() for p in trained.network.parameters()])


@pytest.fixture
def trained_on(monkeypatch):
    """Hear of the lengths of every batch, by seed."""
    heard = []
    real = trainer.TrainingData.take

    def hear(self, interval):
        heard.extend((interval.seeds, length) for length, _ in interval.batches)
        return real(self, interval)

    monkeypatch.setattr(trainer.TrainingData, "take", hear)
    return heard


UNIFORM = protocol(curriculum={"kind": "uniform"})


class Rising(Sampler):
    """One length more every third batch, independent of learning; only strings of ones."""

    def lengths(self, protocol, stage, batch, stream, count, weights):
        return np.full(count, stage[min(batch // 3, len(stage) - 1)])

    def strings(self, task, protocol, seed, batch, length, count):
        stream = task.stream("ones", seed, batch, length)
        return task.objective.examples(task.source, np.ones((count, length), np.int64), stream)


class LongFirst(Sampler):
    def weights(self, task, protocol, lengths):
        return np.array(lengths, dtype=float) ** 3


def test_a_sampler_says_which_lengths_and_strings_come_next(train, trained_on):
    (done,) = train(UNIFORM, sampler=Rising())
    assert [length for _, length in trained_on] == [1 + step // 3 for step in range(40)]
    # 0 was never read.
    fresh = parameters(train(protocol(steps=20, decay={"steps": 20}), sampler=Rising())[0])
    assert torch.equal(parameters(done)[:8], fresh[:8])
    assert not torch.equal(parameters(done)[8:16], fresh[8:16])


def test_runs_of_a_seed_share_a_samplers_strings(train, trained_on):
    members = [Member(0.01, 0), Member(0.001, 0), Member(0.01, 1)]
    together = train(UNIFORM, members, BatchedGradients, sampler=LongFirst())
    drawn = [length for _, length in trained_on]
    assert 29 < np.mean(drawn) < 35  # 32.2 expected, 20.5 where all are alike
    for member, one in zip(members, together, strict=True):
        (alone,) = train(UNIFORM, [member], sampler=LongFirst())
        torch.testing.assert_close(parameters(one), parameters(alone), rtol=0, atol=1e-9)


class Elsewhere(Sampler):
    def lengths(self, protocol, stage, batch, stream, count, weights):
        return np.full(count, 41)


class Endless(Sampler):
    def stages(self, protocol, lengths):
        return [[1], [2]]


class Longer(Sampler):
    def stages(self, protocol, lengths):
        return [[*lengths, 500], list(lengths)]


class Backwards(Sampler):
    def weights(self, task, protocol, lengths):
        return -np.array(lengths, dtype=float)


class NoNumber(Sampler):
    def weights(self, task, protocol, lengths):
        return np.full(len(lengths), np.nan)


class TooMany(Sampler):
    def weights(self, task, protocol, lengths):
        return np.ones(501)


class Few(Sampler):
    def strings(self, task, protocol, seed, batch, length, count):
        return super().strings(task, protocol, seed, batch, length, count - 1)


@pytest.mark.parametrize(
    ("sampler", "reason"),
    [
        (Elsewhere, "Elsewhere.lengths gave .41. for batch 0: expected 1 of the lengths 1 to 40"),
        (Endless, "Endless.stages: the last stage must contain all training lengths"),
        (Longer, "Longer.stages: .* are not some training lengths, in order"),
        (Backwards, "Backwards.weights: all must be finite and at least 0"),
        (NoNumber, "NoNumber.weights: all must be finite"),
        (TooMany, r"TooMany.weights: shape \(501,\), not one for each of 40 lengths"),
        (Few, "Few.strings gave 7 strings: expected 8"),
    ],
)
def test_a_sampler_cannot_leave_the_training_split(train, sampler, reason):
    with pytest.raises(ValueError, match=reason):
        train(UNIFORM, sampler=sampler())


class Sizes(Penalty):
    """The squares of a state, and of the logits."""

    traced = True

    def term(self, logits, trace, parameters):
        return trace["state"].square().mean() + logits.square().mean()


def penalised(*parts):
    return {"penalties": [WeightedPenalty(type(one).__name__, 0.3, one) for one in parts]}


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(
    "program", [BatchedGradients, lambda *two: AdaptiveGradients(*two, least=2)]
)
def test_a_cohort_under_penalties_is_its_runs_alone(train, host, accumulate, program):
    used = UNIFORM.model_copy(update={"accumulate": accumulate})
    members = [Member(0.01, 0), Member(0.001, 0), Member(0.01, 1)]
    (l1,) = resolve_protocol(host, protocol(penalties={"l1": 0.02})).penalties
    both = {"penalties": [l1, *penalised(Sizes())["penalties"]]}
    (plain,) = train(used, members[:1])
    for member, one in zip(members, train(used, members, program, **both), strict=True):
        (alone,) = train(used, [member], **both)
        torch.testing.assert_close(parameters(one), parameters(alone), rtol=0, atol=1e-9)
        assert not torch.allclose(parameters(alone), parameters(plain), atol=1e-3)


def test_a_step_with_penalties_is_that_of_autograd(host):
    """Gradients of all that a penalty can see, by the same formula in plain torch."""
    task = host.task("first")
    torch.manual_seed(0)
    network = Seen(task).double()
    example = task.sample(task.stream("train", "penalty"), 5, 8).map(torch.from_numpy)
    for program in (SequentialGradients([network], task), BatchedGradients([network], task)):
        (l1,) = resolve_protocol(host, protocol(penalties={"l1": 0.02})).penalties
        program.penalties = [l1, *penalised(Sizes())["penalties"]]
        flat = program.layout.stack([network])
        stacked = example.map(lambda part: part[None].long())
        found = program.gradients(program.select([0]), flat, stacked, [0])
        batch = example.map(lambda part: part.long()).batch
        logits, state = network(batch), network.trace(batch)["state"]
        loss = nn.functional.cross_entropy(logits, example.targets.long())
        loss = loss + 0.02 * sum(p.abs().sum() for p in network.parameters())
        loss = loss + 0.3 * (state.square().mean() + logits.square().mean())
        expected = torch.autograd.grad(loss, list(network.parameters()))
        torch.testing.assert_close(found.losses[0], loss.detach())
        torch.testing.assert_close(
            found.gradients[0], torch.cat([part.flatten() for part in expected])
        )


class Exploding(Penalty):
    def __init__(self):
        self.calls = 0

    def term(self, logits, trace, parameters):
        self.calls += 1
        return logits.mean() * (math.inf if self.calls > 15 else 0.0)


def test_a_penalty_that_is_not_finite_makes_a_diverged_run(train):
    used = protocol(penalties={"l1": 1.0})
    (done,) = train(used, **penalised(Exploding()))
    assert (done.status, done.steps, done.ended) == ("diverged", 20, "stopped")
    assert done.message == "the loss with its penalties is not finite"


PLUGIN = """
import numpy as np
from formalbench import Config, Penalty, PenaltySpec, Sampler, SamplerSpec, hookimpl, option

class Powers(Config):
    power: float = option(1.0, "how much more often longer strings are drawn", minimum=0.0)

class LongFirst(Sampler):
    def weights(self, task, protocol, lengths):
        return np.array(lengths, dtype=float) ** self.config.power

class Seen(Penalty):
    traced = True
    def term(self, logits, trace, parameters):
        return sum(tensor.square().mean() for tensor in trace.values())

@hookimpl
def formalbench_samplers():
    yield SamplerSpec("long-first", "longer strings more often", LongFirst, Powers)

@hookimpl
def formalbench_penalties():
    yield PenaltySpec("seen", "squares of all states", Seen)
"""


@pytest.fixture
def run(run, write):
    def call(*arguments, **options):
        sets = [word for text in arguments for word in ("--set", f"protocol.{text}")]
        plugins = [write("long_first.py", PLUGIN)]
        return run("--json", *sets, plugins=plugins, seeds=1, **options)

    return call


def test_a_protocol_names_samplers_and_penalties(run):
    (plain,), (long,), (sure,) = (
        run(*words).data
        for words in ((), ("curriculum.kind=long-first", "curriculum.power=2"), ("penalties.l1=1",))
    )
    assert "penalties" not in plain["protocol"]
    assert set(plain["protocol"]["curriculum"]) == {"kind", "first", "growth", "error"}
    assert plain.get("code") is None
    assert long["protocol"]["curriculum"]["power"] == 2.0
    assert [*long["code"]] == ["sampler"]
    assert sure["protocol"]["penalties"] == {"l1": 1.0}
    assert sure["protocol"]["changed"] == {"penalties.l1": 1.0}
    assert len({record["train_id"] for record in (plain, long, sure)}) == 3
    losses = [record["selected"]["metrics"]["cross-entropy"] for record in (plain, long, sure)]
    assert len({str(loss) for loss in losses}) == 3
    (seen,) = run("penalties.seen=0.1", "penalties.l1=0.1", model="rnn[width=8]").data
    assert [*seen["code"]] == ["penalty seen"]
    assert seen["protocol"]["penalties"] == {"seen": 0.1, "l1": 0.1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("curriculum.kind=stagd", "unknown sampler 'stagd': did you mean staged?"),
        ("curriculum.power=2", "unknown option of"),
        ("penalties.l2=1", "unknown penalty 'l2': did you mean l1?"),
        ("penalties.l1=0", "penalties.l1=0: must be greater than 0"),
        ("penalties.l1=x", "penalties.l1=x: must be a number"),
        ("penalties.seen=1", "penalty seen looks into a network: bag has no trace"),
    ],
)
def test_what_cannot_be_is_one_line(run, text, reason):
    done = run(text)
    assert (done.code, done.out) == (2, "")
    assert reason in done.err
    assert done.err.count("\n") == 1


def test_the_listings_have_them_all(cli, write):
    file = write("long_first.py", PLUGIN)
    for kind, names in (
        ("samplers", ["generated", "interleaved", "long-first", "staged", "uniform"]),
        ("penalties", ["l1", "seen"]),
        ("optimisers", ["adam", "adamw", "lion", "muon", "sgd"]),
    ):
        rows = cli("list", kind, "--json", "--plugin", file).data
        assert [row["name"] for row in rows] == names
    assert "power" in cli("list", "samplers", "--plugin", file).out
    done = cli("check", file)
    assert done.code == 0, done.out
    assert "sampler long-first" in cli("check", file, "--json").out


def test_a_protocol_has_the_penalties_of_the_one_it_extends(host, write):
    write("base.yaml", "extends: quick\nname: base\nversion: 1\npenalties: {l1: 0.1}\n")
    file = write("mine.yaml", "extends: base\nname: mine\nversion: 1\nsteps: 1000\n")
    for path in (file.parent / "base.yaml", file):
        host.load_local(type(host).load([path]).plugins[-1].local)
    assert host.protocol("mine").penalties == {"l1": 0.1}
    assert host.protocol("mine", {"penalties": "none"}).penalties is None
