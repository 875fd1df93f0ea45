"""The readout: turns states of a backbone into answers.

Legend: B strings, N symbols, D width of a state, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from formalbench.contracts.network import Batch, Traceable, Traits, traits_of

if TYPE_CHECKING:
    from formalbench.contracts.task import Task


def read_asked(
    read: Callable[[Tensor], Tensor], states_BND: Tensor, asked_BN: Tensor | None
) -> Tensor:
    """Return the logits of scored answers, (B, N, K); 0 elsewhere.

    Args:
        read: function from states to logits.
        states_BND: the states.
        asked_BN: `Batch.asked`; None if all are scored.
    """
    if asked_BN is None:
        logits: Tensor = read(states_BND)
        return logits
    logits_PK: Tensor = read(states_BND[asked_BN])
    zeros = logits_PK.new_zeros(*asked_BN.shape, logits_PK.shape[-1])
    return zeros.index_put((asked_BN,), logits_PK)


class Readout(nn.Module):
    """A backbone with a linear map from its states to answers.

    Under the layout ``last`` it reads the state at each string's last symbol, under ``each`` the
    state at every symbol, under ``prefixes`` also a learned vector for the empty prefix, which is
    used for the empty string as well. A batch of empty strings never reaches the backbone.

    Args:
        backbone: returns states (B, N, D); D is in its traits.
        task: decides layout and number of outputs.
    """

    def __init__(self, backbone: nn.Module, task: Task) -> None:
        super().__init__()
        width = traits_of(backbone).backbone
        self.layout = task.layout
        self.backbone = backbone
        self.read = nn.Linear(width, task.outputs)
        if self.layout != "each":  # this layout has no answer for the empty prefix
            self.empty = nn.Parameter(torch.zeros(width))
        self.traits = _readout_traits(traits_of(backbone))

    def forward(self, batch: Batch) -> Tensor:
        """Return logits (B, K), (B, N, K) or (B, N+1, K), depending on the layout."""
        states_BND = self._states(batch)
        return read_asked(self.read, self._select(states_BND, batch.lengths), batch.asked)

    def _states(self, batch: Batch) -> Tensor:
        shape = (*batch.symbols.shape, self.read.in_features)
        if shape[1] == 0:
            return self.read.weight.new_zeros(shape)
        states_BND: Tensor = self.backbone(batch)
        if tuple(states_BND.shape) != shape:
            name, actual = type(self.backbone).__name__, tuple(states_BND.shape)
            raise ValueError(f"{name} is a backbone and gave {actual}, not states {shape}")
        return states_BND

    def _select(self, states_BND: Tensor, lengths_B: Tensor | None) -> Tensor:
        """Return the states to answer from."""
        if self.layout == "each":
            return states_BND
        count, length, width = states_BND.shape
        if self.layout == "last" and lengths_B is None:
            return states_BND[:, -1] if length else self.empty.expand(count, width)
        empty_B1D = self.empty.expand(count, 1, width)
        states_BMD = torch.cat((empty_B1D, states_BND), dim=1)
        if lengths_B is None or self.layout != "last":
            return states_BMD
        return states_BMD.gather(1, lengths_B[:, None, None].expand(-1, 1, width)).squeeze(1)


class TraceableReadout(Readout):
    """A readout of a backbone with a trace."""

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return the backbone's trace."""
        backbone: Any = self.backbone
        trace: dict[str, Tensor] = backbone.trace(batch)
        return trace


def read_out(backbone: nn.Module, task: Task) -> Readout:
    """Add a readout to a backbone."""
    kind = TraceableReadout if isinstance(backbone, Traceable) else Readout
    return kind(backbone, task)


def _readout_traits(traits: Traits) -> Traits:
    """Return a backbone's traits for the network with readout."""
    groups = tuple(
        replace(group, names=tuple(f"backbone.{name}" for name in group.names))
        for group in traits.groups
    )
    embedding = f"backbone.{traits.symbol_embedding}" if traits.symbol_embedding else ""
    return replace(traits, backbone=0, groups=groups, symbol_embedding=embedding)
