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
        """Read the layout off a network; all its trained parameters must have one dtype.

        Raises:
            ValueError: if it has nothing to train.
        """
        named = trained(network)
        if not named:
            raise ValueError("the network has no parameter to train")
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
            torch.cat([parameter.detach().flatten() for parameter in trained(network).values()])
            for network in networks
        ]
        return torch.stack(rows)

    def load(self, network: nn.Module, flat_P: Tensor) -> None:
        """Copy a row into a network, into the memory its kernels know."""
        self.fill(list(trained(network).values()), flat_P)

    @torch.no_grad()
    def fill(self, parameters: Sequence[Tensor], flat_P: Tensor) -> None:
        """Copy a row into a network's trained parameters, given in the order of the names."""
        parts = torch.split(flat_P, [math.prod(shape) for shape in self.shapes])
        pairs = zip(parts, self.shapes, strict=True)
        # All in one call: for small networks calls are what a step's time goes into.
        torch._foreach_copy_(list(parameters), [part.view(shape) for part, shape in pairs])


def trained(network: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that training changes; frozen ones are left alone."""
    return {name: p for name, p in network.named_parameters() if p.requires_grad}


def fixed(network: nn.Module) -> dict[str, Tensor]:
    """Return what training leaves alone: frozen parameters and buffers."""
    frozen = {name: p.detach() for name, p in network.named_parameters() if not p.requires_grad}
    return frozen | dict(network.named_buffers())
