"""The objective `classify`: ties, bits and chance, against sums done by hand."""

import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.contracts.source import Language, Stream
from formalbench.metrics.answers import Accuracy, CrossEntropy, predicted_class
from formalbench.objectives.classify import Classify

SHARES = {1: (0.0, 0.0, 1.0), 2: (0.5, 0.3, 0.2), 3: (0.1, 0.6, 0.3)}


class Stated(Language):
    """Three classes with a stated distribution; length 1 has only class 2."""

    alphabet = ("a", "b")
    num_classes = 3

    def sample(self, stream, length, count):
        return stream.integers(2, (count, length))

    def classify(self, strings_BN):
        return strings_BN.sum(axis=1) % 3

    def oracle(self, string):
        return sum(string) % 3

    def class_distribution(self, length):
        return SHARES[length]


class Unstated(Stated):
    def class_distribution(self, length):
        return None


@pytest.mark.parametrize(
    ("logits", "answer"),
    [
        ([1.0, 1.0], 0),  # a difference of exactly 0 is a reject
        ([0.0, 0.0], 0),
        ([-0.0, 0.0], 0),
        ([1.0, 1.0 + 1e-6], 1),
        ([2.0, 1.0], 0),
        ([0.0, 3.0, 3.0], 1),
        ([3.0, 0.0, 3.0], 0),
        ([-5.0, -5.0, -5.0, -4.0], 3),
        ([math.nan] * 3, 3),  # no class: wrong
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_among_equals_the_lowest_class_is_the_answer(logits, answer, dtype):
    predicted = predicted_class(torch.tensor([logits, logits], dtype=dtype))
    assert predicted.tolist() == [answer, answer]


def test_right_strings_are_counted_and_bits_added_up():
    logits = torch.tensor([[0.0, math.log(3.0)], [0.0, math.log(3.0)], [0.0, 0.0]]).double()
    example = Example(torch.zeros(3, 1), torch.tensor([1, 0, 0]))
    accuracy, cross_entropy, _ = Classify().metrics(Stated())
    assert isinstance(accuracy, Accuracy)
    assert isinstance(cross_entropy, CrossEntropy)
    assert Classify().right(logits, example, accuracy).tolist() == [True, False, True]
    assert accuracy.measure(logits, example).tolist() == [2, 3]
    assert cross_entropy.bits(logits, example).tolist() == pytest.approx(
        [-math.log2(0.75), 2.0, 1.0]
    )
    bits, count = cross_entropy.measure(logits, example).tolist()
    assert (bits, count) == (pytest.approx(3.0 - math.log2(0.75)), 3)
    nats = (-math.log(0.75) + 2 * math.log(2) + math.log(2)) / 3
    assert Classify().loss(logits, example).item() == pytest.approx(nats)


def test_what_is_not_scored_does_not_count():
    logits = torch.tensor([[0.0, 1.0], [0.0, 1.0], [5.0, 0.0]])
    example = Example(torch.zeros(3, 1), torch.tensor([1, 0, 1]))
    part = example._replace(scored=torch.tensor([True, True, False]))
    for metric in Classify().metrics(Stated()):
        expected = metric.measure(logits[:2], example.rows(slice(2)))
        assert torch.equal(metric.measure(logits, part), expected)
    expected = Classify().loss(logits[:2], example.rows(slice(2)))
    assert Classify().loss(logits, part).item() == pytest.approx(expected.item())


def test_the_telling_logit_and_the_oracle(host):
    task = host.task("cycle-navigation")
    example = task.sample(Stream("telling"), 6, 40)
    assert task.objective.contradicts(task.source, example) is None
    wrong = example._replace(targets=example.targets.copy())
    wrong.targets[7] = (wrong.targets[7] + 1) % 5
    assert task.objective.contradicts(task.source, wrong) == 7
    logits = torch.tensor([[0.0, 3.0, 1.0, 0.0, 0.0]])
    one = Example(torch.zeros(1, 1), torch.tensor([2]))
    assert task.objective.decisive_logit(logits, one, task.primary) == -2.0
    assert task.objective.margin(logits, one, task.primary).item() == 2.0
    assert task.objective.expected(
        task.source, example.inputs[3], example.rows(slice(3, 4))
    ) == int(example.targets[3])


def test_chance_by_hand():
    chance = Classify().chance(Stated(), [1, 2, 3], Stream("c"))
    assert chance.by_length == pytest.approx((1.0, 0.5, 0.6))
    assert chance.length_only == pytest.approx(0.7)
    assert chance.constant == pytest.approx((1.0 + 0.2 + 0.3) / 3)  # always class 2


def test_chance_counts_every_cell_the_same():
    chance = Classify().chance(Stated(), [2, 2, 3], Stream("c"))
    assert chance.constant == pytest.approx(max((0.5 + 0.5 + 0.1) / 3, (0.3 + 0.3 + 0.6) / 3))
    assert chance.length_only == pytest.approx((0.5 + 0.5 + 0.6) / 3)


def test_an_unstated_distribution_is_estimated():
    chance = Classify().chance(Unstated(), [1, 2, 3], Stream("c"))
    # the sum of N bits mod 3: 1/2 1/2 0; 1/4 1/2 1/4; 2/8 3/8 3/8
    assert chance.by_length == pytest.approx((0.5, 0.5, 0.375), abs=0.03)
    again = Classify().chance(Unstated(), [1, 2, 3], Stream("c"))
    assert again == chance


@pytest.mark.parametrize("name", ["parity", "cycle-navigation", "modular-arithmetic", "tomita-1"])
def test_stated_chance_agrees_with_what_is_drawn(host, name):
    task = host.task(name)
    lengths = task.lengths(1, 9)
    drawn = []
    for length in lengths:
        targets = task.sample(Stream("drawn", length), length, 4000).targets
        drawn.append(np.bincount(targets, minlength=task.outputs) / 4000)
    chance = task.chance(lengths)
    assert chance.by_length == pytest.approx([share.max() for share in drawn], abs=0.04)
    assert chance.constant == pytest.approx(np.mean(drawn, axis=0).max(), abs=0.04)
