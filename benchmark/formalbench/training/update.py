"""How a step's gradients change R runs: optimiser, clipping and groups of parameters.

Legend: R runs, P parameters of a network, T steps, S numbers of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.network import ParameterGroup, traits_of
from formalbench.contracts.optimiser import Optimiser, ParameterInfo
from formalbench.training.flat import Layout, trained


class Rows(NamedTuple):
    """What training changes, a row per run: parameters and the optimiser's slots, (R, P) each."""

    parameters: Tensor
    slots: tuple[Tensor, ...]

    @classmethod
    def start(cls, parameters_RP: Tensor, optimiser: Optimiser) -> Rows:
        """Return what there is before the first step."""
        return cls(parameters_RP, tuple(torch.zeros_like(parameters_RP) for _ in optimiser.slots))


@dataclass(frozen=True)
class Update:
    """What is done with gradients.

    Attributes:
        optimiser: takes the step.
        largest: gradient norm of a run; None for no clipping.
        factors: times the learning rate, (1, P); None if all parameters have the same.
        decay: weight decay; (1, P) if not all parameters have the same.
    """

    optimiser: Optimiser
    largest: float | None
    factors: Tensor | None
    decay: Tensor | float

    def take(self, rows: Rows, gradient_RP: Tensor, rate: Tensor, scalars: Tensor) -> None:
        """Take a step in place.

        Args:
            rows: of the runs.
            gradient_RP: their gradients; may be overwritten.
            rate: their learning rates, (R, 1).
            scalars: the optimiser's numbers of the step, (S,).
        """
        if self.factors is not None:
            rate = rate * self.factors
        arguments = (rows.parameters, gradient_RP, rows.slots, rate, scalars, self.decay)
        if self.largest is None:
            self.optimiser.step(*arguments)
        else:
            self.optimiser.clipped_step(*arguments, self.largest)


def make_update(optimiser: Optimiser, largest: float | None, network: nn.Module) -> Update:
    """Return what is done with the gradients of a network's runs.

    Args:
        optimiser: the protocol's.
        largest: gradient norm of a run; None for no clipping.
        network: on its device; its traits name groups of parameters.

    Raises:
        ValueError: if a group names no parameter of it.
    """
    layout = layout_of(network)
    optimiser = optimiser.with_layout(layout)
    groups = traits_of(network).groups
    if not groups:
        return Update(optimiser, largest, None, optimiser.weight_decay)
    found = [info.group for info in layout]
    for group in groups:
        if group not in found:
            raise ValueError(f"no parameter is called {' or '.join(group.names)}")
    factors = [1.0 if group is None else group.rate for group in found]
    decays = [
        optimiser.weight_decay
        if group is None or group.weight_decay is None
        else group.weight_decay
        for group in found
    ]
    return Update(optimiser, largest, _spread(factors, network), _spread(decays, network))


def layout_of(network: nn.Module) -> tuple[ParameterInfo, ...]:
    """Return the parameter tensors of a network as an optimiser is told of them."""
    kinds: dict[Tensor, Literal["embedding", "readout", "hidden"]] = {}
    read_out: Tensor | None = None
    for module in network.modules():
        own = module.parameters(recurse=False)
        if isinstance(module, nn.Embedding):
            kinds |= dict.fromkeys(own, "embedding")
        elif isinstance(module, nn.Linear | nn.RNNBase | nn.RNNCellBase):
            kinds |= {one: "hidden" for one in own if one.ndim == 2 and one not in kinds}
            if isinstance(module, nn.Linear):
                read_out = module.weight
    if read_out is not None and kinds.get(read_out) == "hidden":  # not tied to the embedding
        kinds[read_out] = "readout"
    groups = traits_of(network).groups
    layout, first = [], 0
    for name, parameter in trained(network).items():
        columns = slice(first, first + parameter.numel())
        shape, group = tuple(parameter.shape), _group_of(name, groups)
        layout.append(ParameterInfo(name, shape, columns, kinds.get(parameter, "other"), group))
        first = columns.stop
    return tuple(layout)


def _group_of(name: str, groups: Sequence[ParameterGroup]) -> ParameterGroup | None:
    """Return the first group a parameter is in; a backbone's names begin inside the network."""
    for group in groups:
        if any(fnmatchcase(name, p) or fnmatchcase(name, f"*.{p}") for p in group.names):
            return group
    return None


def _spread(values: Sequence[float], network: nn.Module) -> Tensor:
    """Return a number per parameter tensor as one per parameter, (1, P)."""
    parameters = trained(network).values()
    parts = [
        parameter.detach().new_full((1, parameter.numel()), value)
        for parameter, value in zip(parameters, values, strict=True)
    ]
    return Layout.of(network).join(parts)


def numbers_of_steps(
    rates_TR: Sequence[Sequence[float]], first: int, optimiser: Optimiser, like: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """Return what an optimiser is told of some steps: rates (R, 1) and numbers (S,) of each.

    Args:
        rates_TR: learning rates.
        first: the first of the steps, counted from 0.
        optimiser: says which numbers.
        like: their dtype and device.
    """
    scalars = [optimiser.scalars(first + 1 + index) for index in range(len(rates_TR))]
    rate_TR1 = torch.tensor(rates_TR, dtype=like.dtype).unsqueeze(-1).to(like.device)
    scalars_TS = torch.tensor(scalars, dtype=like.dtype).to(like.device)
    return list(zip(rate_TR1.unbind(), scalars_TS.unbind(), strict=True))
