"""A controller with a memory that is a superposition of itself moved, and the gradients of both.

At every position the controller (an Elman network or an LSTM) reads the symbol and what the memory
shows, and its state says what to do: a share p_a of every action, by a softmax, and a value to
write. The memory becomes Σ_a p_a move_a(memory with the value), cell by cell. A stack's moves are
push, no-op and pop, a tape's are steps of its head.

What feeds a controller is its state, what it reads and its input, one below the other, so to
`recurrence.py` the reading is a part of the state. Cells come first, then strings as columns: a
move is a slice of memory with another offset, and nothing is copied but what the shares multiply.
The memory before each position is kept for the way back; where there is none, two take turns.

Legend, as in `recurrence.py`: N positions, B batch, W the controller's width, X the size of an
input, G gates times W; M cells (their number may change with the position), K memories, C numbers
in a cell, A actions, O = A K and the width of the value's first layer. In a cohort there is an R
before K.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from formalbench_models.recurrence import Recurrence, add_product

Pair = tuple[slice, slice]
"""Cells of the new memory, and the cells that they are moved from."""

_softmax_backward = torch.ops.aten._softmax_backward_data.default


class MemoryStep(NamedTuple):
    """What a position needs.

    Attributes:
        own: what the controller needs of it, its state first.
        reading: what the memory shows after it.
        said: actions and the first layer of the value, (…, O, B).
        layers: the further layers of the value, the last one being the value itself.
        shares: of each action, (…, K, 1, B), views of `said`.
        cells: the memory before it, (M, …, K, C, B), with the value in row 0.
        after: the memory after it.
        moves: of each action, between `after` and `cells`.
    """

    own: tuple[Tensor, ...]
    reading: Tensor
    said: Tensor
    layers: tuple[Tensor, ...]
    shares: tuple[Tensor, ...]
    cells: Tensor
    after: Tensor
    moves: Sequence[Sequence[Pair]]


class Superposition(Recurrence):
    """What memories share; `families` say their cells and moves.

    Weights: of the inputs (G, X) and of state and reading (G, W + K C), as of every recurrence;
    then of what is said, (O, W) with its bias (O), and of each further layer of the value; between
    these there is a ReLU. What else a kind needs comes last.

    Attributes:
        controller: the kind of its recurrence.
        memories: K.
        cell: C.
        actions: A.
        hidden: the value's hidden units, layer by layer.
        first: the row of a memory's first cell; in row 0 the value is written, which may be it.
        kept: whether every position's memory is kept, for a way back.
    """

    controller: ClassVar[type[Recurrence]]
    memories: ClassVar[int]
    cell: ClassVar[int]
    actions: ClassVar[int]
    hidden: ClassVar[tuple[int, ...]] = ()
    first: ClassVar[int]
    kept: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        """Say how many tensors are kept; how large they are, `room` knows."""
        if hasattr(cls, "controller"):
            layers = 1 + len(cls.hidden)
            cls.keeps = (0,) * (len(cls.controller.keeps) + 1 + layers)

    @classmethod
    def sizes(cls, length: int) -> list[int]:
        """Return the rows of the memory before each of N positions and after the last."""
        raise NotImplementedError

    @classmethod
    def moves(cls, before: int, after: int, length: int) -> Sequence[Sequence[Pair]]:
        """Return where each action moves cells; the first one moves some to every cell.

        Args:
            before: rows of the memory before the position, with that of the value.
            after: cells of the memory after it.
            length: N.
        """
        raise NotImplementedError

    @classmethod
    def room(cls, shape: Sequence[int], weight_GW: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return empty tensors for what feeds positions and for what they keep."""
        fed, _ = super().room(shape, weight_GW)
        length, batch = shape[0], shape[-1]
        runs, width = weight_GW.shape[:-2], cls._width(weight_GW.shape[-1])

        def rows(positions: int, count: int) -> Tensor:
            return weight_GW.new_empty(positions, *runs, count, batch)

        own = [rows(length, k * width) for k in cls.controller.keeps]
        sizes = cls.sizes(length)
        cells = rows(sum(sizes) if cls.kept else 2 * max(sizes), cls._reading())
        cells[: sizes[0]] = 0
        said = [cls.actions * cls.memories + (*cls.hidden, cls._reading())[0]]
        layers = [*cls.hidden[1:], cls._reading()] if cls.hidden else []
        return fed, [*own, cells, *(rows(length, count) for count in (*said, *layers))]

    @classmethod
    def _reading(cls) -> int:
        return cls.memories * cls.cell

    @classmethod
    def _width(cls, together: int) -> int:
        return together - cls._reading()

    @classmethod
    def views(cls, states: Tensor, kept: Sequence[Tensor]) -> list[Any]:
        """Return what each position needs."""
        width = cls._width(states.shape[-2])
        count = len(cls.controller.keeps)
        own = cls.controller.views(states[..., :width, :], kept[:count])
        cells, said, *layers = kept[count:]
        steps = zip(own, states[..., width:, :], said, *layers, strict=True)
        length, memories = len(states), list(cls._memories(cells, len(states)))
        found = []
        for (one, reading, spoken, *rest), (before, after) in zip(
            steps, pairwise(memories), strict=True
        ):
            shape = (cls.actions, cls.memories, 1)
            shares = torch.unflatten(spoken[..., : cls.actions * cls.memories, :], -2, shape)
            after = after[cls.first :]
            moves = cls.moves(len(before), len(after), length)
            own_views = one if isinstance(one, tuple) else (one,)
            parts = shares.unbind(-4)
            found.append(
                MemoryStep(own_views, reading, spoken, tuple(rest), parts, before, after, moves)
            )
        return found

    @classmethod
    def _memories(cls, cells: Tensor, length: int) -> Iterator[Tensor]:
        """Yield the memory before each position and after the last, (M, …, K, C, B)."""
        apart = torch.unflatten(cells, -2, (cls.memories, cls.cell))
        start = 0
        for place, size in enumerate(cls.sizes(length)):
            if not cls.kept:
                start = place % 2 * (len(cells) // 2)
            yield apart[start : start + size]
            start += size

    @classmethod
    def step(
        cls,
        weight_GY: Tensor,
        fed_YB: Tensor,
        before: Any,
        now: Any,
        *more: Tensor,
    ) -> None:
        """Write the controller's state, what it says, the memory and what that shows."""
        own = None if before is None else before.own
        cls.controller.step(weight_GY, fed_YB, own, now.own)
        write_linear(now.own[0], more[0], more[1], now.said)
        split = cls.actions * cls.memories
        actions, value = now.said[..., :split, :], now.said[..., split:, :]
        apart = torch.unflatten(actions, -2, (cls.actions, cls.memories))
        apart.copy_(torch.softmax(apart, -3))
        for layer, weight, bias in zip(now.layers, more[2::2], more[3::2], strict=False):
            write_linear(value.relu_(), weight, bias, layer)
            value = layer
        now.cells[0].copy_(torch.unflatten(value, -2, (cls.memories, cls.cell)))
        cls.mix(now, *more)
        now.reading.copy_(now.after[0].flatten(-3, -2))

    @classmethod
    def mix(cls, now: MemoryStep, *more: Tensor) -> None:
        """Write the memory after a position."""
        for action, (share, pairs) in enumerate(zip(now.shares, now.moves, strict=True)):
            for to, of in pairs:
                if action:
                    now.after[to].addcmul_(share, now.cells[of])
                else:
                    torch.mul(share, now.cells[of], out=now.after[to])

    @classmethod
    def room_back(cls, like_WB: Tensor) -> list[Any]:
        """Return the controller's room, then what stands for a gradient of the memory of 0."""
        width = cls._width(like_WB.shape[-2])
        return [cls.controller.room_back(like_WB[..., :width, :]), None]

    @classmethod
    def step_back(
        cls,
        dh_WB: Tensor,
        before: Any,
        now: Any,
        room: list[Any],
        *more: tuple[Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients of the gates; hand on that of the memory."""
        width = cls._width(dh_WB.shape[-2])
        own_dh_WB, reading = dh_WB[..., :width, :], dh_WB[..., width:, :]
        own_room, reached = room
        if reached is None:
            reached = torch.zeros_like(now.after)
        reached[0] += torch.unflatten(reading, -2, (cls.memories, cls.cell))
        cells, shares = cls.mix_back(now, reached, *more)
        dsaid_OB = cls._say_back(now, shares, cells[0], *more)
        (weight, d_weight), (_, d_bias) = more[:2]
        add_linear(dsaid_OB, now.own[0], d_weight, d_bias)
        add_product(weight.mT, dsaid_OB, own_dh_WB)
        cells[0] = 0  # what the value was written over leads no further
        room[1] = cells[cls.first :]
        own = None if before is None else before.own
        return cls.controller.step_back(own_dh_WB, own, now.own, own_room)

    @classmethod
    def mix_back(
        cls, now: MemoryStep, reached: Tensor, *more: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients of the memory before a position and of the shares, (…, A, K, B)."""
        cells, product = torch.empty_like(now.cells), torch.empty_like(reached)
        *runs, memories, _, batch = reached.shape[1:]
        d_shares = reached.new_empty(*runs, cls.actions, memories, batch)
        for action, (share, pairs) in enumerate(zip(now.shares, now.moves, strict=True)):
            covered = 0
            for to, of in pairs:
                torch.mul(reached[to], now.cells[of], out=product[to])
                covered = max(covered, to.stop)
                if action:
                    cells[of].addcmul_(share, reached[to])
                else:
                    torch.mul(share, reached[to], out=cells[of])
                    cells[of.stop :] = 0
            torch.sum(product[:covered], (0, -2), out=d_shares[..., action, :, :])
        return cells, d_shares

    @classmethod
    def _say_back(
        cls, now: MemoryStep, d_shares: Tensor, d_value: Tensor, *more: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Return the gradient of what was said, from those of actions and value, (…, O, B)."""
        split = cls.actions * cls.memories
        d_out = d_value.flatten(-3, -2)
        inputs = [now.said[..., split:, :], *now.layers[:-1]]
        layers = zip(more[2::2], more[3::2], inputs[: len(now.layers)], strict=False)
        for (weight, d_weight), (_, d_bias), x in reversed(list(layers)):
            add_linear(d_out, x, d_weight, d_bias)
            d_out = torch.ops.aten.threshold_backward(weight.mT @ d_out, x, 0)
        apart = torch.unflatten(now.said[..., :split, :], -2, (cls.actions, cls.memories))
        d_actions = _softmax_backward(d_shares, apart, -3, apart.dtype)
        return torch.cat((d_actions.flatten(-3, -2), d_out), -2)


def write_linear(x: Tensor, weight: Tensor, bias: Tensor, out: Tensor) -> None:
    """Write W x + b, of one network or of R of them."""
    kernel = torch.addmm if x.dim() == 2 else torch.baddbmm
    kernel(bias.unsqueeze(-1), weight, x, out=out)


def add_linear(d_out: Tensor, x: Tensor, d_weight: Tensor, d_bias: Tensor) -> None:
    """Add what the gradient of W x + b says of W and b."""
    add_product(d_out, x.mT, d_weight)
    d_bias += d_out.sum(-1)
