"""Scoring a network: every string once, and a logit that is no number is an error."""

import numpy as np
import pytest
import torch
from formalbench.evaluation.cells import Cell, CellSet
from formalbench.evaluation.evaluate import (
    MAX_PAIRS,
    MAX_SYMBOLS,
    WHOLE,
    NotFiniteError,
    batches,
    evaluate,
)
from formalbench.objectives.classify import Classify
from torch import nn

CPU = torch.device("cpu")


class Last(nn.Module):
    """Answers the last symbol."""

    def forward(self, batch):
        last = batch.symbols[:, -1].double()
        return torch.stack((-last, last - 0.5), dim=1)


class Constant(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, batch):
        return torch.full((len(batch.symbols), 2), self.value)


def cell(length, strings, targets):
    return Cell(length, np.array(strings), np.array(targets))


def test_counts_by_hand():
    cells = CellSet((cell(1, [[0], [1], [1]], [0, 1, 0]), cell(2, [[0, 1]], [1])))
    one, other = evaluate(Last(), Classify(), cells, CPU)
    assert (one.length, one.strings, one.correct) == (1, 3, 2)
    assert (other.length, other.strings, other.correct) == (2, 1, 1)
    difference = torch.tensor([-0.5, 1.5, 1.5]).double()  # logit of 1 minus logit of 0
    right = torch.tensor([-1.0, 1.0, -1.0]).double()
    bits = torch.log2(1 + torch.exp(-right * difference)).mean().item()
    assert one.bits == pytest.approx(bits)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_logit_that_is_not_finite_is_an_error(value):
    with pytest.raises(NotFiniteError, match="length 2"):
        evaluate(Constant(value), Classify(), CellSet((cell(2, [[0, 1]], [1]),)), CPU)


def test_equal_logits_are_a_reject():
    cells = CellSet((cell(1, [[0], [1]], [0, 1]),))
    (score,) = evaluate(Constant(0.0), Classify(), cells, CPU)
    assert (score.correct, score.bits) == (1, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("count", "length"), [(1, 0), (100_000, 0), (256, 500), (7, 1), (3, 10**6), (1000, 41)]
)
def test_batches_cover_every_string_once_and_fit(count, length):
    slices = list(batches(count, length))
    rows = [row for part in slices for row in range(part.start, part.stop)]
    assert rows == list(range(count))
    largest = max(part.stop - part.start for part in slices)
    assert largest == 1 or largest * max(length, 1) <= MAX_SYMBOLS
    assert largest == 1 or largest * max(length, 1) ** 2 <= MAX_PAIRS
    assert largest < WHOLE or largest % WHOLE == 0


def test_batching_changes_no_count(monkeypatch):
    rng = np.random.default_rng(0)
    strings = rng.integers(0, 2, (50, 9))
    cells = CellSet((Cell(9, strings, strings.sum(1) % 2),))
    (whole,) = evaluate(Last(), Classify(), cells, CPU)
    monkeypatch.setattr("formalbench.evaluation.evaluate.MAX_SYMBOLS", 9 * 7)
    (parts,) = evaluate(Last(), Classify(), cells, CPU)
    assert parts.correct == whole.correct
    assert parts.bits == pytest.approx(whole.bits)


def test_threads_change_no_result():
    rng = np.random.default_rng(0)
    sets = [Cell(n, rng.integers(0, 2, (50, n)), rng.integers(0, 2, 50)) for n in (3, 9, 700)]
    cells = CellSet(tuple(sets))
    assert evaluate(Last(), Classify(), cells, CPU, 3) == evaluate(Last(), Classify(), cells, CPU)


def test_an_error_in_a_thread_is_told():
    cells = CellSet((cell(2, [[0, 1]], [1]), cell(3, [[0, 1, 1]], [1])))
    with pytest.raises(NotFiniteError):
        evaluate(Constant(float("nan")), Classify(), cells, CPU, 2)
