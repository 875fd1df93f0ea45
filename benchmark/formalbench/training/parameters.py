"""The parameters of many networks as one matrix, and how a step updates it.

With one tensor, the optimiser is a few operations for any network, a run's gradient norm is the
norm of a row, and runs leave or join a program by selecting rows.

Legend: R runs, P parameters of a network, T steps, S scalars of a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.network import ParameterGroup, traits_of
from formalbench.contracts.training import Optimiser, ParameterInfo


@dataclass(frozen=True)
class Layout:
    """The order and shapes of a network's parameters in a row.

    Attributes:
        names: names of the parameters, in the network's order.
        shapes: one per name.
    """

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]

    @classmethod
    def of(cls, network: nn.Module) -> Layout:
        """Return the layout of a network; all its trained parameters must have one dtype.

        Raises:
            ValueError: if it has no trained parameters.
        """
        parameters = trained(network)
        if not parameters:
            raise ValueError("the network has no trainable parameter")
        return cls(tuple(parameters), tuple(parameter.shape for parameter in parameters.values()))

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
        return torch.cat([tensor.reshape(len(tensor), -1) for tensor in tensors], dim=1)

    def stack(self, networks: Sequence[nn.Module]) -> Tensor:
        """Return the parameters of networks as rows, (R, P)."""
        rows = [
            torch.cat([parameter.detach().flatten() for parameter in trained(network).values()])
            for network in networks
        ]
        return torch.stack(rows)

    def load(self, network: nn.Module, flat_P: Tensor) -> None:
        """Copy a row into a network in place, so that recorded kernels stay valid."""
        self.fill(list(trained(network).values()), flat_P)

    @torch.no_grad()
    def fill(self, parameters: Sequence[Tensor], flat_P: Tensor) -> None:
        """Copy a row into a network's trained parameters, given in the order of the names."""
        parts = torch.split(flat_P, [math.prod(shape) for shape in self.shapes])
        pairs = zip(parts, self.shapes, strict=True)
        # One call, since calls dominate the time of a step for small networks.
        torch._foreach_copy_(list(parameters), [part.view(shape) for part, shape in pairs])


