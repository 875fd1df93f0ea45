"""The recurrences: Elman's, LSTM and GRU, a position forwards and a position backwards.

Legend, as in `layers/bptt.py`: N positions, B batch, W width, G gates times W, X the size of an
input, Y = W + X. In a cohort there is an R before a position's and a weight's dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from formalbench_models.layers.bptt import Before, Pair, Recurrence, add_product, write_product

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_relu_backward = torch.ops.aten.threshold_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input
_MINUS_ONE = torch.tensor(-1.0)


class Elman(Recurrence):
    """h = tanh(V x + U h_before); weights V_WX and U_WW."""

    keeps = ()

    @classmethod
    def views(cls, states: Tensor, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        return list(zip(states, strict=True))

    @staticmethod
    def step(
        weight_GY: Tensor, fed_YB: Tensor, before: Before, now: Sequence[Tensor], *more: Tensor
    ) -> None:
        write_product(weight_GY, fed_YB, now[0])
        write_tanh(now[0], now[0])

    @classmethod
    def room_back(cls, like_WB: Tensor) -> list[Tensor]:
        return [_room(1, like_WB)]

    @staticmethod
    def step_back(
        dh_WB: Tensor, before: Before, now: Sequence[Tensor], room: list[Tensor], *more: Pair
    ) -> Pair:
        dx_GB = _tanh_backward(dh_WB, now[0], grad_input=room[0])
        return dx_GB, dx_GB


class ReluElman(Elman):
    """h = max(0, V x + U h_before); weights V_WX and U_WW."""

    @staticmethod
    def step(
        weight_GY: Tensor, fed_YB: Tensor, before: Before, now: Sequence[Tensor], *more: Tensor
    ) -> None:
        write_product(weight_GY, fed_YB, now[0])
        now[0].relu_()

    @staticmethod
    def step_back(
        dh_WB: Tensor, before: Before, now: Sequence[Tensor], room: list[Tensor], *more: Pair
    ) -> Pair:
        dx_GB = _relu_backward(dh_WB, now[0], 0, grad_input=room[0])
        return dx_GB, dx_GB


class Lstm(Recurrence):
    """Long short-term memory; weights V_GX and U_GW, gates i, f, g, o in this order.

    c = σ(i) tanh(g) + σ(f) c_before and h = σ(o) tanh(c), each gate a part of V x + U h_before.
    """

    keeps = (1, 4, 1)  # c, the gates, tanh c

    @classmethod
    def views(cls, states: Tensor, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return the state, c, the gates, tanh c; the gates i and f together; i, f, g, o."""
        return list(zip(states, *kept, *_gates(kept[1], states.shape[-2]), strict=True))

    @staticmethod
    def step(
        weight_GY: Tensor, fed_YB: Tensor, before: Before, now: Sequence[Tensor], *more: Tensor
    ) -> None:
        state_WB, cell_WB, gates_GB, squashed_WB, both, i, f, g, o = now
        write_product(weight_GY, fed_YB, gates_GB)
        if _by_sigmoid(gates_GB):  # tanh as 2 σ(2x) - 1: one call for all gates
            g.mul_(2)
            gates_GB.sigmoid_()
            torch.add(_MINUS_ONE, g, alpha=2, out=g)
        else:
            both.sigmoid_()
            g.tanh_()
            o.sigmoid_()
        torch.mul(i, g, out=cell_WB)
        if before is not None:
            cell_WB.addcmul_(f, before[1])
        torch.mul(o, write_tanh(cell_WB, squashed_WB), out=state_WB)

    @classmethod
    def room_back(cls, like_WB: Tensor) -> list[Tensor]:
        """Return the gradient of c, then room for those of the gates and of what is squashed."""
        gates_GB = _room(4, like_WB)
        parts = _gates(gates_GB, like_WB.shape[-2])
        return [torch.zeros_like(like_WB), _room(1, like_WB), gates_GB, *parts]

    @staticmethod
    def step_back(
        dh_WB: Tensor, before: Before, now: Sequence[Tensor], room: list[Tensor], *more: Pair
    ) -> Pair:
        _, _, _, squashed_WB, both, i, f, g, o = now
        dc, part, dgates_GB, dboth, di, df, dg, do = room
        torch.mul(dh_WB, squashed_WB, out=do)
        dc += _tanh_backward(torch.mul(dh_WB, o, out=part), squashed_WB, grad_input=part)
        torch.mul(dc, g, out=di)
        if before is None:
            df.zero_()
        else:
            torch.mul(dc, before[1], out=df)
        _tanh_backward(torch.mul(dc, i, out=dg), g, grad_input=dg)
        dc *= f
        _sigmoid_backward(dboth, both, grad_input=dboth)
        _sigmoid_backward(do, o, grad_input=do)
        return dgates_GB, dgates_GB


