"""The objective `tag`: a string counts only if every label does."""

import math

import numpy as np
import pytest
import torch
from formalbench.objectives.tag import Tag


def test_a_string_is_right_only_as_a_whole():
    logits = torch.tensor(
        [
            [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
            [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
        ]
    ).double()
    targets = torch.tensor([[1, 0, 0], [1, 0, 1]])  # a tie answers 0
    correct, bits = Tag().score(logits, targets)
    assert correct.tolist() == [True, False]
    sure = -math.log2(math.e / (1 + math.e))
    assert bits.tolist() == pytest.approx([(2 * sure + 1) / 3] * 2)
    assert Tag().loss(logits, targets).item() == pytest.approx(bits.mean().item() * math.log(2))


def test_targets_are_the_classes_of_prefixes(host):
    task = host.task("parity:tag")
    assert task.layout == "each"
    assert task.outputs == 2
    assert task.objective.show(task.language, _ids("0110")) == "0 1 0 0"
    assert task.objective.show(task.language, _ids("")) == ""


def test_there_is_nothing_to_tag_in_the_empty_string(host):
    task = host.task("parity:tag")
    assert task.lengths(0, 3) == [1, 2, 3]


def _ids(text):
    return np.array([int(symbol) for symbol in text], dtype=np.int64)
