"""The objective `next-symbols`: every bit at every prefix, and how sets are written."""

import math

import numpy as np
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
    assert task.objective.telling(logits, example, task.primary) == -0.5
    zero = logits.masked_fill(~targets, 0.0)  # says "not legal", which is right
    assert task.objective.telling(zero, example, task.primary) == -0.5
    assert task.objective.margin(logits, example, task.primary).item() == 0.25
    part = example._replace(scored=torch.tensor([[True, False]]))
    assert task.objective.margin(logits, part, task.primary).item() == SURE


def test_whether_prefixes_may_end_is_held_against_the_oracle(host):
    task = host.task("d2:next-symbols")
    example = task.sample(task.stream("oracle"), 6, 20)
    assert task.objective.contradicts(task.source, example) is None
    example.targets[4, 2, -1] ^= True
    assert task.objective.contradicts(task.source, example) == 4


@pytest.mark.parametrize(
    ("name", "string", "shown"),
    [
        ("tomita-1", "", "1,$"),
        ("tomita-1", "11", "1,$ 1,$ 1,$"),
        ("tomita-1", "01", "1,$ ! !"),
        ("tomita-2", "10", "1,$ 0 1,$"),
        ("first", "1", "1 0,1,$"),
        ("d1", "ab", "a,$ b a,$"),
        ("d1", "b", "a,$ !"),
    ],
)
def test_sets_are_written_in_alphabet_order(host, name, string, shown):
    task = host.task(f"{name}:next-symbols")
    ids = np.array([task.alphabet.index(symbol) for symbol in string], dtype=np.int64)
    assert task.objective.show(task.source, ids) == shown


def test_the_targets_have_one_row_per_prefix_and_a_column_for_the_end(host):
    task = host.task("tomita-4:next-symbols")
    strings, targets, *_ = task.sample(task.stream("t"), 6, 5)
    assert task.outputs == 3
    assert targets.shape == (5, 7, 3)
    assert targets.dtype == np.bool_
    assert targets[:, -1, -1].all()  # strings are members, so each may end where it ends
    assert (task.source.classify(strings) == 1).all()


def test_only_lengths_with_members_are_asked_about(host):
    assert host.task("tomita-2:next-symbols").lengths(0, 6) == [0, 2, 4, 6]
