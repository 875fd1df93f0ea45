"""How the gradients of R runs are computed: as one program, or run by run.

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
from formalbench.contracts.example import Batch, Example
from formalbench.contracts.network import Traceable, traits_of
from formalbench.contracts.penalty import Penalty, Weighted
from formalbench.contracts.task import Task
from formalbench.device import forward_in
from formalbench.training.parameters import Layout, fixed, trained


class Gradients(NamedTuple):
    """What some strings say.

    Attributes:
        gradients: of each run's loss, (R, P).
        losses: in nats, (R,).
        wrong: how many strings each run got wrong, (R,); of a string that is partly right, a part.
    """

    gradients: Tensor
    losses: Tensor
    wrong: Tensor


class Program(ABC):
    """Computes the gradients of runs that train on strings of one shape.

    Args:
        networks: one per run of the cohort; they lend structure and buffers, and their
            parameters are overwritten.
        task: its objective gives the loss.

    Attributes:
        layout: of the parameters of a run.
        precision: of the forward pass, as a protocol says it.
        penalties: what is added to the loss.
    """

    precision = "fp32"
    penalties: Sequence[Weighted] = ()

    def __init__(self, networks: Sequence[nn.Module], task: Task) -> None:
        self.networks = networks
        self.layout = Layout.of(networks[0])
        self._objective = task.objective
        self._primary = task.primary

    @abstractmethod
    def select(self, runs: Sequence[int]) -> Any:
        """Return some runs of the cohort as `gradients` takes them."""

    @abstractmethod
    def gradients(
        self, selected: Any, flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        """Compute one step of some runs.

        Args:
            selected: which, R of them; `select` made it.
            flat_RP: their parameters.
            example: their strings and what is asked of them, (R, B, …).
            noise: seeds of what a network draws itself, such as dropout, one per run.
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
        """Return a loss with the penalties, of which some may need a trace."""
        traced = any(one.penalty.traced for one in self.penalties)
        with forward_in(self.precision, logits.device):
            seen = trace() if traced else {}
        for one in self.penalties:
            own = seen if one.penalty.traced else {}
            loss = loss + one.weight * one.penalty.term(logits, own, parameters)
        return loss

    def _right(self, logits: Tensor, example: Example) -> Tensor:
        return self._objective.right(logits, example, self._primary)


class Alone(NamedTuple):
    """A network that trains by itself, and what training changes of it."""

    network: nn.Module
    parameters: Sequence[Tensor]


