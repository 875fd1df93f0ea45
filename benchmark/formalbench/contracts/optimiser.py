"""Base classes of optimisers and learning-rate schedules.

Legend: R runs, P parameters of a network, S numbers of a step.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.network import ParameterGroup


class ParameterInfo(NamedTuple):
    """A parameter tensor of a network, and its columns in a row of all P numbers.

    Attributes:
        name: as in ``network.named_parameters()``.
        shape: of the tensor; the columns hold its numbers in this order.
        columns: its columns in the matrices passed to `Optimiser.step`.
        kind: ``embedding``; ``readout``, the weight of the network's last `torch.nn.Linear`;
            ``hidden``, the weight matrix of any other linear or recurrent layer of torch; else
            ``other``, such as biases, gains and a module's own parameters.
        group: its group in `formalbench.Traits.groups`; None for none.
    """

    name: str
    shape: tuple[int, ...]
    columns: slice
    kind: Literal["embedding", "readout", "hidden", "other"] = "other"
    group: ParameterGroup | None = None


class Optimiser(ABC):
    """Updates the parameters of R runs, which are the rows of one matrix.

    Args:
        config: its options.

    Attributes:
        slots: names of its state tensors, such as moments; zeros before the first step.
        layout: the parameter tensors in the order of their columns, the same for every run; empty
            before `with_layout`.

    Example:
        >>> class SignDescent(Optimiser):
        ...     def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        ...         parameters_RP.sub_(rate * gradient_RP.sign())
    """

    slots: tuple[str, ...] = ()
    layout: tuple[ParameterInfo, ...] = ()

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def with_layout(self, layout: tuple[ParameterInfo, ...]) -> Self:
        """Return a copy of this optimiser for networks with this layout.

        The trainer calls it once, before the first step. Override it to prepare data that depends
        on the layout.
        """
        bound = copy.copy(self)
        bound.layout = layout
        return bound

    @property
    def weight_decay(self) -> float:
        """Weight decay of parameters whose group sets none; by default the config's."""
        return float(getattr(self.config, "weight_decay", 0.0))

    def scalars(self, step: int) -> tuple[float, ...]:
        """Return the S scalars of a step, such as bias corrections, which are passed to `step`.

        Args:
            step: counted from 1.
        """
        return ()

    @abstractmethod
    def step(
        self,
        parameters_RP: Tensor,
        gradient_RP: Tensor,
        slots: Sequence[Tensor],
        rate: Tensor,
        scalars: Tensor,
        decay: Tensor | float,
    ) -> None:
        """Update the parameters in place, without reading a value from the device.

        Args:
            parameters_RP: parameters of the runs.
            gradient_RP: clipped gradients; may be overwritten.
            slots: state tensors, (R, P) each, in the order of their names.
            rate: learning rates, (R, 1); (R, P) if a network names groups of parameters.
            scalars: scalars of this step, (S,).
            decay: weight decay; (1, P) if a network names groups of parameters.
        """

    def clipped_step(
        self,
        parameters_RP: Tensor,
        gradient_RP: Tensor,
        slots: Sequence[Tensor],
        rate: Tensor,
        scalars: Tensor,
        decay: Tensor | float,
        largest: float,
    ) -> None:
        """Clip gradients to norm `largest`, run by run, and update the parameters.

        Override it if a kernel clips and updates together.
        """
        clipped_RP = clip(gradient_RP, largest)
        self.step(parameters_RP, clipped_RP, slots, rate, scalars, decay)


class Schedule(ABC):
    """Returns the learning rate of a step. One object is shared by all runs and has no state.

    Args:
        config: its options.

    Example:
        >>> class Halving(Schedule):
        ...     def rate(self, step, steps, base, memory):
        ...         return base * 0.5 ** (4 * step // steps)
    """

    def __init__(self, config: Any = None) -> None:
        self.config = config

    @abstractmethod
    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        """Return the learning rate of a step, before the protocol's decay at the end.

        Args:
            step: counted from 0.
            steps: maximum number of steps of a run.
            base: the run's learning rate.
            memory: state of the run, kept by `evaluated`; empty before the first evaluation.
        """

    def evaluated(self, memory: dict[str, float], metrics: Mapping[str, float]) -> None:
        """Called after an evaluation of a run; may change `memory`.

        Args:
            memory: state of the run; saved in checkpoints.
            metrics: as in `formalbench.Progress`; validation metrics only if the run has just been
                validated.
        """
        return


def clip(gradient_RP: Tensor, largest: float) -> Tensor:
    """Clip gradients to norm `largest`, run by run."""
    import torch  # imported here, so that announcing an optimiser does not import torch

    norm_R1: Tensor = torch.linalg.vector_norm(gradient_RP, dim=1, keepdim=True)
    factor_R1: Tensor = (largest / (norm_R1 + 1e-6)).clamp(max=1.0)
    return gradient_RP * factor_R1