def trained(network: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that training changes, without frozen ones."""
    return {name: p for name, p in network.named_parameters() if p.requires_grad}


def fixed(network: nn.Module) -> dict[str, Tensor]:
    """Return what training does not change: frozen parameters and buffers."""
    frozen = {name: p.detach() for name, p in network.named_parameters() if not p.requires_grad}
    return frozen | dict(network.named_buffers())


class Rows(NamedTuple):
    """What training changes, a row per run: parameters and the optimiser's slots, (R, P) each."""

    parameters: Tensor
    slots: tuple[Tensor, ...]

    @classmethod
    def start(cls, parameters_RP: Tensor, optimiser: Optimiser) -> Rows:
        """Return the rows before the first step."""
        return cls(parameters_RP, tuple(torch.zeros_like(parameters_RP) for _ in optimiser.slots))


@dataclass(frozen=True)
class Update:
    """The parameter update: gradient clipping and the optimiser's step.

    Attributes:
        optimiser: takes the step.
        largest: maximum gradient norm of a run; None for no clipping.
        factors: factors of the learning rate, (1, P); None if all parameters have the same rate.
        decay: weight decay; (1, P) if it differs between parameters.
    """

    optimiser: Optimiser
    largest: float | None
    factors: Tensor | None
    decay: Tensor | float

    def take(self, rows: Rows, gradient_RP: Tensor, rate: Tensor, scalars: Tensor) -> None:
        """Take a step in place.

        Args:
            rows: the rows of the runs.
            gradient_RP: their gradients; may be overwritten.
            rate: their learning rates, (R, 1).
            scalars: the optimiser's scalars of the step, (S,).
        """
        if self.factors is not None:
            rate = rate * self.factors
        arguments = (rows.parameters, gradient_RP, rows.slots, rate, scalars, self.decay)
        if self.largest is None:
            self.optimiser.step(*arguments)
        else:
            self.optimiser.clipped_step(*arguments, self.largest)


def make_update(optimiser: Optimiser, largest: float | None, network: nn.Module) -> Update:
    """Return the parameter update of a network's runs.

    Args:
        optimiser: the protocol's optimiser.
        largest: maximum gradient norm of a run; None for no clipping.
        network: the network, on its device; its traits define groups of parameters.

    Raises:
        ValueError: if a group matches no parameter of the network.
    """
    layout = layout_of(network)
    optimiser = optimiser.with_layout(layout)
    if not traits_of(network).groups:
        return Update(optimiser, largest, None, optimiser.weight_decay)
    tensor_groups = [info.group for info in layout]
    factors = [1.0 if group is None else group.rate for group in tensor_groups]
    decays = [
        optimiser.weight_decay
        if group is None or group.weight_decay is None
        else group.weight_decay
        for group in tensor_groups
    ]
    return Update(optimiser, largest, _expand(factors, network), _expand(decays, network))


def layout_of(network: nn.Module) -> tuple[ParameterInfo, ...]:
    """Return descriptions of a network's parameter tensors, for the optimiser.

    Raises:
        ValueError: if no parameter is in one of its groups.
    """
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
    if read_out is not None and kinds.get(read_out) == "hidden":  # unless tied to the embedding
        kinds[read_out] = "readout"
    groups = traits_of(network).groups
    layout, first = [], 0
    for name, parameter in trained(network).items():
        columns = slice(first, first + parameter.numel())
        shape, group = tuple(parameter.shape), _group_of(name, groups)
        layout.append(ParameterInfo(name, shape, columns, kinds.get(parameter, "other"), group))
        first = columns.stop
    used = [info.group for info in layout]
    for unused in (group for group in groups if group not in used):
        raise ValueError(f"no parameter is named {' or '.join(unused.names)}")
    return tuple(layout)


def kept_buffers(network: nn.Module) -> dict[str, Tensor]:
    """Return copies of the buffers that belong to a network's weights, by name."""
    kept = network.state_dict().keys()
    return {name: one.clone() for name, one in network.named_buffers() if name in kept}


def check_buffers(network: nn.Module, before: Mapping[str, Tensor]) -> None:
    """Check that training has not changed a network's buffers: a run keeps none.

    Raises:
        ValueError: if it has, as a batch norm does.
    """
    now = kept_buffers(network)
    changed = [name for name in now if not torch.equal(now[name], before[name])]
    if changed:
        raise ValueError(
            f"training changes the buffer {changed[0]}, and the best weights are kept without it: "
            "use a layer without running statistics, such as LayerNorm"
        )


def _group_of(name: str, groups: Sequence[ParameterGroup]) -> ParameterGroup | None:
    """Return the first group of a parameter; a backbone's names have a prefix in the network."""
    for group in groups:
        if any(fnmatchcase(name, p) or fnmatchcase(name, f"*.{p}") for p in group.names):
            return group
    return None


def _expand(values: Sequence[float], network: nn.Module) -> Tensor:
    """Expand one value per parameter tensor to one per parameter, (1, P)."""
    parameters = trained(network).values()
    parts = [
        parameter.detach().new_full((1, parameter.numel()), value)
        for parameter, value in zip(parameters, values, strict=True)
    ]
    return Layout.of(network).join(parts)


def numbers_of_steps(
    rates_TR: Sequence[Sequence[float]], first: int, optimiser: Optimiser, like: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """Return the rates (R, 1) and scalars (S,) of each step, for the optimiser.

    Args:
        rates_TR: learning rates.
        first: the first of the steps, counted from 0.
        optimiser: computes the scalars.
        like: a tensor with the dtype and device of the result.
    """
    scalars = [optimiser.scalars(first + 1 + index) for index in range(len(rates_TR))]
    rate_TR1 = torch.tensor(rates_TR, dtype=like.dtype).unsqueeze(-1).to(like.device)
    scalars_TS = torch.tensor(scalars, dtype=like.dtype).to(like.device)
    return list(zip(rate_TR1.unbind(), scalars_TS.unbind(), strict=True))
