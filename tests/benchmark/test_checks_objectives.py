"""The checks of objectives: defects in how answers are judged are found."""

import dataclasses

import numpy as np
import pytest
import torch
from formalbench.checks.plugins import keep
from formalbench.checks.tasks import task_promises
from formalbench.contracts.network import Example, pad, split
from formalbench.contracts.objective import Chance, Measure, Metric, Objective
from formalbench.contracts.source import Language
from formalbench.host import PluginHost
from torch import nn

HOST = PluginHost.load()


class Middle(Objective):
    """The class of the first half of a string, asked at its last symbol: one answer, (B,)."""

    name, layout, needs = "middle", "each", (Language,)

    def answers(self, source):
        return ("0", "1")

    def has_length(self, source, length):
        return length >= 1 and source.has_length(length)

    def examples(self, source, strings_BN, stream):
        half = (strings_BN.shape[1] + 1) // 2
        scored_BN = np.zeros(strings_BN.shape, dtype=bool)
        scored_BN[:, half - 1] = True
        return Example(strings_BN, source.classify(strings_BN[:, :half]), scored=scored_BN)

    def picked(self, logits, example):
        return (logits * example.scored[..., None]).sum(1)

    def loss(self, logits, example):
        return nn.functional.cross_entropy(self.picked(logits, example), example.targets)

    def metrics(self, source):
        return RightHalves(self), HalfBits(self)

    def right(self, logits, example, primary):
        return self.picked(logits, example).argmax(-1) == example.targets

    def chance(self, source, lengths, stream):
        return Chance(0.5, tuple(0.5 for _ in lengths))

    def show(self, source, string):
        return str(int(source.classify(string[None, : (len(string) + 1) // 2])[0]))

    def to_json(self, source, example):
        return example.targets.tolist()


class RightHalves(Metric):
    name = "right-halves"

    def __init__(self, objective):
        self.objective = objective

    def measure(self, logits, example):
        right_B = self.objective.right(logits, example, self)
        return torch.tensor([right_B.sum(), len(right_B)])


class HalfBits(RightHalves):
    name = "cross-entropy"

    def measure(self, logits, example):
        bits = self.objective.loss(logits, example) / np.log(2)
        return torch.tensor([bits * len(logits), len(logits)])


class SaysNothingOfStrings(Middle):
    right = Objective.right


class LosesItsWay(Middle):
    def loss(self, logits, example):
        return logits.nowhere


class LosesNothing(Middle):
    def loss(self, logits, example):
        return torch.zeros(())


class ByString(Middle):
    def loss(self, logits, example):
        return super().loss(logits, example).expand(len(logits))


class CountsPadding(Middle):
    def right(self, logits, example, primary):
        return logits.sum((1, 2)) > 0


class WithoutItsPrimary(Middle):
    def metrics(self, source):
        primary, bits = super().metrics(source)
        primary.finish = lambda state: {"another": Measure(1.0, 1)}
        return primary, bits


class Twice(Middle):
    def metrics(self, source):
        primary, bits = super().metrics(source)
        bits.finish = lambda state: {name: Measure(1.0, 1) for name in (primary.name, bits.name)}
        return primary, bits


@pytest.mark.parametrize(
    ("objective", "problem"),
    [
        (Middle, None),
        (SaysNothingOfStrings, "the objective middle must define Objective.right"),
        (LosesItsWay, "no attribute 'nowhere'"),
        (LosesNothing, "does not require grad"),
        (ByString, "a loss of shape (8,)"),
        (CountsPadding, "padding counts as an answer"),
        (WithoutItsPrimary, "right-halves is not measured: there is another, cross-entropy"),
        (Twice, "cross-entropy measures the same as another metric: right-halves"),
    ],
)
def test_an_objective_with_a_defect(objective, problem):
    task = dataclasses.replace(HOST.task("parity"), objective=objective())
    broken = [one.problem for one in keep("task", task_promises(task)) if not one.passed]
    if problem is None:
        assert broken == []
    else:
        assert any(problem in line for line in broken), broken


def test_padded_strings_are_cut_apart_wherever_targets_stand():
    task = dataclasses.replace(HOST.task("parity"), objective=Middle())
    examples = [task.sample(task.stream(length), length, 3) for length in (2, 5)]
    parts = split(pad(examples, task.layout), task.layout)
    for part, example in zip(parts, examples, strict=True):
        assert part.lengths is None
        for found, known in zip(part[:3], example[:3], strict=True):
            assert np.array_equal(found, known)
