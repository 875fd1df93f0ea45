"""Recurrences over whole strings, with their gradients written out.

The library's kernels multiply an Elman network's weight gradient position by position, where
one product over all positions does (backpropagation through time: Werbos 1990), and cannot
be batched over networks. Here a position costs one matrix product and a few operations in
place, forwards and backwards, and a weight's gradient one product for the whole string.
Under `torch.func.vmap` the same loops serve the R networks of a cohort, with a batched
product in place of a plain one. The slow, obvious reference is the library: `torch.nn.RNN`,
`torch.nn.LSTM` and `torch.nn.GRU`.

What the gates get from a position's input, x, is computed before, biases included. The state
before the first position is zero. Positions come first, so that each is one piece of memory.

Legend: N positions, B batch, W width, G gates times W, S symbols. In a cohort B has an R
before it, as have the dimensions of a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


class Recurrence(torch.autograd.Function):
    """What the kinds share; `apply(table, symbols_NB, every, weight_GW, …)`, N at least 1.

    The table (S, G) holds what the gates get from each symbol; without symbols (None) it is
    what they get at each position, x (N, B, G). Returns the state after every position
    (N, B, W), or after the last one alone (1, B, W); then what the backward pass needs.

    Attributes:
        keeps: what a step writes, the state first, each in multiples of W.
        gates: which of it holds x when the step begins.
    """

    keeps: ClassVar[tuple[int, ...]]
    gates: ClassVar[int]

    @classmethod
    def views(cls, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return what `step` needs of each position: what is kept of it, then parts of that.

        Made for all positions at once: a view costs a tenth of the arithmetic on it.
        """
        raise NotImplementedError

    @staticmethod
    def step(before: Sequence[Tensor] | None, now: Sequence[Tensor], *weights: Tensor) -> None:
        """Go on by one position.

        Args:
            before: views of what the previous step wrote; None at the first.
            now: views of what to write; the gates hold x.
            *weights: the recurrence's.
        """
        raise NotImplementedError

    @classmethod
    def forward(
        cls, table: Tensor, symbols_NB: Tensor | None, every: bool, *weights: Tensor
    ) -> tuple[Tensor, ...]:
        """Compute the states."""
        shape = table.shape[:-1] if symbols_NB is None else symbols_NB.shape
        kept = cls.room(table, shape, weights[0].shape[-1])
        before = None
        for t, now in enumerate(cls.views(kept)):
            if symbols_NB is None:
                now[cls.gates].copy_(table[t])
            else:
                _look_up(table, symbols_NB[t], now[cls.gates])
            cls.step(before, now, *weights)
            before = now
        # The answer is a tensor of its own: what is kept has no gradient.
        return (kept[0] if every else kept[0][-1:]).clone(), *kept

    @classmethod
    def room(cls, like: Tensor, shape: Sequence[int], width: int) -> list[Tensor]:
        """Return empty tensors (*shape, …) for what a step writes."""
        return [like.new_empty(*shape, multiple * width) for multiple in cls.keeps]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what the backward pass needs."""
        table, symbols_NB, ctx.every, *weights = inputs
        ctx.symbols = 0 if symbols_NB is None else table.shape[-2]
        ctx.save_for_backward(symbols_NB, *weights, *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # zeros for what has no gradient, as large as it is

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        """Compute the states of R networks."""
        table, symbols_NB, every, *weights = inputs
        runs = info.batch_size
        if symbols_NB is not None:
            symbols_NB = _with_runs(symbols_NB, in_dims[1], 1, runs)
        table = _with_runs(table, in_dims[0], 1 if symbols_NB is None else 0, runs)
        pairs = zip(weights, in_dims[3:], strict=True)
        stacked = [_with_runs(weight, dim, 0, runs) for weight, dim in pairs]
        answer = cls.apply(table, symbols_NB, every, *stacked)  # type: ignore[no-untyped-call]
        return answer, (1,) * len(answer)


def _with_runs(tensor: Tensor, dim: int | None, place: int, runs: int) -> Tensor:
    """Return a tensor with its dimension of runs at `place`, made if it has none."""
    if dim is not None:
        return tensor.movedim(dim, place)
    shape = tensor.shape
    return tensor.unsqueeze(place).expand(*shape[:place], runs, *shape[place:])


def states(
    kind: type[Recurrence],
    table: Tensor,
    symbols_NB: Tensor | None,
    every: bool,
    *weights: Tensor,
) -> Tensor:
    """Return the state after every position, (N, B, W), or after the last alone, (1, B, W).

    Args:
        kind: of recurrence.
        table: what the gates get from each symbol, (S, G).
        symbols_NB: the strings, N at least 1; None if the table is what the gates get at
            each position, (N, B, G).
        every: whether all states are wanted.
        *weights: the recurrence's, as its class says.
    """
    cast = [weight.to(table.dtype) for weight in weights]  # which autocast may have chosen
    answer: Tensor = kind.apply(  # type: ignore[no-untyped-call]
        table, symbols_NB, every, *cast
    )[0]
    return answer


def last_state(
    kind: type[Recurrence], table_SG: Tensor, symbols_BN: Tensor, *weights: Tensor
) -> Tensor:
    """Return the state after the last symbol, (B, W), in memory that does not grow with N.

    There is no gradient. The table says what the gates get from each symbol; N is at least 1.
    """
    cast = [weight.to(table_SG.dtype) for weight in weights]
    answer: Tensor = _LastState.apply(  # type: ignore[no-untyped-call]
        kind, table_SG, symbols_BN, *cast
    )
    return answer


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


class _LastState(torch.autograd.Function):
    """What `last_state` computes, as one operation that `vmap` can batch."""

    @staticmethod
    def forward(
        kind: type[Recurrence], table_SG: Tensor, symbols_BN: Tensor, *weights: Tensor
    ) -> Tensor:
        """Compute the state; in a cohort table and symbols have an R in front."""
        shape, width = symbols_BN.shape[:-1], weights[0].shape[-1]
        before = None
        now, spare = kind.views(kind.room(table_SG, (2, *shape), width))
        for symbols_B in symbols_BN.movedim(-1, 0).contiguous():
            _look_up(table_SG, symbols_B, now[kind.gates])
            kind.step(before, now, *weights)
            before, now, spare = now, spare, now
        return (now if before is None else before)[0].clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep nothing: there is no way back."""
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        """Compute the states of R networks."""
        kind, *tensors = inputs
        pairs = zip(tensors, in_dims[1:], strict=True)
        stacked = [_with_runs(tensor, dim, 0, info.batch_size) for tensor, dim in pairs]
        return _LastState.apply(kind, *stacked), 0  # type: ignore[no-untyped-call]


def _tanh(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Write tanh x, over x itself if nowhere else.

    On a CPU as 2 σ(2x) - 1: the vector library's tanh takes up to 2.5 times as long. The error is
    that of numbers near 1, two units in their last place: too much in half precision.
    """
    out = x if out is None else out
    if x.device.type != "cpu" or x.itemsize < 4:
        return torch.tanh(x, out=out)
    return torch.add(x, x, out=out).sigmoid_().mul_(2).sub_(1)


def _look_up(table_SG: Tensor, symbols_B: Tensor, out_BG: Tensor) -> None:
    """Write the table's row of each symbol."""
    if table_SG.dim() == 2:
        torch.index_select(table_SG, 0, symbols_B, out=out_BG)
    else:
        rows_RBG = symbols_B.unsqueeze(-1).expand_as(out_BG)
        torch.gather(table_SG, 1, rows_RBG, out=out_BG)


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