class OneByOne(Program):
    """Run by run: for networks that `vmap` cannot take, and where it is slower."""

    def select(self, runs: Sequence[int]) -> list[Alone]:
        """Return the runs' networks."""
        chosen = [self.networks[run] for run in runs]
        return [Alone(network, list(trained(network).values())) for network in chosen]

    def gradients(
        self, selected: list[Alone], flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        gradients_RP, counted = torch.empty_like(flat_RP), []
        for row, one in enumerate(selected):
            self.layout.fill(one.parameters, flat_RP[row])
            _seed(noise[row], example.inputs.device)
            gradients, *counts = self._one(one, example.map(itemgetter(row)))
            torch.cat([gradient.flatten() for gradient in gradients], out=gradients_RP[row])
            counted.append(counts)
        sums = (torch.stack(counts) for counts in zip(*counted, strict=True))
        return Gradients(gradients_RP, *sums)

    def _one(self, one: Alone, example: Example) -> tuple[Sequence[Tensor], Tensor, Tensor]:
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
    """Return how many strings are not right; of some runs' strings, of each run."""
    missed = ~right if right.dtype == torch.bool else 1 - right
    return missed.sum(-1)


def _seed(seed: int, device: torch.device) -> None:
    """Seed the generators a step can draw from.

    `torch.manual_seed` would do the same for every kind of device that torch knows of, and write
    down a stack for each that is not there: half a millisecond, of a step of ten.
    """
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


class Together(Program):
    """All runs as one program: the forward pass under `torch.func.vmap`.

    A network that draws random numbers must have a trait `vmap` that says no: `vmap` refuses it.
    """

    def __init__(self, networks: Sequence[nn.Module], task: Task) -> None:
        super().__init__(networks, task)
        # A network of its own: a functional call can leave tied parameters replaced.
        self._network = copy.deepcopy(networks[0])
        for module in self._network.modules():  # a backbone stands inside what answers for it
            vars(module)["under_vmap"] = True
        kept = [fixed(network) for network in networks]
        self._fixed = {name: torch.stack([one[name] for one in kept]) for name in kept[0]}

    def select(self, runs: Sequence[int]) -> dict[str, Tensor]:
        """Return what training leaves alone in the runs, (R, …) each."""
        return {name: stacked[list(runs)] for name, stacked in self._fixed.items()}

    def gradients(
        self, selected: dict[str, Tensor], flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        views = self.layout.views(flat_RP)
        leaves = {name: view.detach().requires_grad_() for name, view in views.items()}
        present = _present(example)
        loss_R, logits = torch.func.vmap(self._one)(leaves, selected, present)
        # A run's loss depends on its own parameters only, so the sum's gradient is each one's.
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
    """A network whose forward pass is its trace: a functional call can ask for no other method."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> Mapping[str, Tensor]:
        trace: Mapping[str, Tensor] = self.network.trace(batch)
        return trace


def _present(example: Example) -> dict[str, Any]:
    """Return what an example has, by name: `vmap` takes no None."""
    present = {name: part for name, part in example._asdict().items() if part is not None}
    if not example.known:
        del present["known"]
    return present


class ManyTogether(Together):
    """The runs of a group together from so many on, fewer run by run.

    The runs of a cohort form groups, which part as they reach their stages at different times.

    Args:
        least: how many go together.
    """

    def __init__(self, networks: Sequence[nn.Module], task: Task, least: int) -> None:
        super().__init__(networks, task)
        self._least = least
        self._apart = OneByOne(networks, task)

    def select(self, runs: Sequence[int]) -> Any:
        """Return the runs' networks if they are few, and else what training leaves alone."""
        return super().select(runs) if len(runs) >= self._least else self._apart.select(runs)

    def gradients(
        self, selected: Any, flat_RP: Tensor, example: Example, noise: Sequence[int]
    ) -> Gradients:
        if isinstance(selected, dict):
            return super().gradients(selected, flat_RP, example, noise)
        self._apart.precision, self._apart.penalties = self.precision, self.penalties
        return self._apart.gradients(selected, flat_RP, example, noise)


class L1(Penalty):
    """The sum of the sizes of all parameters (Tibshirani 1996): it makes many of them small."""

    def term(
        self, logits: Tensor, trace: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        return torch.stack([parameter.abs().sum() for parameter in parameters.values()]).sum()


def check_penalties(network: nn.Module, model: str, penalties: Sequence[Weighted]) -> None:
    """Refuse a penalty that looks into a network which cannot be looked into.

    Raises:
        RequestError: naming both.
    """
    for one in penalties:
        if one.penalty.traced and not isinstance(network, Traceable):
            raise RequestError(f"penalty {one.name} looks into a network: {model} has no trace")


FEW_STRINGS = 4
"""A step on at most so many strings is nearly all calls, in networks that are not large."""

FEW_PARAMETERS = 100_000


def choose_program(
    networks: Sequence[nn.Module], task: Task, device: torch.device, batch: int | None = None
) -> Program:
    """Return the program for a cohort.

    A GPU is idle between the kernels of one small network, so there all runs go together. A
    CPU core is busy with one, unless it is so small, or has so few strings, that calls cost more
    than arithmetic (speed/README.md).
    """
    least = least_together(networks[0], device.type, batch)
    if least is None or len(networks) < least:
        return OneByOne(networks, task)
    return ManyTogether(networks, task, least) if least > 1 else Together(networks, task)


def trains_together(networks: Sequence[nn.Module], device: str, batch: int | None = None) -> bool:
    """Say whether networks go under `vmap` on a kind of device; `least_together` says how."""
    least = least_together(networks[0], device, batch)
    return least is not None and len(networks) >= least


def least_together(network: nn.Module, device: str, batch: int | None = None) -> int | None:
    """Return from how many runs on a network's runs go under `vmap`; None for never.

    Args:
        network: of one of them.
        device: its kind.
        batch: strings per step; None for as many as there usually are.
    """
    traits = traits_of(network)
    if not traits.vmap:
        return None
    if device != "cpu":
        return 1  # even one: a program under `vmap` can be recorded as a CUDA graph
    few = batch is not None and batch <= FEW_STRINGS
    if few and sum(p.numel() for p in network.parameters()) <= FEW_PARAMETERS:
        return 2
    return max(2, traits.cpu_cohort) if traits.cpu_cohort else None  # one run has nobody to go with
