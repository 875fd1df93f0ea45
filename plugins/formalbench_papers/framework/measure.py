"""How a network does on random strings of one length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.verification.judge import Judge, Tally
from torch import nn


@dataclass(frozen=True, slots=True)
class MeasuredAt:
    """Accuracy and cross-entropy at one length.

    Attributes:
        length: of the strings, CLS not counted.
        strings: how many.
        accuracy: the share answered right.
        mean_bits, max_bits: cross-entropy, the mean and the worst.
    """

    length: int
    strings: int
    accuracy: float
    mean_bits: float
    max_bits: float


def measure(network: nn.Module, task: Task, strings_BN: Symbols) -> MeasuredAt:
    """Ask a network about strings of one length; a logit that is no number counts as wrong."""
    tally = Tally()
    Judge(network.eval(), task, torch.device("cpu")).add(task.examples(strings_BN), tally)
    mean = tally.mean_bits if tally.finite else float("inf")
    return MeasuredAt(strings_BN.shape[1], tally.strings, tally.accuracy, mean, tally.max_bits)


def random_strings(task: Task, length: int, count: int) -> Symbols:
    """Return strings of one length, as many members as others; the same ones every time."""
    drawn: Symbols = task.sample(task.stream("reproduce", length), length, count).inputs
    return drawn


def spread_lengths(first: int, last: int, count: int, *, even: bool = False) -> list[int]:
    """Return about `count` lengths evenly spread on a logarithmic scale, both ends included.

    Args:
        first: the least.
        last: the greatest.
        count: how many, at most.
        even: whether to take even ones only.
    """
    wanted = np.geomspace(first, last, count)
    step = 2 if even else 1
    return sorted({max(step, round(float(length) / step) * step) for length in wanted})
