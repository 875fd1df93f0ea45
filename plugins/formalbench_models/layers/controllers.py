"""The recurrences that can control a memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import nn

from formalbench_models.recurrence import Recurrence
from formalbench_models.recurrence_kinds import Elman, Lstm, ReluElman


class Controller(NamedTuple):
    """A recurrence, and the library's cell, which holds its weights.

    Attributes:
        kind: the recurrence.
        make: makes the cell, of the size of an input and the width.
        mechanisms: what theorems call it.
    """

    kind: type[Recurrence]
    make: Callable[[int, int], nn.RNNCellBase]
    mechanisms: tuple[str, ...] = ("recurrent-controller", "unbounded-counters")


CONTROLLERS = {
    "elman": Controller(Elman, nn.RNNCell, ("recurrent-controller",)),
    "relu": Controller(ReluElman, partial(nn.RNNCell, nonlinearity="relu")),
    "lstm": Controller(Lstm, nn.LSTMCell),
}
