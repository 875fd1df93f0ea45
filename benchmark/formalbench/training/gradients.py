"""Compute the gradients of R runs: as one program, or run by run.

Legend: R runs, B strings, N symbols, P parameters of a network.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Example, Traceable, traits_of
from formalbench.contracts.task import Task
from formalbench.contracts.training import Penalty, WeightedPenalty
from formalbench.device import forward_in
from formalbench.training.parameters import Layout, fixed, trained


class Gradients(NamedTuple):
    """Gradients, losses and errors of a batch.

    Attributes:
        gradients: the gradient of each run's loss, (R, P).
        losses: in nats, (R,).
        wrong: number of strings that each run got wrong, (R,); a partly correct string counts as
            a fraction.
    """

    gradients: Tensor
    losses: Tensor
    wrong: Tensor


class Program(ABC):
    """Computes the gradients of runs that train on strings of one shape.

    Args:
        networks: one per run of the cohort; their structure and buffers are used, and their
            parameters are overwritten.
        task: its objective defines the loss.

    Attributes:
        layout: the layout of a run's parameters.
        precision: of the forward pass, one of a protocol's values.
        penalties: weighted terms that are added to the loss.
    """

    precision = "fp32"
    penalties: Sequence[WeightedPenalty] = ()

    def __init__(self, networks: Sequence[nn.Module], task: Task) -> None:
        self.networks = networks
        self.layout = Layout.of(networks[0])
        self._objective = task.objective
        self._primary = task.primary

    @abstractmethod
    def select(self, runs: Sequence[int]) -> Any:
        """Return some runs of the cohort in the form that `gradients` takes."""

    @abstractmethod
    def gradients(
        self, selected: Any, flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        """Compute the gradients of some runs for one step.

        Args:
            selected: R runs, as returned by `select`.
            flat_RP: their parameters.
            example: their strings and targets, (R, B, …).
            noise: seeds of random numbers inside the network, such as dropout, one per run.
        """

    def _call(self, device: torch.device, forward: Callable[[], Tensor]) -> Tensor:
        """Return logits in fp32 or better, computed in this program's precision."""
        with forward_in(self.precision, device):
            logits = forward()
        return logits.float() if logits.dtype == torch.bfloat16 else logits

    def _penalised(
        self,
        loss: Tensor,
        logits: Tensor,
        trace: Callable[[], Mapping[str, Tensor]],
        parameters: Mapping[str, Tensor],
    ) -> Tensor:
        """Return a loss plus its penalties; some penalties need a trace."""
        traced = any(one.penalty.traced for one in self.penalties)
        with forward_in(self.precision, logits.device):
            tensors = trace() if traced else {}
        for one in self.penalties:
            own = tensors if one.penalty.traced else {}
            loss = loss + one.weight * one.penalty.term(logits, own, parameters)
        return loss

    def _right(self, logits: Tensor, example: Example) -> Tensor:
        return self._objective.right(logits, example, self._primary)


class SingleNetwork(NamedTuple):
    """A network that trains alone, and its trained parameters."""

    network: nn.Module
    parameters: Sequence[Tensor]


