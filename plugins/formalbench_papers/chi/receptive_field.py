"""The receptive field of a network, by cumulative gradients.

Source: Chi et al. (2022b), "Dissecting Transformer Length Extrapolation via The Lens of Receptive
Field Analysis".

Legend: B strings, N symbols, D width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from formalbench.contracts.example import Example, tensors
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.evaluation.gradients import input_gradients
from torch import Tensor, nn

from formalbench_papers.framework.trained import TrainedNetwork

CHANGED_STRINGS = 4
"""Strings of which every symbol is changed, one at a time."""

SYMBOLS = 10_000
"""At a time: a Transformer's attention to 500 symbols is large, and so are RegularGPT's chunks."""

FIELD = 0.99
"""The share of the gradient that lies in the receptive field (Chi et al. 2022b)."""

Curve = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Field:
    """The receptive field of a network.

    Attributes:
        model: the title of the model.
        cumulative: the share of the gradient at a position and all later ones, a mean over
            strings; the earliest position first, so that it falls from 1.
        one: the same of one string, the median one by its distance from the diagonal.
        reach: how many of the most recent symbols hold 99 % of it, likewise a mean.
        least: the least share of a position of a string, in units of an equal share.
        answers: the share of strings with one symbol changed that are answered right; None if
            it was not asked.
        accuracy: on the test of the run, at all its lengths.
        seed: of the run.
    """

    model: str
    cumulative: Curve
    one: Curve
    reach: float
    least: float
    answers: float | None
    accuracy: float
    seed: int

    @property
    def deviation(self) -> float:
        """The greatest distance of the curve from the diagonal."""
        return float(np.abs(self.cumulative - diagonal(len(self.cumulative))).max())


def diagonal(length: int) -> Curve:
    """Return the curve of a gradient that is the same at every position."""
    return np.arange(length, 0, -1) / length


def shares(network: nn.Module, task: Task, strings_BN: Symbols) -> Curve:
    """Return each position's share of the norms of a string's gradients, (B, N).

    The gradient is that of the loss of the answer with respect to the vector of a symbol.
    """
    parts = []
    batch = max(1, SYMBOLS // strings_BN.shape[1])
    for start in range(0, len(strings_BN), batch):
        part_BN = strings_BN[start : start + batch]
        example = tensors(task.examples(part_BN))

        def loss(logits: Tensor, example: Example = example) -> Tensor:
            return task.objective.loss(logits, example)

        gradient_BND = input_gradients(network, example.batch, loss)
        norm_BN = gradient_BND.norm(dim=2).numpy()
        parts.append(norm_BN / norm_BN.sum(axis=1, keepdims=True))
    return np.concatenate(parts)


def with_each_changed(task: Task, string_N: Symbols, shift: int = 1) -> Symbols:
    """Return the strings that differ from one in one symbol, the next of the alphabet: (N, N)."""
    changed_NN = np.tile(string_N, (len(string_N), 1))
    index = np.arange(len(string_N))
    changed_NN[index, index] = (string_N + shift) % len(task.alphabet)
    return changed_NN


def answered(network: nn.Module, task: Task, strings_BN: Symbols) -> float:
    """Return the share of strings answered right."""
    right, batch = 0.0, max(1, SYMBOLS // strings_BN.shape[1])
    for start in range(0, len(strings_BN), batch):
        example = tensors(task.examples(strings_BN[start : start + batch]))
        with torch.no_grad():
            logits = network(example.batch)
        right += float(task.objective.right(logits, example, task.primary).double().sum())
    return right / len(strings_BN)


def measure_field(
    network: TrainedNetwork, model: str, task: Task, strings_BN: Symbols, *, change: bool
) -> Field:
    """Measure the receptive field of a network on strings of one length.

    Args:
        network: trained.
        model: its title.
        task: what it was trained on.
        strings_BN: the strings.
        change: whether to change their symbols, too, and see whether the answers follow.
    """
    share_BN = shares(network.module, task, strings_BN)
    cumulative_BN = np.cumsum(share_BN[:, ::-1], axis=1)[:, ::-1]
    length = strings_BN.shape[1]
    off_B = np.abs(cumulative_BN - diagonal(length)).max(axis=1)
    answers = None
    if change:
        changed = [with_each_changed(task, string_N) for string_N in strings_BN[:CHANGED_STRINGS]]
        answers = answered(network.module, task, np.concatenate(changed))
    return Field(
        model=model,
        cumulative=cumulative_BN.mean(axis=0),
        one=cumulative_BN[np.argsort(off_B)[len(off_B) // 2]],
        reach=float(((cumulative_BN < FIELD).sum(axis=1) + 1).mean()),
        least=float(share_BN.min() * length),
        answers=answers,
        accuracy=network.accuracy,
        seed=network.record.seed,
    )
