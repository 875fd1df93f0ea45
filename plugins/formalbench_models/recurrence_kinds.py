"""The recurrences: Elman's, LSTM and GRU, a position forwards and all positions backwards.

Legend, as in `recurrence.py`: N positions, B batch, W width, G gates times W, S symbols. In a
cohort B has an R before it, as have the dimensions of a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from formalbench_models.recurrence import Recurrence

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


class Elman(Recurrence):
    """h = tanh(x + U h_before); weights U_WW."""

    keeps = (1,)
    gates = 0

    @classmethod
    def views(cls, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return the state."""
        return list(zip(kept[0], strict=True))

    @staticmethod
    def step(before: Sequence[Tensor] | None, now: Sequence[Tensor], *weights: Tensor) -> None:
        """Write the state."""
        _add_product(now[0], before, weights[0])
        _tanh(now[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_MBW: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """Return the gradients of the table and the weight."""
        symbols_NB, weight_WW, states_NBW = ctx.saved_tensors
        dx_NBW = torch.empty_like(states_NBW)
        dx, after = dx_NBW.unbind(), None
        for t, state_BW in reversed(list(enumerate(states_NBW))):
            _state_gradient(_at(grad_MBW, t, len(dx), ctx.every), after, weight_WW, dx[t])
            after = _tanh_backward(dx[t], state_BW, grad_input=dx[t])
        weight_gradient = _outer(dx_NBW[1:], states_NBW[:-1])
        return _table_gradient(dx_NBW, symbols_NB, ctx.symbols), None, None, weight_gradient


class Lstm(Recurrence):
    """Long short-term memory; weights U_GW, gates i, f, o, g in this order.

    c = σ(i) tanh(g) + σ(f) c_before and h = σ(o) tanh(c), each gate a part of x + U h_before.
    The three that are squashed alike stand together, unlike the library's.
    """

    keeps = (1, 4, 1, 1)  # the state, the gates, c, tanh c
    gates = 1

    @classmethod
    def views(cls, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return the state, the gates, c, tanh c; the gates i, f and o together; i, f, o, g."""
        width = kept[0].shape[-1]
        parts = torch.split(kept[1], width, dim=-1)
        return list(zip(*kept, kept[1][..., : 3 * width], *parts, strict=True))

    @staticmethod
    def step(before: Sequence[Tensor] | None, now: Sequence[Tensor], *weights: Tensor) -> None:
        """Write the state, the gates, c and tanh c."""
        state_BW, gates_BG, cell_BW, squashed_BW, ifo, i, f, o, g = now
        _add_product(gates_BG, before, weights[0])
        ifo.sigmoid_()
        torch.mul(i, _tanh(g), out=cell_BW)
        if before is not None:
            cell_BW.addcmul_(f, before[2])
        torch.mul(o, _tanh(cell_BW, out=squashed_BW), out=state_BW)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_MBW: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """Return the gradients of the table and the weight."""
        symbols_NB, weight_GW, *kept = ctx.saved_tensors
        states_NBW, gates_NBG, cells_NBW, _ = kept
        width, length = states_NBW.shape[-1], len(states_NBW)
        dx_NBG, after = torch.empty_like(gates_NBG), None
        dh, part = torch.empty_like(states_NBW[0]), torch.empty_like(states_NBW[0])
        dc = torch.zeros_like(dh)
        before_NBW = [torch.zeros_like(dh), *cells_NBW[:-1]]
        gradients = zip(
            dx_NBG, dx_NBG[..., : 3 * width], *torch.split(dx_NBG, width, dim=-1), strict=True
        )
        everything = zip(Lstm.views(kept), before_NBW, gradients, strict=True)
        for t, (now, before, then) in reversed(list(enumerate(everything))):
            _, _, _, squashed, ifo, i, f, o, g = now
            dx_BG, difo, di, df, do, dg = then
            _state_gradient(_at(grad_MBW, t, length, ctx.every), after, weight_GW, dh)
            torch.mul(dh, squashed, out=do)
            dc += _tanh_backward(torch.mul(dh, o, out=part), squashed, grad_input=part)
            torch.mul(dc, g, out=di)
            torch.mul(dc, before, out=df)
            _tanh_backward(torch.mul(dc, i, out=part), g, grad_input=dg)
            dc *= f
            _sigmoid_backward(difo, ifo, grad_input=difo)
            after = dx_BG
        weight_gradient = _outer(dx_NBG[1:], states_NBW[:-1])
        return _table_gradient(dx_NBG, symbols_NB, ctx.symbols), None, None, weight_gradient


class Gru(Recurrence):
    """Gated recurrent unit; weights U_GW and b_W, gates r, z, n.

    h = (1 - z) n + z h_before with n = tanh(x + r (U h_before + b)), and r and z the logistic
    function of x + U h_before.
    """

    keeps = (1, 3, 1)  # the state, the gates, U h_before + b of the gate n
    gates = 1

    @classmethod
    def views(cls, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return the state, the gates and the inside of n; r and z together; r, z, n."""
        width = kept[0].shape[-1]
        parts = torch.split(kept[1], width, dim=-1)
        return list(zip(*kept, kept[1][..., : 2 * width], *parts, strict=True))

    @staticmethod
    def step(before: Sequence[Tensor] | None, now: Sequence[Tensor], *weights: Tensor) -> None:
        """Write the state, the gates and the inside of n."""
        state_BW, _, inner_BW, rz, r, z, n = now
        weight_GW, bias_W = weights
        width = state_BW.shape[-1]
        _add_product(rz, before, weight_GW[..., : 2 * width, :])
        inner_BW.copy_(bias_W.unsqueeze(-2).expand_as(inner_BW))
        _add_product(inner_BW, before, weight_GW[..., 2 * width :, :])
        rz.sigmoid_()
        _tanh(n.addcmul_(r, inner_BW))
        torch.sub(n, torch.mul(z, n, out=state_BW), out=state_BW)
        if before is not None:
            state_BW.addcmul_(z, before[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_MBW: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        """Return the gradients of the table, the weight and the bias."""
        symbols_NB, weight_GW, _bias, *kept_NB = ctx.saved_tensors
        states_NBW, gates_NBG, _ = kept_NB
        width, length = states_NBW.shape[-1], len(states_NBW)
        # Of the gates, and of U h_before + b: they differ in n.
        dx_NBG, du_NBG, after = torch.empty_like(gates_NBG), torch.empty_like(gates_NBG), None
        dh, part = torch.empty_like(states_NBW[0]), torch.empty_like(states_NBW[0])
        kept = torch.zeros_like(dh)
        before_NBW = [torch.zeros_like(dh), *states_NBW[:-1]]
        gates = torch.split(dx_NBG, width, dim=-1)
        inside = torch.split(du_NBG, [2 * width, width], dim=-1)
        gradients = zip(dx_NBG[..., : 2 * width], *gates, du_NBG, *inside, strict=True)
        everything = zip(Gru.views(kept_NB), before_NBW, gradients, strict=True)
        for t, (now, before, then) in reversed(list(enumerate(everything))):
            _, _, inner_BW, _, r, z, n = now
            drz, dr, dz, dn, du_BG, du_rz, du_n = then
            _state_gradient(_at(grad_MBW, t, length, ctx.every), after, weight_GW, dh)
            dh += kept
            _sigmoid_backward(torch.sub(before, n, out=part).mul_(dh), z, grad_input=dz)
            torch.mul(dh, z, out=kept)
            _tanh_backward(torch.sub(dh, kept, out=part), n, grad_input=dn)
            _sigmoid_backward(torch.mul(dn, inner_BW, out=part), r, grad_input=dr)
            du_rz.copy_(drz)
            torch.mul(dn, r, out=du_n)
            after = du_BG
        bias_gradient = du_NBG[..., 2 * width :].sum((0, -2))
        table_gradient = _table_gradient(dx_NBG, symbols_NB, ctx.symbols)
        return table_gradient, None, None, _outer(du_NBG[1:], states_NBW[:-1]), bias_gradient


def _tanh(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Write tanh x, over x itself if nowhere else.

    On a CPU as 2 σ(2x) - 1: the vector library's tanh takes up to 2.5 times as long. The error is
    that of numbers near 1, two units in their last place: too much in half precision.
    """
    out = x if out is None else out
    if x.device.type != "cpu" or x.itemsize < 4:
        return torch.tanh(x, out=out)
    return torch.add(x, x, out=out).sigmoid_().mul_(2).sub_(1)


def _add_product(x_BG: Tensor, before: Sequence[Tensor] | None, weight_GW: Tensor) -> None:
    """Add U h_before to x."""
    if before is not None:
        (x_BG.addmm_ if x_BG.dim() == 2 else x_BG.baddbmm_)(before[0], weight_GW.mT)


def _table_gradient(dx_NBG: Tensor, symbols_NB: Tensor | None, symbols: int) -> Tensor:
    """Return the gradient of a table of so many symbols from those of its rows' uses."""
    if symbols_NB is None:
        return dx_NBG
    if dx_NBG.dim() == 3 and dx_NBG.device.type == "cpu":
        table_SG = dx_NBG.new_zeros(symbols, dx_NBG.shape[-1])
        return table_SG.index_add_(0, symbols_NB.flatten(), dx_NBG.flatten(0, 1))
    # A product with the strings, one-hot: on a GPU it repeats exactly, other than index_add.
    all_S1 = torch.arange(symbols, device=dx_NBG.device).unsqueeze(-1)
    if dx_NBG.dim() == 3:
        one_hot_SX = (symbols_NB.flatten() == all_S1).to(dx_NBG.dtype)
        return one_hot_SX @ dx_NBG.flatten(0, 1)
    symbols_R1X = symbols_NB.transpose(0, 1).flatten(1).unsqueeze(1)
    one_hot_RSX = (symbols_R1X == all_S1).to(dx_NBG.dtype)
    return one_hot_RSX @ dx_NBG.transpose(0, 1).flatten(1, 2)


def _at(grad_MBW: Tensor, t: int, length: int, every: bool) -> Tensor | None:
    """Return the gradient that comes to a state from outside, None for none."""
    return grad_MBW[t] if every else grad_MBW[0] if t == length - 1 else None


def _state_gradient(
    outside_BW: Tensor | None, after_BG: Tensor | None, weight_GW: Tensor, out_BW: Tensor
) -> None:
    """Write the gradient of a state: from outside, and from the position after it."""
    if after_BG is None:
        out_BW.copy_(outside_BW) if outside_BW is not None else out_BW.zero_()
    elif outside_BW is None:
        (torch.mm if after_BG.dim() == 2 else torch.bmm)(after_BG, weight_GW, out=out_BW)
    else:
        add = torch.addmm if after_BG.dim() == 2 else torch.baddbmm
        add(outside_BW, after_BG, weight_GW, out=out_BW)


def _outer(gradient_NBG: Tensor, states_NBW: Tensor) -> Tensor:
    """Return the sum of the outer products over positions and strings, (G, W)."""
    if gradient_NBG.dim() == 3:
        # A tenth faster than (G, W) at once: the wider operand is read as it lies in memory.
        return (states_NBW.flatten(0, 1).t() @ gradient_NBG.flatten(0, 1)).t()
    gradient_RXG, states_RXW = (
        tensor.transpose(0, 1).flatten(1, 2) for tensor in (gradient_NBG, states_NBW)
    )
    return gradient_RXG.mT @ states_RXW
