"""The parameters of R runs as one matrix: a row per run.

One tensor makes the rest simple: the optimiser is a handful of operations whatever the
network, a run's gradient norm is a row's norm, and runs leave or join a program by taking
rows.

Legend: R runs, P parameters of a network.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Layout:
    """Where each parameter of a network stands in a row.

    Attributes:
        names: of the parameters, in the network's order.
        shapes: one per name.
    """

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]

    @classmethod
    def of(cls, network: nn.Module) -> Layout:
        """Read the layout off a network; all its parameters must have one dtype."""
        named = dict(network.named_parameters())
        return cls(tuple(named), tuple(parameter.shape for parameter in named.values()))

    def views(self, flat_RP: Tensor) -> dict[str, Tensor]:
        """Return each parameter of all runs, (R, *shape), as a view."""
        sizes = [math.prod(shape) for shape in self.shapes]
        parts = torch.split(flat_RP, sizes, dim=1)
        return {
            name: part.view(len(flat_RP), *shape)
            for name, part, shape in zip(self.names, parts, self.shapes, strict=True)
        }

    def join(self, tensors: Iterable[Tensor]) -> Tensor:
        """Return tensors (R, *shape), in the order of the names, as one (R, P)."""
        return torch.cat([tensor.flatten(1) for tensor in tensors], dim=1)

    def stack(self, networks: Sequence[nn.Module]) -> Tensor:
        """Return the parameters of networks as rows, (R, P)."""
        rows = [
            torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
            for network in networks
        ]
        return torch.stack(rows)
