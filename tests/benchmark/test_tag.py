"""The objective `tag`: a string counts only if every label does."""

import math

import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.objectives.tag import Tag


def test_a_string_is_right_only_as_a_whole():
    logits = torch.tensor(
        [
            [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
            [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
        ]
    ).double()
    targets = torch.tensor([[1, 0, 0], [1, 0, 1]])  # a tie answers 0
    example = Example(targets, targets)
    accuracy, cross_entropy = Tag().metrics(None)
    assert Tag().right(logits, example, accuracy).tolist() == [True, False]
    sure = -math.log2(math.e / (1 + math.e))
    bits_B = cross_entropy.bits(logits, example)
    assert bits_B.tolist() == pytest.approx([(2 * sure + 1) / 3] * 2)
    bits, labels = cross_entropy.measure(logits, example).tolist()
    assert (bits, labels) == (pytest.approx(4 * sure + 2), 6)
    assert Tag().loss(logits, example).item() == pytest.approx(bits_B.mean().item() * math.log(2))


def test_the_first_wrong_label_tells(host):
    task = host.task("parity:tag")
    logits = torch.tensor([[[0.0, 1.0], [0.5, 0.0], [4.0, 0.0]]])
    example = Example(torch.zeros(1, 3), torch.tensor([[1, 1, 1]]))
    assert task.objective.decisive_logit(logits, example, task.primary) == -0.5
    assert task.objective.margin(logits, example, task.primary).item() == 0.5
    part = example._replace(scored=torch.tensor([[True, False, True]]))
    assert task.objective.decisive_logit(logits, part, task.primary) == -4.0
    assert task.objective.margin(logits, part, task.primary).item() == 1.0
