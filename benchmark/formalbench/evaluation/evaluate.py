"""How a network does on a set of cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.objective import Objective
from formalbench.evaluation.cells import Cell, CellSet

MAX_SYMBOLS = 1 << 15
"""Symbols per batch: enough to keep a core busy, few enough for a small machine."""

MAX_PAIRS = 1 << 24
"""Pairs of positions per batch, which is what an attention matrix takes, per head."""


class NotFiniteError(ArithmeticError):
    """A logit was not finite: an error, never a wrong answer."""


@dataclass(frozen=True)
class CellScore:
    """How a network did on one cell.

    Attributes:
        length: of the strings.
        strings: how many there were.
        correct: how many were right by the objective's primary metric.
        bits: mean cross-entropy per answer.
    """

    length: int
    strings: int
    correct: int
    bits: float


@torch.no_grad()
def evaluate(
    network: nn.Module, objective: Objective, cells: CellSet, device: torch.device
) -> list[CellScore]:
    """Score a network on every cell.

    Raises:
        NotFiniteError: if any logit is NaN or infinite.
    """
    network.eval()
    scores = [_score_cell(network, objective, cell, device) for cell in cells.cells]
    network.train()
    return scores


def _score_cell(
    network: nn.Module, objective: Objective, cell: Cell, device: torch.device
) -> CellScore:
    correct, bits = 0, 0.0
    for rows in batches(len(cell.strings), cell.length):
        batch = Batch(torch.from_numpy(cell.strings[rows]).to(device))
        logits = network(batch)
        if not bool(torch.isfinite(logits).all()):
            raise NotFiniteError(f"a logit at length {cell.length} is not finite")
        targets = torch.from_numpy(cell.targets[rows]).to(device)
        right, row_bits = objective.score(logits, targets)
        correct += int(right.sum())
        bits += float(row_bits.double().sum())
    if not math.isfinite(bits):
        raise NotFiniteError(f"the cross-entropy at length {cell.length} is not finite")
    return CellScore(cell.length, len(cell.strings), correct, bits / len(cell.strings))


def batches(count: int, length: int) -> Iterator[slice]:
    """Cut `count` strings of one length into batches that fit."""
    size = min(MAX_SYMBOLS // max(length, 1), MAX_PAIRS // max(length, 1) ** 2)
    size = max(size, 1)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
