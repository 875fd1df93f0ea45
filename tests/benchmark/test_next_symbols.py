"""The objective `next-symbols`: every bit at every prefix, and how sets are written."""

import math

import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.objectives.next_symbols import NextSymbols

SURE = 3.0


def test_a_string_is_right_only_if_every_bit_is():
    targets = torch.tensor([[[True, False, True], [False, True, False]]] * 3)
    logits = torch.where(targets, SURE, -SURE).double()
    logits[1, 1, 2] = SURE  # one bit wrong
    logits[2, 0, 0] = 0.0  # exactly 0 says "not legal"
    example = Example(targets, targets)
    accuracy, cross_entropy = NextSymbols().metrics(None)
    assert NextSymbols().right(logits, example, accuracy).tolist() == [True, False, False]
    state = accuracy.measure(logits, example).numpy()
    assert accuracy.finish(state) == {"string-accuracy": (1, 3), "answer-accuracy": (16, 18)}
    right, wrong = math.log2(1 + math.exp(-SURE)), math.log2(1 + math.exp(SURE))
    bits_B = cross_entropy.bits(logits, example)
    assert bits_B.tolist() == pytest.approx([right, (5 * right + wrong) / 6, (5 * right + 1) / 6])
    bits, answers = cross_entropy.measure(logits, example).tolist()
    assert (bits, answers) == (pytest.approx(16 * right + wrong + 1), 18)
    loss = NextSymbols().loss(logits, example).item()
    assert loss == pytest.approx(bits_B.mean().item() * math.log(2))


def test_a_logit_of_zero_is_a_reject():
    targets = torch.zeros(1, 2, 3, dtype=torch.bool)
    example = Example(targets, targets)
    accuracy, cross_entropy = NextSymbols().metrics(None)
    assert accuracy.right(torch.zeros(1, 2, 3), example).tolist() == [True]
    assert cross_entropy.bits(torch.zeros(1, 2, 3), example).tolist() == pytest.approx([1.0])


def test_the_first_wrong_bit_tells(host):
    task = host.task("d1:next-symbols")
    targets = torch.tensor([[[True, False, True], [False, True, False]]])
    logits = torch.where(targets, SURE, -SURE)
    logits[0, 1, 1] = -0.5
    logits[0, 1, 2] = 0.25
    example = Example(targets, targets)
    assert task.objective.decisive_logit(logits, example, task.primary) == -0.5
    zero = logits.masked_fill(~targets, 0.0)  # says "not legal", which is right
    assert task.objective.decisive_logit(zero, example, task.primary) == -0.5
    assert task.objective.margin(logits, example, task.primary).item() == 0.25
    part = example._replace(scored=torch.tensor([[True, False]]))
    assert task.objective.margin(logits, part, task.primary).item() == SURE
