"""How strings are judged: padded as if alone, and by what the objective says of an answer."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Traits, pad
from formalbench.contracts.objective import Metric, Objective
from formalbench.host import PluginHost
from formalbench.verification.judge import Judge, Tally
from torch import nn

HOST = PluginHost.load()
NAMES = ["parity", "parity:tag", "tomita-3:next-symbols", "dyck-2-2:generate"]


class Sum(nn.Module):
    """Reads the sum of the embeddings up to each symbol."""

    traits = Traits(padding=True)

    def __init__(self, task, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layout = task.layout
        self.embed = nn.Embedding(len(task.alphabet), 8)
        self.read = nn.Linear(8, task.outputs)
        self.double()

    def forward(self, batch):
        x_BND = self.embed(batch.symbols)
        x_BPD = torch.cat((torch.zeros_like(x_BND[:, :1]), x_BND), 1).cumsum(1)
        logits_BPK = self.read(x_BPD)
        if self.layout == "last":
            ends_B = batch.lengths
            if ends_B is None:
                return logits_BPK[:, -1]
            return logits_BPK[torch.arange(len(ends_B)), ends_B]
        return logits_BPK[:, 1:] if self.layout == "each" else logits_BPK


class Silent(Sum):
    """Gives no number for what stands behind the end of a string, nor after `lost` symbols."""

    lost = None

    def forward(self, batch):
        logits = super().forward(batch).clone()
        past_BN = torch.arange(logits.shape[1]) >= batch.lengths[:, None]
        logits[past_BN] = torch.nan
        if self.lost is not None:
            logits[:, self.lost] = torch.nan
        return logits


def judge_of(task, network):
    return Judge(network.eval(), task, torch.device("cpu"))


def examples_of(task, lengths=(2, 7, 4, 9), count=6):
    return [
        task.sample(task.stream("judged", length), length, count)
        for length in lengths
        if task.lengths(length, length)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_padded_strings_are_judged_as_if_alone(name):
    task = HOST.task(name)
    examples = examples_of(task)
    assert len(examples) > 1
    together, alone = Tally(), Tally()
    padded = judge_of(task, Sum(task))
    padded.add(pad(examples, task.layout), together)
    single = judge_of(task, Sum(task))
    for example in examples:
        single.add(example, alone)
    assert alone.strings == 6 * len(examples)
    assert alone.errors > 0
    assert dataclasses.astuple(together) == pytest.approx(dataclasses.astuple(alone), rel=1e-9)
    one, other = padded.first_failure, single.first_failure
    assert (one.string, one.expected) == (other.string, other.expected)
    assert one.logit == pytest.approx(other.logit, rel=1e-9)


def test_what_is_answered_behind_the_end_of_a_string_is_no_error():
    task = HOST.task("parity:tag")
    example = pad(examples_of(task), task.layout)
    fine, tally = Tally(), Tally()
    judge_of(task, Sum(task)).add(example, fine)
    network = Silent(task)
    judge_of(task, network).add(example, tally)
    assert dataclasses.astuple(tally) == dataclasses.astuple(fine)
    network.lost = 1
    lost = Tally()
    judge_of(task, network).add(example, lost)
    assert (lost.strings, lost.errors, lost.finite) == (fine.strings, fine.strings, 0)


class Unpadded(Sum):
    """Takes strings of one length only."""

    traits = Traits()

    def forward(self, batch):
        assert batch.lengths is None
        return super().forward(batch)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_that_takes_no_padding_is_given_none(name):
    task = HOST.task(name)
    examples = examples_of(task, (7, 2, 4))
    together, alone = Tally(), Tally()
    judge_of(task, Unpadded(task)).add(pad(examples, task.layout), together)
    for example in examples:
        judge_of(task, Unpadded(task)).add(example, alone)
    assert dataclasses.astuple(together) == pytest.approx(dataclasses.astuple(alone), rel=1e-12)


class LeavesOut(nn.Module):
    """Leaves the 0s out of a string of 0, 1 and 2, but for the one that is `spoiled`."""

    traits = Traits(encoder_decoder=True)

    def __init__(self, spoiled):
        super().__init__()
        self.spoiled = spoiled

    def forward(self, batch):
        count, steps = len(batch.symbols), batch.decoded.shape[1] + 1
        answers = torch.full((count, steps), 2)
        for answer, string in zip(answers, batch.symbols.tolist(), strict=True):
            kept = [symbol - 1 for symbol in string if symbol]
            if string == self.spoiled:
                kept[-1] = 1 - kept[-1]
            answer[: len(kept)] = torch.tensor(kept)
        return 5.0 * nn.functional.one_hot(answers, 3)


@pytest.mark.parametrize("spoiled", [None, [2, 0, 1, 0]])
def test_answers_said_step_by_step(backwards, spoiled):
    task = PluginHost.load([backwards]).task("without-zeros")
    strings = np.array([[0, 0, 0, 0], [1, 2, 1, 1], [2, 0, 1, 0]])
    tally = Tally()
    judge = judge_of(task, LeavesOut(spoiled))
    judge.add(task.examples(strings), tally, strings)
    assert (tally.strings, tally.errors) == (3, int(spoiled is not None))
    assert tally.min_margin == 5.0
    if spoiled:
        failure = judge.first_failure
        assert (failure.string, failure.expected, failure.logit) == ("2010", "2 1", -5.0)


def altered(task, **methods):
    """Return a task whose objective differs in these methods."""
    kind = type(task.objective)
    changed = type("Altered", (kind,), methods)
    objective = changed.__new__(changed)
    objective.__dict__.update(task.objective.__dict__)
    return dataclasses.replace(task, objective=objective)


def tally_of(task):
    tally = Tally()
    judge = judge_of(task, Sum(task))
    for example in examples_of(task):
        judge.add(example, tally)
    return tally, judge


def test_a_string_that_is_right_in_part_is_wrong():
    task = HOST.task("parity:tag")

    def share(self, logits, example, primary):
        right = torch.ones(len(logits), dtype=torch.float64)
        right[0] = 1 - 1e-6
        return right

    tally, _ = tally_of(altered(task, right=share))
    assert tally.errors == len(examples_of(task))


def test_an_objective_need_not_know_a_margin():
    task = HOST.task("parity")
    plain, _ = tally_of(task)
    tally, judge = tally_of(
        altered(task, margin=Objective.margin, decisive_logit=Objective.decisive_logit)
    )
    assert math.isfinite(plain.min_margin)
    assert tally == dataclasses.replace(plain, min_margin=math.inf)
    assert judge.first_failure is not None
    assert judge.first_failure.logit is None


class OwnBits(Metric):
    """Cross-entropy, written otherwise."""

    name = "cross-entropy"

    def measure(self, logits, example):
        chosen = logits.gather(1, example.targets[:, None])[:, 0]
        bits = (logits.logsumexp(1) - chosen) / math.log(2)
        return torch.stack((bits.sum(), torch.ones_like(bits).sum()))


def test_a_cross_entropy_of_one_s_own_is_taken_string_by_string():
    task = HOST.task("parity")
    primary = task.primary
    own = altered(task, metrics=lambda self, source: (primary, OwnBits()))
    (tally, _), (plain, _) = tally_of(own), tally_of(task)
    assert tally.max_bits > plain.sum_bits / plain.strings
    assert dataclasses.astuple(tally) == pytest.approx(dataclasses.astuple(plain), rel=1e-12)
