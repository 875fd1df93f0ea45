"""The vectors of a trained RegularGPT, at all layers, and what each stands for.

Legend: B strings, N symbols, G groups of symbols, D width, P vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from formalbench.contracts.batch import Batch
from formalbench.contracts.network import Traceable
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from torch import nn

from formalbench_papers.chi.clusters import Labels, Points


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of all layers, (P, D), and what each stands for, (P,); parallel arrays.

    Attributes:
        points: the vectors.
        states: of the symbols it has seen: what the task's answer to them alone would be.
        layers: 1, 2, …
        strings: the number of the string.
        lasts: the position of the last symbol it has seen, from 1.
    """

    points: Points
    states: Labels
    layers: Labels
    strings: Labels
    lasts: Labels


def look(network: nn.Module, task: Task, strings_BN: Symbols, chunk: int, kind: str) -> Vectors:
    """Collect the vectors of all layers that feed the answers to strings of one length."""
    assert isinstance(network, Traceable)
    with torch.no_grad():
        trace = network.trace(Batch(torch.from_numpy(strings_BN)))
    parts: list[Vectors] = []
    while (name := f"level.{len(parts)}.block.0.{kind}") in trace:
        vectors_BGD = trace[name].numpy()
        parts.append(_layer(vectors_BGD, task, strings_BN, chunk, len(parts) + 1))
    return Vectors(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.states for part in parts]),
        np.concatenate([part.layers for part in parts]),
        np.concatenate([part.strings for part in parts]),
        np.concatenate([part.lasts for part in parts]),
    )


def _layer(vectors_BGD: Points, task: Task, strings_BN: Symbols, chunk: int, layer: int) -> Vectors:
    """Return the vectors of one layer: the g-th has seen the g-th group of C^layer symbols.

    Groups are counted from the right end; the leftmost may be shorter.
    """
    count, groups, width = vectors_BGD.shape
    length, reach = strings_BN.shape[1], chunk**layer
    ends = [length - reach * (groups - 1 - g) for g in range(groups)]
    states_BG = np.stack(
        [_state(task, strings_BN[:, max(0, end - reach) : end]) for end in ends], axis=1
    )
    return Vectors(
        vectors_BGD.reshape(count * groups, width),
        states_BG.reshape(-1),
        np.full(count * groups, layer),
        np.repeat(np.arange(count), groups),
        np.tile(ends, count),
    )


def _state(task: Task, strings_BN: Symbols) -> Labels:
    """Return the answers to strings: for these languages, that is their transition function."""
    return np.asarray(task.examples(strings_BN).targets, np.int64)
