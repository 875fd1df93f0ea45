"""The objective `next-symbols`: every bit at every prefix, and how sets are written."""

import math

import numpy as np
import pytest
import torch
from formalbench.objectives.next_symbols import NextSymbols

SURE = 3.0


def test_a_string_is_right_only_if_every_bit_is():
    targets = torch.tensor([[[True, False, True], [False, True, False]]] * 3)
    logits = torch.where(targets, SURE, -SURE).double()
    logits[1, 1, 2] = SURE  # one bit wrong
    logits[2, 0, 0] = 0.0  # exactly 0 says "not legal"
    correct, bits = NextSymbols().score(logits, targets)
    assert correct.tolist() == [True, False, False]
    right, wrong = math.log2(1 + math.exp(-SURE)), math.log2(1 + math.exp(SURE))
    assert bits.tolist() == pytest.approx([right, (5 * right + wrong) / 6, (5 * right + 1) / 6])
    assert NextSymbols().loss(logits, targets).item() == pytest.approx(
        bits.mean().item() * math.log(2)
    )


def test_a_logit_of_zero_is_a_reject():
    targets = torch.zeros(1, 2, 3, dtype=torch.bool)
    correct, bits = NextSymbols().score(torch.zeros(1, 2, 3), targets)
    assert correct.tolist() == [True]
    assert bits.tolist() == pytest.approx([1.0])


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
    assert task.objective.show(task.language, ids) == shown


def test_the_targets_have_one_row_per_prefix_and_a_column_for_the_end(host):
    task = host.task("tomita-4:next-symbols")
    strings, targets = task.sample(task.stream("t"), 6, 5)
    assert task.outputs == 3
    assert targets.shape == (5, 7, 3)
    assert targets.dtype == np.bool_
    assert targets[:, -1, -1].all()  # strings are members, so each may end where it ends
    assert (task.language.classify(strings) == 1).all()


def test_only_lengths_with_members_are_asked_about(host):
    assert host.task("tomita-2:next-symbols").lengths(0, 6) == [0, 2, 4, 6]