class Gru(Recurrence):
    """Gated recurrent unit; weights V_GX, U_GW and b_W, gates r, z, n in this order.

    h = (1 - z) n + z h_before with n = tanh(V x + r (U h_before + b)), and r and z the logistic
    function of V x + U h_before, each with its part of V and U.
    """

    keeps = (3, 1)  # the gates, U h_before + b of the gate n

    @classmethod
    def views(cls, states: Tensor, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return the state, the gates and the inside of n; r and z together; r, z, n."""
        return list(zip(states, *kept, *_gates(kept[0], states.shape[-2]), strict=True))

    @staticmethod
    def step(
        weight_GY: Tensor, fed_YB: Tensor, before: Before, now: Sequence[Tensor], *more: Tensor
    ) -> None:
        state_WB, _, inner_WB, both, r, z, n = now
        width = state_WB.shape[-2]
        of_both, of_n = weight_GY[..., : 2 * width, :], weight_GY[..., 2 * width :, :]
        write_product(of_both, fed_YB, both)
        inner_WB.copy_(more[0].unsqueeze(-1).expand_as(inner_WB))
        if before is None:
            write_product(of_n, fed_YB, n)
        else:
            add_product(of_n[..., :width], fed_YB[..., :width, :], inner_WB)
            write_product(of_n[..., width:], fed_YB[..., width:, :], n)
        both.sigmoid_()
        write_tanh(n.addcmul_(r, inner_WB), n)
        torch.sub(n, torch.mul(z, n, out=state_WB), out=state_WB)
        if before is not None:
            state_WB.addcmul_(z, before[0])

    @classmethod
    def room_back(cls, like_WB: Tensor) -> list[Tensor]:
        """Return what is handed on, then room for the gradients of the gates and their insides."""
        width, dx_GB, du_GB = like_WB.shape[-2], _room(3, like_WB), _room(3, like_WB)
        of_u = torch.split(du_GB, [2 * width, width], dim=-2)
        parts = (*_gates(dx_GB, width), *of_u)
        return [torch.zeros_like(like_WB), _room(1, like_WB), dx_GB, du_GB, *parts]

    @staticmethod
    def step_back(
        dh_WB: Tensor, before: Before, now: Sequence[Tensor], room: list[Tensor], *more: Pair
    ) -> Pair:
        _, _, inner_WB, _, r, z, n = now
        kept, part, dx_GB, du_GB, dboth, dr, dz, dn, du_both, du_n = room
        dh_WB += kept
        if before is None:
            torch.neg(n, out=part)
        else:
            torch.sub(before[0], n, out=part)
        _sigmoid_backward(part.mul_(dh_WB), z, grad_input=dz)
        torch.mul(dh_WB, z, out=kept)
        _tanh_backward(torch.sub(dh_WB, kept, out=part), n, grad_input=dn)
        _sigmoid_backward(torch.mul(dn, inner_WB, out=part), r, grad_input=dr)
        du_both.copy_(dboth)
        ((_, d_bias_W),) = more
        d_bias_W += torch.mul(dn, r, out=du_n).sum(-1)
        return du_GB, dx_GB


def _gates(together: Tensor, width: int) -> tuple[Tensor, ...]:
    """Return views of the first two gates, squashed alike, as one, then of each."""
    return together[..., : 2 * width, :], *torch.split(together, width, dim=-2)


def _room(multiple: int, like_WB: Tensor) -> Tensor:
    """Return an empty tensor of so many times the width."""
    *runs, width, batch = like_WB.shape
    return like_WB.new_empty(*runs, multiple * width, batch)


def _by_sigmoid(x: Tensor) -> bool:
    """Say whether tanh x is to be computed as 2 σ(2x) - 1.

    On a CPU the vector library's tanh takes up to 2.5 times as long. The error is that of
    numbers near 1, two units in their last place: too much in half precision.
    """
    return x.device.type == "cpu" and x.itemsize >= 4


def write_tanh(x: Tensor, out: Tensor) -> Tensor:
    """Write tanh x, perhaps over x itself."""
    if not _by_sigmoid(x):
        return torch.tanh(x, out=out)
    torch.add(x, x, out=out).sigmoid_()
    return torch.add(_MINUS_ONE, out, alpha=2, out=out)
