"""The recurrences that can control a memory.

Legend, as in `recurrence.py`: B batch, W width, G gates times W, Y what feeds a position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from formalbench_models.recurrence import Recurrence, write_product
from formalbench_models.recurrence_kinds import Elman, Lstm

_relu_backward = torch.ops.aten.threshold_backward.grad_input


class ReluElman(Elman):
    """h = max(0, V x + U h_before); weights V_WX and U_WW."""

    @staticmethod
    def step(
        weight_GY: Tensor,
        fed_YB: Tensor,
        before: Sequence[Tensor] | None,
        now: Sequence[Tensor],
        *more: Tensor,
    ) -> None:
        """Write the state."""
        write_product(weight_GY, fed_YB, now[0])
        now[0].relu_()

    @staticmethod
    def step_back(
        dh_WB: Tensor,
        before: Sequence[Tensor] | None,
        now: Sequence[Tensor],
        room: list[Tensor],
        *more: tuple[Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return the gradient of what is cut off at 0."""
        dx_GB = _relu_backward(dh_WB, now[0], 0, grad_input=room[0])
        return dx_GB, dx_GB


class Controller(NamedTuple):
    """A recurrence, and the library's cell, which holds its weights.

    Attributes:
        kind: the recurrence.
        make: makes the cell, of the size of an input and the width.
    """

    kind: type[Recurrence]
    make: Callable[[int, int], nn.RNNCellBase]


CONTROLLERS = {
    "elman": Controller(Elman, nn.RNNCell),
    "relu": Controller(ReluElman, partial(nn.RNNCell, nonlinearity="relu")),
    "lstm": Controller(Lstm, nn.LSTMCell),
}
