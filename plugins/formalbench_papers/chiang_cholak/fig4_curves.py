"""The curves of Figure 4 of Chiang & Cholak (2022): what is trained, and the mean of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from formalbench.contracts.record import Curve

from formalbench_papers.framework.runs import Got

LENGTHS = (10, 30, 100, 300)
"""Of the strings trained on; `TEST` of those tested."""

TEST = 1000

EPOCH = 100
"""Updates."""

STANDARD, SCALED = "standard", "scaled by log n"

FIRST, PARITY = "first", "parity"

PROBE = "attention-on-first."

Key = tuple[str, str, int]
"""A task, an attention, a training length."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over the runs of one panel's curve, one entry per epoch that was looked at.

    Attributes:
        epoch: which.
        runs: how many there are.
        bits: cross-entropy.
        accuracy: a share of one.
        attention: on position 1, of each layer, summed over its heads.
        lowest, highest: accuracy of the worst and the best run.
    """

    epoch: tuple[int, ...]
    runs: int
    bits: tuple[float, ...]
    accuracy: tuple[float, ...]
    attention: tuple[tuple[float, ...], ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    @property
    def total(self) -> tuple[float, ...]:
        """Attention on position 1 of all layers."""
        return tuple(map(sum, zip(*self.attention, strict=True)))


Means = dict[Key, Mean]


def mean_of(got: Got) -> Mean | None:
    """Return the mean of the runs that finished; None if there is none."""
    histories = [
        run.training.history
        for run in got.chosen
        if run.status == "finished" and run.training and run.training.history
    ]
    if not histories:
        return None
    curves = [history.curves[0] for history in histories]
    accuracies = [[correct / curve.strings for correct in curve.correct] for curve in curves]
    return Mean(
        epoch=tuple(step // EPOCH for step in histories[0].steps),
        runs=len(curves),
        bits=_mean([[bits / 1000 for bits in curve.millibits] for curve in curves]),
        accuracy=_mean(accuracies),
        attention=tuple(map(_mean, zip(*map(_by_layer, curves), strict=True))),
        lowest=tuple(map(min, zip(*accuracies, strict=True))),
        highest=tuple(map(max, zip(*accuracies, strict=True))),
    )


def curves_of(got: Got) -> list[Mean]:
    """Return the curve of each run that finished, by seed."""
    every = (mean_of(Got(got.wanted, [run])) for run in got.chosen)
    return [one for one in every if one is not None]


def _mean(runs: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(math.fsum(values) / len(values) for values in zip(*runs, strict=True))


def _by_layer(curve: Curve) -> list[list[float]]:
    """Return the attention on position 1 by layer and time, summed over heads."""
    layers: dict[str, list[Sequence[float]]] = {}
    for name, values in curve.probes.items():
        if name.startswith(PROBE):
            layers.setdefault(name.removeprefix(PROBE).partition(".head.")[0], []).append(values)
    return [[sum(values) for values in zip(*heads, strict=True)] for heads in layers.values()]
