"""Recurrences over whole strings, with their gradients written out.

The library's kernels multiply an Elman network's weight gradient position by position, where
one product over all positions does (backpropagation through time: Werbos 1990), and cannot
be batched over networks. Here a position costs one matrix product and a few operations in
place, forwards and backwards, and a weight's gradient one product for the whole string.
Under `torch.func.vmap` the same loops serve the R networks of a cohort, with a batched
product in place of a plain one. The kinds are in `recurrence_kinds.py`. The slow, obvious
reference is the library: `torch.nn.RNN`, `torch.nn.LSTM` and `torch.nn.GRU`.

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


def _look_up(table_SG: Tensor, symbols_B: Tensor, out_BG: Tensor) -> None:
    """Write the table's row of each symbol."""
    if table_SG.dim() == 2:
        torch.index_select(table_SG, 0, symbols_B, out=out_BG)
    else:
        rows_RBG = symbols_B.unsqueeze(-1).expand_as(out_BG)
        torch.gather(table_SG, 1, rows_RBG, out=out_BG)
