"""Recurrences over whole strings, with their gradients written out.

The library's kernels make an Elman network's weight gradient anew at every position, and cannot
be batched over networks. Here a position costs one matrix product forwards and two backwards,
one of them added to the weights' gradient where it stands (backpropagation through time: Werbos
1990), and a few operations in place. Under `torch.func.vmap` the same loops serve the R networks
of a cohort, with batched products in place of plain ones. The kinds are in
`layers/recurrent_cells.py`. The slow, obvious reference is the library: `torch.nn.RNN`,
`torch.nn.LSTM` and `torch.nn.GRU`.

What feeds a position is one piece of memory, the state before it and then its input, so one
product gives the gates. Strings are columns: every gate is one piece of memory, too, and on two
threads the products are faster than with strings as rows (speed/README.md). The state before
the first position is zero.

Legend: N positions, B batch, W width, G gates times W, X the size of an input, Y = W + X. In a
cohort there is an R before the dimensions of a position and of a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Before = Sequence[Tensor] | None
"""What a step wrote; None before the first position."""

Pair = tuple[Tensor, Tensor]
"""A weight and its gradient; or the gradients of what the state and of what the input add."""


class Recurrence(torch.autograd.Function):
    """What the kinds share; `apply(inputs_NXB, every, *weights)`.

    Returns the state after every position (N, W, B), or after the last one alone (1, W, B);
    then what the backward pass needs. `states` says what the arguments are.

    Attributes:
        keeps: what a step writes beside the state, each in multiples of W.
    """

    keeps: ClassVar[tuple[int, ...]]

    @classmethod
    def views(cls, states: Tensor, kept: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
        """Return what `step` needs of each position: the state, what is kept, parts of that.

        Made for all positions at once: a view costs a tenth of the arithmetic on it.
        """
        raise NotImplementedError

    @staticmethod
    def step(
        weight_GY: Tensor, fed_YB: Tensor, before: Before, now: Sequence[Tensor], *more: Tensor
    ) -> None:
        """Go on by one position.

        Args:
            weight_GY: the weights of what feeds it.
            fed_YB: what feeds it; at the first position the input alone, as in the weights.
            before: views of what the step before it wrote; None at the first position.
            now: views of what to write.
            *more: further weights.
        """
        raise NotImplementedError

    @classmethod
    def room_back(cls, like_WB: Tensor) -> list[Tensor]:
        """Return what `step_back` hands on, zeros to begin with, then room for what it writes."""
        raise NotImplementedError

    @staticmethod
    def step_back(
        dh_WB: Tensor, before: Before, now: Sequence[Tensor], room: list[Tensor], *more: Pair
    ) -> Pair:
        """Go back by one position.

        Args:
            dh_WB: the gradient of its state.
            before: views of what the step before it wrote; None at the first position.
            now: views of what it wrote.
            room: what `room_back` returned.
            *more: further weights, each with its gradient, to add to.

        Returns:
            The gradients of what the state and of what the input add to the gates, (G, B).
        """
        raise NotImplementedError

    @classmethod
    def forward(cls, inputs_NXB: Tensor, every: bool, *weights: Tensor) -> tuple[Tensor, ...]:
        inputs_GX, weight_GW, *more = weights
        width = weight_GW.shape[-1]
        weight_GY = torch.cat((weight_GW, inputs_GX), -1)
        fed, kept = cls.room(inputs_NXB.shape, weight_GW)
        fed[:-1, ..., width:, :].copy_(inputs_NXB)
        before: Before = None
        for fed_YB, now in zip(fed, cls.views(fed[1:, ..., :width, :], kept), strict=False):
            if before is None:
                cls.step(inputs_GX, fed_YB[..., width:, :], None, now, *more)
            else:
                cls.step(weight_GY, fed_YB, before, now, *more)
            before = now
        # The answer is a tensor of its own: what is saved has no gradient.
        return fed[1 if every else -1 :, ..., :width, :].clone(), fed, *kept

    @classmethod
    def room(cls, shape: Sequence[int], weight_GW: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return empty tensors for what feeds N positions and one more, and for what N keep.

        The shape is that of the inputs, (N, X, B).
        """
        length, size, batch = shape[0], *shape[-2:]
        *runs, _, width = weight_GW.shape
        fed = weight_GW.new_empty(length + 1, *runs, width + size, batch)
        return fed, [weight_GW.new_empty(length, *runs, k * width, batch) for k in cls.keeps]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, ctx.every, *weights = inputs
        ctx.weights = len(weights)
        ctx.save_for_backward(*weights, *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # zeros for what has no gradient, as large as it is

    @classmethod
    @once_differentiable
    def backward(cls, ctx: Any, grad_MWB: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        weights, (fed, *kept) = tensors[: ctx.weights], tensors[ctx.weights :]
        gradients = [torch.zeros_like(weight) for weight in weights]
        dh_WB = grad_MWB[-1].clone(memory_format=torch.contiguous_format)
        inputs_GX, weight_GW = weights[:2]
        d_inputs_GX, d_weight_GW = gradients[:2]
        more = list(zip(weights[2:], gradients[2:], strict=True))
        width, back_WG = weight_GW.shape[-1], weight_GW.mT
        room, d_inputs_NXB = cls.room_back(dh_WB), None
        steps = cls.views(fed[1:, ..., :width, :], kept)
        states, inputs = fed[..., :width, :].mT.unbind(), fed[..., width:, :].mT.unbind()
        if ctx.needs_input_grad[0]:
            d_inputs_NXB = torch.empty_like(fed[:-1, ..., width:, :])
        for t in reversed(range(len(steps))):
            before = steps[t - 1] if t else None
            du_GB, dx_GB = cls.step_back(dh_WB, before, steps[t], room, *more)
            add_product(dx_GB, inputs[t], d_inputs_GX)
            if d_inputs_NXB is not None:
                write_product(inputs_GX.mT, dx_GB, d_inputs_NXB[t])
            if before is not None:
                add_product(du_GB, states[t], d_weight_GW)
                write_product(back_WG, du_GB, dh_WB)
            if t and ctx.every:
                dh_WB += grad_MWB[t - 1]
        return d_inputs_NXB, None, *gradients

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        inputs_NXB, every, *weights = inputs
        inputs_NRXB = _with_runs(inputs_NXB, in_dims[0], 1, info.batch_size)
        pairs = zip(weights, in_dims[2:], strict=True)
        stacked = [_with_runs(weight, dim, 0, info.batch_size) for weight, dim in pairs]
        answer = cls.apply(inputs_NRXB, every, *stacked)  # type: ignore[no-untyped-call]
        return answer, tuple(part.dim() - 3 for part in answer)  # what has positions, after them


def _with_runs(tensor: Tensor, dim: int | None, place: int, runs: int) -> Tensor:
    """Return a tensor with its dimension of runs at `place`, made if it has none."""
    if dim is not None:
        return tensor.movedim(dim, place)
    shape = tensor.shape
    return tensor.unsqueeze(place).expand(*shape[:place], runs, *shape[place:])


def write_product(a: Tensor, b: Tensor, out: Tensor) -> None:
    """Write a b, of matrices or of R of them."""
    (torch.mm if a.dim() == 2 else torch.bmm)(a, b, out=out)


def add_product(a: Tensor, b: Tensor, to: Tensor) -> None:
    """Add a b, of matrices or of R of them."""
    (to.addmm_ if a.dim() == 2 else to.baddbmm_)(a, b)


def states(kind: type[Recurrence], inputs_NXB: Tensor, every: bool, *weights: Tensor) -> Tensor:
    """Return the state after every position, (N, W, B), or after the last alone, (1, W, B).

    Args:
        kind: of recurrence.
        inputs_NXB: the positions' inputs, N at least 1; their type is that of all that is
            computed.
        every: whether all states are wanted.
        *weights: of the inputs, (G, X), and of the states, (G, W); then what the kind says.
    """
    dtype = inputs_NXB.dtype  # as autocast may ask for
    cast = [weight.to(dtype) if weight.is_floating_point() else weight for weight in weights]
    answer: Tensor = kind.apply(inputs_NXB, every, *cast)[0]  # type: ignore[no-untyped-call]
    return answer


def one_hot(symbols_NB: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """Return each symbol's column of the unit matrix, (N, X, B), X being `size`."""
    *positions, batch = symbols_NB.shape
    zeros_NXB = symbols_NB.new_zeros(*positions, size, batch, dtype=dtype)
    return zeros_NXB.scatter(-2, symbols_NB.unsqueeze(-2), 1)


def last_state(kind: type[Recurrence], symbols_BN: Tensor, *weights: Tensor) -> Tensor:
    """Return the state after the last symbol, (W, B), in memory that does not grow with N.

    There is no gradient. The weights are as for `states`; a symbol's input is its column of
    the unit matrix, and N is at least 1.
    """
    cast = [weight.to(weights[0].dtype) for weight in weights]
    answer: Tensor = _LastState.apply(kind, symbols_BN, *cast)  # type: ignore[no-untyped-call]
    return answer


class _LastState(torch.autograd.Function):
    """What `last_state` computes, as one operation that `vmap` can batch."""

    @staticmethod
    def forward(kind: type[Recurrence], symbols_BN: Tensor, *weights: Tensor) -> Tensor:
        """Compute the state; in a cohort symbols and weights have an R in front."""
        inputs_GX, weight_GW, *more = weights
        width, size = weight_GW.shape[-1], inputs_GX.shape[-1]
        weight_GY = torch.cat((weight_GW, inputs_GX), -1)
        fed, kept = kind.room((2, size, symbols_BN.shape[-2]), weight_GW)
        inputs, states = fed[..., width:, :], fed[..., :width, :]
        # Two positions take turns: what the one writes feeds the other.
        steps = [
            kind.views(states[1 - k : 2 - k], [part[k : k + 1] for part in kept])[0] for k in (0, 1)
        ]
        all_S1 = torch.arange(size, device=symbols_BN.device).unsqueeze(-1)
        before = None
        for t, symbols_1B in enumerate(symbols_BN.movedim(-1, 0).contiguous().unsqueeze(-2)):
            k = t % 2
            now = steps[k]
            torch.eq(symbols_1B, all_S1, out=inputs[k])
            if before is None:
                kind.step(inputs_GX, inputs[k], None, now, *more)
            else:
                kind.step(weight_GY, fed[k], before, now, *more)
            before = now
        assert before is not None
        return before[0].clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep nothing: there is no way back."""
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        kind, *tensors = inputs
        pairs = zip(tensors, in_dims[1:], strict=True)
        stacked = [_with_runs(tensor, dim, 0, info.batch_size) for tensor, dim in pairs]
        return _LastState.apply(kind, *stacked), 0  # type: ignore[no-untyped-call]
