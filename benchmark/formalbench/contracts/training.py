"""Base classes of what a protocol names: optimisers, schedules, samplers and penalties.

Legend: R runs, P parameters of a network, S numbers of a step.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from formalbench.contracts.source import HasFixedStrings

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.network import Example, ParameterGroup
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.source import Stream
    from formalbench.contracts.task import Task


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


Weights = npt.NDArray[np.float64]


class Sampler:
    """Selects lengths and strings of batches; a protocol names it in its curriculum.

    This class is the kind ``uniform``: all lengths of the training split are equally frequent.
    Override what differs. Results of methods must depend only on their arguments, so that runs of
    one seed train on the same strings and resumed runs continue with the strings that they would
    have had.

    Args:
        config: its options.

    Example:
        >>> class LongFirst(Sampler):
        ...     def weights(self, task, protocol, lengths):
        ...         return np.array(lengths, dtype=float)
    """

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def stages(self, protocol: Protocol, lengths: Sequence[int]) -> list[list[int]]:
        """Return the lengths of each stage of a run; the last stage has all.

        A run advances to the next stage at an evaluation if its training error since the last one
        is at most ``curriculum.error``.

        Args:
            protocol: of the run.
            lengths: lengths of the training split, in order.
        """
        return [list(lengths)]

    def stage(self, protocol: Protocol, reached: int, done: int) -> int:
        """Return the stage of a run until its next evaluation; -1 for the last stage.

        Args:
            protocol: of the run.
            reached: highest stage reached, counted from 0.
            done: number of steps taken.
        """
        return reached

    def weights(self, task: Task, protocol: Protocol, lengths: Sequence[int]) -> Weights | None:
        """Return the relative frequency of each length; None for equal ones.

        With fixed strings the default frequencies sample every string equally often.

        Args:
            task: the training task.
            protocol: of the run; a batch has ``protocol.strings_at(length)`` strings.
            lengths: of the training split, in order.
        """
        source = task.of("train").source
        if not isinstance(source, HasFixedStrings):
            return None
        shares = np.array([source.number(n) for n in lengths], dtype=np.float64)
        weights: Weights = shares / [protocol.strings_at(n) for n in lengths]
        return weights

    def lengths(
        self,
        protocol: Protocol,
        stage: Sequence[int],
        batch: int,
        stream: Stream,
        count: int,
        weights: Weights | None,
    ) -> npt.NDArray[np.int64]:
        """Sample the length of a batch, one for all of its strings.

        Args:
            protocol: of the run.
            stage: allowed lengths, in order.
            batch: which, counted from 0.
            stream: random numbers; depends on the other arguments and the seed.
            count: number of lengths: 1.
            weights: from `weights`, for this stage or for all lengths.
        """
        lengths = np.asarray(stage, dtype=np.int64)
        if weights is None:
            return lengths[stream.integers(len(stage), count)]
        sums = np.cumsum(weights[: len(stage)])  # a stage is a prefix of all lengths
        indices = np.searchsorted(sums, stream.uniform(count) * sums[-1], side="right")
        samples: npt.NDArray[np.int64] = lengths[np.minimum(indices, len(stage) - 1)]
        return samples

    def strings(
        self, task: Task, protocol: Protocol, seed: int, batch: int, length: int, count: int
    ) -> Example:
        """Return the strings of one length in a batch, with their targets.

        Args:
            task: the training part of the task (`formalbench.Task.of`).
            protocol: of the run.
            seed: of the run.
            batch: which, counted from 0.
            length: string length.
            count: number of strings.
        """
        return task.sample(task.stream("train", *protocol.key, seed, batch), length, count)


class Penalty(ABC):
    """A term of the loss that does not depend on targets; the protocol sets its weight.

    The loss of a step is the objective's, plus the weight times the term of each penalty, averaged
    over the batches of the step. A run whose term is not finite has diverged.

    Attributes:
        traced: whether `term` gets a trace. This costs a second forward pass at every step, and
            requires networks with a method ``trace``.

    Example:
        >>> class SquaredLogits(Penalty):
        ...     def term(self, logits, trace, parameters):
        ...         return logits.square().mean()
    """

    traced: bool = False

    @abstractmethod
    def term(
        self, logits: Tensor, trace: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """Return the term for a batch of strings, a differentiable scalar.

        It must run under `torch.func.vmap`, which passes one run's tensors at a time.

        Args:
            logits: logits of the strings, in the objective's layout, including answers that are not
                scored.
            trace: tensors of the network's trace by name; empty unless `traced`.
            parameters: all trained parameters, by name.
        """


class WeightedPenalty(NamedTuple):
    """A penalty with its weight in a protocol."""

    name: str
    weight: float
    penalty: Penalty
