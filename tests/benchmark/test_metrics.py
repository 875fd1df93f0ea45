"""Metrics: sums are independent of how batches are split."""

import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.contracts.objective import Measure, StringMetric, add_up, merged
from formalbench.metrics.answers import (
    AnswerAccuracy,
    CrossEntropy,
    StringAccuracy,
    class_nats,
    class_right,
    mean_scored,
    sum_scored,
)


def test_measures_add_up():
    one, other = {"a": Measure(1.0, 4), "b": Measure(2.0, 3)}, {"a": Measure(2.5, 2)}
    assert merged([one, other]) == {"a": Measure(3.5, 6)}
    assert merged([one]) == one
    assert merged([one, other])["a"].mean == pytest.approx(3.5 / 6)
    assert math.isnan(Measure(0.0, 0).mean)


def test_states_of_different_lengths_are_aligned_at_their_beginning():
    states = [np.array([1.0, 2.0]), np.array([1.0, 1.0, 5.0]), np.array([4.0])]
    assert add_up(states).tolist() == [6.0, 3.0, 5.0]
    tables = [np.ones((2, 2)), np.ones((4, 2))]
    assert add_up(tables).tolist() == [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]
    assert states[0].tolist() == [1.0, 2.0]  # they stay what they are


def masked(seed=0):
    """Return logits and an example of which about half of the answers are scored."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(20, 7, 4, generator=generator)
    targets = torch.randint(4, (20, 7), generator=generator)
    scored = torch.rand(20, 7, generator=generator) < 0.5
    scored[3] = False  # nothing is asked of this one
    return logits, Example(targets, targets, scored)


def test_only_scored_answers_count():
    logits, example = masked()
    right, strings, nats = [], 0, []
    for rows in zip(logits, example.targets, example.scored, strict=True):
        asked = [(row, int(target)) for row, target, one in zip(*rows, strict=True) if one]
        hits = [int(row.argmax()) == target for row, target in asked]
        nats += [-float(row.log_softmax(0)[target]) for row, target in asked]
        right, strings = right + hits, strings + all(hits)
    found = StringAccuracy().finish(StringAccuracy().measure(logits, example).numpy())
    assert found["answer-accuracy"] == (sum(right), len(right))
    assert found["string-accuracy"] == (strings, 20)
    assert 0 < strings < 20
    bits, count = CrossEntropy().measure(logits, example).tolist()
    assert (bits, count) == (pytest.approx(sum(nats) / math.log(2), rel=1e-5), len(nats))
    loss = CrossEntropy().loss(logits, example).item()
    assert loss == pytest.approx(sum(nats) / len(nats), rel=1e-5)


def test_shares_of_strings():
    logits, example = masked()
    share_B = AnswerAccuracy().right(logits, example)
    assert share_B[3] == 1.0
    asked_B = example.scored.sum(1)
    total = AnswerAccuracy().finish(AnswerAccuracy().measure(logits, example).numpy())
    assert list(total) == ["answer-accuracy", "string-accuracy"]
    hits = (share_B * asked_B).sum().item()
    assert hits == pytest.approx(total["answer-accuracy"].total, abs=1e-4)
    assert (share_B == 1).tolist() == StringAccuracy().right(logits, example).tolist()
    whole = AnswerAccuracy().right(logits, example._replace(scored=None))
    assert whole.tolist() == pytest.approx(
        (logits.argmax(-1) == example.targets).float().mean(1).tolist()
    )


def test_a_mask_of_everything_changes_nothing():
    logits, example = masked()
    full = example._replace(scored=torch.ones(20, 7, dtype=torch.bool))
    plain = example._replace(scored=None)
    for metric in (StringAccuracy(), AnswerAccuracy(), CrossEntropy()):
        torch.testing.assert_close(metric.measure(logits, full), metric.measure(logits, plain))
    torch.testing.assert_close(
        CrossEntropy().bits(logits, full), CrossEntropy().bits(logits, plain)
    )
    torch.testing.assert_close(
        mean_scored(logits.square(), full.scored), mean_scored(logits.square(), None)
    )


def test_what_is_not_finite_and_not_scored_does_not_spoil_a_sum():
    values = torch.tensor([[1.0, math.nan], [math.inf, 2.0]])
    scored = torch.tensor([[True, False], [False, True]])
    assert mean_scored(values, scored).item() == 1.5
    assert sum_scored(values, scored).tolist() == [3.0, 2.0]
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    assert mean_scored(values, nothing).item() == 0.0
    assert sum_scored(values, nothing).tolist() == [0.0, 0.0]


def test_strings_are_counted_by_default():
    class Begins(StringMetric):
        name = "begins"

        def right(self, logits, example):
            return logits[:, 0].argmax(-1) == example.targets[:, 0]

    logits, example = masked()
    begun = (logits[:, 0].argmax(-1) == example.targets[:, 0]).sum().item()
    state = Begins().measure(logits, example).numpy()
    assert Begins().finish(state) == {"begins": Measure(begun, 20)}
    assert 0 < begun < 20


def test_a_test_copies_no_logits_but_those_that_are_scored():
    """Of a window of 8,192 tokens one may be asked for, with 50,000 logits each."""
    shapes = []

    def watched(judge):
        def judged(logits, targets):
            shapes.append(tuple(logits.shape))
            return judge(logits, targets)

        return judged

    scored = torch.zeros(2, 9, dtype=torch.bool)
    scored[:, -2] = True
    example = Example(torch.zeros(2, 9), torch.randint(5, (2, 9)), scored)
    logits = torch.randn(2, 9, 5)
    bits = CrossEntropy(watched(class_nats)).measure(logits, example)
    right = AnswerAccuracy(watched(class_right)).measure(logits, example)
    assert shapes == [(2, 5), (2, 5)]
    expected = class_nats(logits, example.targets)[scored].sum() / math.log(2)
    assert bits.tolist() == pytest.approx([float(expected), 2])
    hits = int((logits[scored].argmax(-1) == example.targets[scored]).sum())
    assert right.tolist() == [[hits, 2], [hits, 2]]  # a string has one answer here
