"""A controller with stacks or tapes in superposition, with its gradient.

At every position the controller (an Elman network or an LSTM) reads the symbol and what the memory
shows, and its state says what to do: a share p_a of every action, by a softmax, and a value to
write. The memory becomes Σ_a p_a move_a(memory with the value), cell by cell. A stack's moves are
push, no-op and pop, a tape's are steps of its head.

What feeds a controller is its state, what it reads and its input, one below the other, so to
`layers/bptt.py` the reading is a part of the state. Cells come first, then strings as columns: a
move is a slice of memory with another offset, and nothing is copied but what the shares multiply.
The memory before each position is kept for the way back; where there is none, two take turns.

Legend: B batch, W the controller's width, X the size of an input, G gates times W, M cells (their
number may change with the position), K memories, C numbers in a cell, A actions, O = A K and the
width of the value's first layer, N symbols, D what it reads of its memory, S symbols in the
alphabet. In a cohort there is an R before K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from formalbench import Batch, Task, Traits, read_asked
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.layers.bptt import (
    Elman,
    Lstm,
    Recurrence,
    ReluElman,
    add_product,
    one_hot,
    states,
)
from formalbench_models.layers.residual import answering_states

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
        """Return how many tensors are kept; how large they are, `room` knows."""
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
        fed, _ = super().room(shape, weight_GW)
        length, batch = shape[0], shape[-1]
        runs, width = weight_GW.shape[:-2], cls._width(weight_GW.shape[-1])

        def rows(positions: int, count: int) -> Tensor:
            return weight_GW.new_empty(positions, *runs, count, batch)

        own = [rows(length, k * width) for k in cls.controller.keeps]
        sizes = cls.sizes(length)
        cells = rows(sum(sizes) if cls.kept else 2 * max(sizes), cls._reading())
        cells[: sizes[0]] = 0
        outputs = [cls.actions * cls.memories + (*cls.hidden, cls._reading())[0]]
        layers = [*cls.hidden[1:], cls._reading()] if cls.hidden else []
        return fed, [*own, cells, *(rows(length, count) for count in (*outputs, *layers))]

    @classmethod
    def _reading(cls) -> int:
        return cls.memories * cls.cell

    @classmethod
    def _width(cls, size: int) -> int:
        return size - cls._reading()

    @classmethod
    def views(cls, states: Tensor, kept: Sequence[Tensor]) -> list[Any]:
        width = cls._width(states.shape[-2])
        count = len(cls.controller.keeps)
        own = cls.controller.views(states[..., :width, :], kept[:count])
        cells, outputs, *layers = kept[count:]
        steps = zip(own, states[..., width:, :], outputs, *layers, strict=True)
        length, memories = len(states), list(cls._memories(cells, len(states)))
        result = []
        for (one, reading, output, *rest), (before, after) in zip(
            steps, pairwise(memories), strict=True
        ):
            shape = (cls.actions, cls.memories, 1)
            shares = torch.unflatten(output[..., : cls.actions * cls.memories, :], -2, shape)
            after = after[cls.first :]
            moves = cls.moves(len(before), len(after), length)
            own_views = one if isinstance(one, tuple) else (one,)
            parts = shares.unbind(-4)
            result.append(
                MemoryStep(own_views, reading, output, tuple(rest), parts, before, after, moves)
            )
        return result

    @classmethod
    def _memories(cls, cells: Tensor, length: int) -> Iterator[Tensor]:
        """Yield the memory before each position and after the last, (M, …, K, C, B)."""
        memory = torch.unflatten(cells, -2, (cls.memories, cls.cell))
        start = 0
        for place, size in enumerate(cls.sizes(length)):
            if not cls.kept:
                start = place % 2 * (len(cells) // 2)
            yield memory[start : start + size]
            start += size

    @classmethod
    def step(cls, weight_GY: Tensor, fed_YB: Tensor, before: Any, now: Any, *more: Tensor) -> None:
        own = None if before is None else before.own
        cls.controller.step(weight_GY, fed_YB, own, now.own)
        write_linear(now.own[0], more[0], more[1], now.said)
        split = cls.actions * cls.memories
        actions, value = now.said[..., :split, :], now.said[..., split:, :]
        shares = torch.unflatten(actions, -2, (cls.actions, cls.memories))
        shares.copy_(torch.softmax(shares, -3))
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
        cls, dh_WB: Tensor, before: Any, now: Any, room: list[Any], *more: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        width = cls._width(dh_WB.shape[-2])
        own_dh_WB, reading = dh_WB[..., :width, :], dh_WB[..., width:, :]
        own_room, reached = room
        if reached is None:
            reached = torch.zeros_like(now.after)
        reached[0] += torch.unflatten(reading, -2, (cls.memories, cls.cell))
        cells, shares = cls.mix_back(now, reached, *more)
        d_output_OB = cls._output_back(now, shares, cells[0], *more)
        (weight, d_weight), (_, d_bias) = more[:2]
        add_linear(d_output_OB, now.own[0], d_weight, d_bias)
        add_product(weight.mT, d_output_OB, own_dh_WB)
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
    def _output_back(
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
        shares = torch.unflatten(now.said[..., :split, :], -2, (cls.actions, cls.memories))
        d_actions = _softmax_backward(d_shares, shares, -3, shares.dtype)
        return torch.cat((d_actions.flatten(-3, -2), d_out), -2)


@lru_cache(maxsize=64)
def sized(kind: type[Superposition], controller: str, **sizes: Any) -> type[Superposition]:
    """Return a kind of memory with its sizes, the attributes of `Superposition`."""
    return type(kind.__name__, (kind,), {"controller": CONTROLLERS[controller].kind, **sizes})


def write_linear(x: Tensor, weight: Tensor, bias: Tensor, out: Tensor) -> None:
    """Write W x + b, of one network or of R of them."""
    kernel = torch.addmm if x.dim() == 2 else torch.baddbmm
    kernel(bias.unsqueeze(-1), weight, x, out=out)


def add_linear(d_out: Tensor, x: Tensor, d_weight: Tensor, d_bias: Tensor) -> None:
    """Add what the gradient of W x + b says of W and b."""
    add_product(d_out, x.mT, d_weight)
    d_bias += d_out.sum(-1)


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

SMALL = 32
"""A width up to which runs gain from going together on a CPU: calls cost more than arithmetic."""


class MemoryNetwork(nn.Module):
    """Symbol embeddings, a controller that reads and works a memory, a linear read-out.

    The state before the first symbol is zero, and it is also the state after the empty string.

    The library's cell holds the controller's parameters: its input is a symbol's embedding with
    what was read behind it. `says` holds the layers of what it says: the first gives the logits
    of the actions and the value or, if the value has hidden units, their first layer.

    Args:
        task: gives the symbols, the number of outputs per answer, and where to answer.
        width: W.
        controller: a name in `CONTROLLERS`.
        reading: D.
        actions: their logits.
        initial: whose initial weights, ``torch`` or ``haiku``.
        hidden: the value's hidden units, layer by layer.
        traits: what is to be said of the family; the rest is said here.
    """

    under_vmap = False

    def __init__(
        self,
        task: Task,
        width: int,
        controller: str,
        *,
        reading: int,
        actions: int,
        initial: str,
        hidden: Sequence[int] = (),
        traits: Traits,
    ) -> None:
        super().__init__()
        self.layout, self.width, self.controller = task.layout, width, controller
        self.embedding = nn.Embedding(len(task.alphabet), width)
        kind = CONTROLLERS[controller]
        self.cell = kind.make(width + reading, width)
        first, *further = *hidden, reading
        self.says = nn.ModuleList([nn.Linear(width, actions + first)])
        for before, after in pairwise((first, *further)):
            self.says.append(nn.Linear(before, after))
        self.readout = nn.Linear(width, task.outputs)
        if initial == "haiku":
            self._begin_as_haiku()
        self.traits = replace(
            traits,
            mechanisms=(*kind.mechanisms, *traits.mechanisms),
            padding=True,
            cpu_cohort=2 if width <= SMALL else 0,
            symbol_embedding="embedding",
            depth=1,
            width=width,
        )

    def _begin_as_haiku(self) -> None:
        """Draw weights that are normal, cut off at two deviations of 1/√(a layer's inputs).

        Symbols are one-hot there; here their embeddings begin with a length of about 1, at about
        right angles. Biases are 0, but 1 for an LSTM's forget gate.
        """
        cell = self.cell
        fan_in = len(self.embedding.weight) + cell.input_size - self.width
        is_lstm = isinstance(cell, nn.LSTMCell)
        # An LSTM has one layer for all that it sees, an Elman network two, which are added.
        total = fan_in + self.width
        weights = [
            (cell.weight_ih, total if is_lstm else fan_in),
            (cell.weight_hh, total if is_lstm else self.width),
            *((layer.weight, layer.in_features) for layer in (*self.says, self.readout)),
        ]
        for weight, inputs in weights:
            deviation = inputs**-0.5
            nn.init.trunc_normal_(weight, std=deviation, a=-2 * deviation, b=2 * deviation)
        nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
        for name, parameter in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
        if is_lstm:
            _, forget, _, _ = cell.bias_ih.detach().chunk(4)
            nn.init.ones_(forget)

    def kind(self, batch: Batch, kept: bool) -> tuple[type[Superposition], tuple[Tensor, ...]]:
        """Return the recurrence for a batch, and what it needs besides the weights.

        Args:
            batch: of strings.
            kept: whether there may be a way back.
        """
        raise NotImplementedError

    def forward(self, batch: Batch) -> Tensor:
        states_BNW = self.states(batch)[..., : self.width]
        states_BMW = functional.pad(states_BNW, (0, 0, 1, 0))
        states_BQW = answering_states(states_BMW, self.layout, batch)
        return read_asked(self.readout, states_BQW, batch.asked)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``state``, (B, N, W), and ``reading``, (B, N, D), after every symbol."""
        together_BNY = self.states(batch)
        return {
            "state": together_BNY[..., : self.width],
            "reading": together_BNY[..., self.width :],
        }

    def states(self, batch: Batch) -> Tensor:
        """Return the controller's state and what it then reads, (B, N, W + D)."""
        cell = self.cell
        sizes = [self.width, cell.input_size - self.width]
        of_symbol, of_reading = torch.split(cell.weight_ih, sizes, 1)
        if batch.symbols.shape[1] == 0:
            return of_reading.new_zeros((*batch.symbols.shape, cell.input_size))
        # With few symbols, what the gates get from each is computed once.
        bias = cell.bias_ih + cell.bias_hh
        table_GS = functional.linear(self.embedding.weight, of_symbol, bias).t()
        weight_GW = torch.cat((cell.weight_hh, of_reading), 1)
        layers: Iterable[Any] = self.says
        weights = [part for layer in layers for part in (layer.weight, layer.bias)]
        kind, more = self.kind(batch, torch.is_grad_enabled())
        inputs_NSB = one_hot(batch.symbols.t(), table_GS.shape[1], table_GS.dtype)
        return states(kind, inputs_NSB, True, table_GS, weight_GW, *weights, *more).permute(2, 0, 1)