class SequentialGradients(Program):
    """Run by run: for networks that `vmap` does not support, or where it is slower."""

    def select(self, runs: Sequence[int]) -> list[SingleNetwork]:
        """Return the runs' networks."""
        networks = [self.networks[run] for run in runs]
        return [SingleNetwork(network, list(trained(network).values())) for network in networks]

    def gradients(
        self, selected: list[SingleNetwork], flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        gradients_RP, per_run = torch.empty_like(flat_RP), []
        for row, one in enumerate(selected):
            self.layout.fill(one.parameters, flat_RP[row])
            _seed(noise[row], example.inputs.device)
            gradients, *counts = self._one(one, example.map(itemgetter(row)))
            torch.cat([gradient.flatten() for gradient in gradients], out=gradients_RP[row])
            per_run.append(counts)
        sums = (torch.stack(counts) for counts in zip(*per_run, strict=True))
        return Gradients(gradients_RP, *sums)

    def _one(self, one: SingleNetwork, example: Example) -> tuple[Sequence[Tensor], Tensor, Tensor]:
        batch = self._objective.batch(example)
        logits = self._call(example.inputs.device, lambda: one.network(batch))
        loss = self._objective.loss(logits, example)
        if self.penalties:
            named = dict(zip(self.layout.names, one.parameters, strict=True))
            traceable: Any = one.network
            loss = self._penalised(loss, logits, lambda: traceable.trace(batch), named)
        gradients = torch.autograd.grad(loss, one.parameters, materialize_grads=True)
        with torch.no_grad():
            right_B = self._right(logits.detach(), example)
        return gradients, loss.detach(), _wrong(right_B)


def _wrong(right: Tensor) -> Tensor:
    """Return the number of wrong strings; one number per run if there is a run dimension."""
    wrong = ~right if right.dtype == torch.bool else 1 - right
    return wrong.sum(-1)


def _seed(seed: int, device: torch.device) -> None:
    """Seed the random generators that a step can use.

    `torch.manual_seed` seeds every kind of device, and formats a stack for each missing one, which
    takes half a millisecond of a step of ten.
    """
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


class BatchedGradients(Program):
    """All runs as one program: the forward pass under `torch.func.vmap`.

    A network that draws random numbers must set its trait `vmap` to False, since `vmap` refuses it.
    """

    def __init__(self, networks: Sequence[nn.Module], task: Task) -> None:
        super().__init__(networks, task)
        # A copy, because a functional call can leave tied parameters replaced.
        self._network = copy.deepcopy(networks[0])
        for module in self._network.modules():  # a backbone is a part of the network
            vars(module)["under_vmap"] = True
        states = [fixed(network) for network in networks]
        self._fixed = {name: torch.stack([one[name] for one in states]) for name in states[0]}

    def select(self, runs: Sequence[int]) -> dict[str, Tensor]:
        """Return the frozen parameters and buffers of the runs, (R, …) each."""
        return {name: stacked[list(runs)] for name, stacked in self._fixed.items()}

    def gradients(
        self, selected: dict[str, Tensor], flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        views = self.layout.views(flat_RP)
        leaves = {name: view.detach().requires_grad_() for name, view in views.items()}
        present = _present(example)
        loss_R, logits = torch.func.vmap(self._one)(leaves, selected, present)
        # Each loss depends on its run's parameters only, so the sum has the gradient of each run.
        gradients = torch.autograd.grad(loss_R.sum(), list(leaves.values()), materialize_grads=True)
        with torch.no_grad():
            right_RB = torch.func.vmap(self._judge)(logits.detach(), present)
        return Gradients(self.layout.join(gradients), loss_R.detach(), _wrong(right_RB))

    def _judge(self, logits: Tensor, present: Mapping[str, Any]) -> Tensor:
        return self._right(logits, Example(**present))

    def _one(
        self, parameters: dict[str, Tensor], unchanged: dict[str, Tensor], present: dict[str, Any]
    ) -> tuple[Tensor, Tensor]:
        example, state = Example(**present), parameters | unchanged
        batch = example.batch

        def forward() -> Tensor:
            logits: Tensor = torch.func.functional_call(self._network, state, (batch,))
            return logits

        logits = self._call(batch.symbols.device, forward)
        loss = self._objective.loss(logits, example)
        if self.penalties:
            loss = self._penalised(loss, logits, lambda: self._trace(state, batch), parameters)
        return loss, logits

    def _trace(self, state: Mapping[str, Tensor], batch: Batch) -> Mapping[str, Tensor]:
        inside = {f"network.{name}": tensor for name, tensor in state.items()}
        trace: Mapping[str, Tensor] = torch.func.functional_call(
            _Tracing(self._network), inside, (batch,)
        )
        return trace


class _Tracing(nn.Module):
    """A network whose forward pass is its trace, since a functional call only calls `forward`."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> Mapping[str, Tensor]:
        trace: Mapping[str, Tensor] = self.network.trace(batch)
        return trace


def _present(example: Example) -> dict[str, Any]:
    """Return the fields of an example that are not None, by name: `vmap` accepts no None."""
    present = {name: part for name, part in example._asdict().items() if part is not None}
    if not example.known:
        del present["known"]
    return present


class AdaptiveGradients(BatchedGradients):
    """Groups of at least `least` runs as one program, smaller groups run by run.

    The runs of a cohort form groups, which split when runs reach their stages at different times.

    Args:
        least: smallest number of runs that are computed together.
    """

    def __init__(self, networks: Sequence[nn.Module], task: Task, least: int) -> None:
        super().__init__(networks, task)
        self._least = least
        self._sequential = SequentialGradients(networks, task)

    def select(self, runs: Sequence[int]) -> Any:
        """Return the networks of a small group, otherwise its frozen parameters and buffers."""
        return super().select(runs) if len(runs) >= self._least else self._sequential.select(runs)

    def gradients(
        self, selected: Any, flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        if isinstance(selected, dict):
            return super().gradients(selected, flat_RP, example, noise)
        self._sequential.precision, self._sequential.penalties = self.precision, self.penalties
        return self._sequential.gradients(selected, flat_RP, example, noise)


class L1(Penalty):
    """The sum of the absolute values of all parameters, for sparsity (Tibshirani 1996)."""

    def term(
        self, logits: Tensor, trace: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        return torch.stack([parameter.abs().sum() for parameter in parameters.values()]).sum()


def check_penalties(network: nn.Module, model: str, penalties: Sequence[WeightedPenalty]) -> None:
    """Refuse penalties that need a trace if the network has none."""
    for one in penalties:
        if one.penalty.traced and not isinstance(network, Traceable):
            raise RequestError(f"penalty {one.name} looks into a network: {model} has no trace")


FEW_STRINGS = 4
"""Strings per step up to which call overhead dominates, in networks that are not large."""

FEW_PARAMETERS = 100_000


def choose_program(
    networks: Sequence[nn.Module], task: Task, device: torch.device, batch: int | None = None
) -> Program:
    """Return the program for a cohort.

    A GPU is idle between the kernels of one small network, so all runs are computed together
    there. One network keeps a CPU core busy, unless the network is so small, or the strings so few,
    that calls cost more than arithmetic (speed/README.md).
    """
    least = least_together(networks[0], device.type, batch)
    if least is None or len(networks) < least:
        return SequentialGradients(networks, task)
    return (
        AdaptiveGradients(networks, task, least) if least > 1 else BatchedGradients(networks, task)
    )


def least_together(network: nn.Module, device: str, batch: int | None = None) -> int | None:
    """Return the smallest number of runs that use `vmap`; None for never.

    Args:
        network: the network of one of them.
        device: the kind of device, ``cpu`` or ``cuda``.
        batch: strings per step; None for the usual number.
    """
    traits = traits_of(network)
    if not traits.vmap:
        return None
    if device != "cpu":
        return 1  # also one run: a program under `vmap` can be recorded as a CUDA graph
    few = batch is not None and batch <= FEW_STRINGS
    if few and sum(p.numel() for p in network.parameters()) <= FEW_PARAMETERS:
        return 2
    return max(2, traits.cpu_cohort) if traits.cpu_cohort else None  # at least two runs
