"""A recurrent network that works a memory: what the families with one have in common.

Legend: B batch, N symbols, W the controller's width, D what it reads of its memory, S symbols in
the alphabet, G gates times W, O what it says to its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from formalbench import Batch, Task, Traits, read_asked
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.layers.answers import answering_states
from formalbench_models.layers.controllers import CONTROLLERS
from formalbench_models.layers.superposition import Superposition
from formalbench_models.recurrence import one_hot, states

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
        seen = len(self.embedding.weight) + cell.input_size - self.width
        is_lstm = isinstance(cell, nn.LSTMCell)
        # An LSTM has one layer for all that it sees, an Elman network two, which are added.
        together = seen + self.width
        weights = [
            (cell.weight_ih, together if is_lstm else seen),
            (cell.weight_hh, together if is_lstm else self.width),
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
        """Return logits: (B, K), (B, N, K) or (B, N+1, K), by the layout."""
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
        says: Iterable[Any] = self.says
        said = [part for layer in says for part in (layer.weight, layer.bias)]
        kind, more = self.kind(batch, torch.is_grad_enabled())
        inputs_NSB = one_hot(batch.symbols.t(), table_GS.shape[1], table_GS.dtype)
        return states(kind, inputs_NSB, True, table_GS, weight_GW, *said, *more).permute(2, 0, 1)
