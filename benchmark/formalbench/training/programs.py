"""How the gradients of R runs are computed: as one program, or run by run.

Legend: R runs, B strings, N symbols, P parameters of a network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.objective import Objective
from formalbench.training.flat import Layout


class Result(NamedTuple):
    """What one step's strings say.

    Attributes:
        gradients: of each run's loss, (R, P).
        losses: in nats, (R,).
        wrong: how many strings each run got wrong, (R,).
    """

    gradients: Tensor
    losses: Tensor
    wrong: Tensor


class Program(ABC):
    """Computes the gradients of runs that train on strings of one length.

    Args:
        networks: one per run of the cohort; they lend structure and buffers, and their
            parameters are overwritten.
        objective: gives the loss.
    """

    def __init__(self, networks: Sequence[nn.Module], objective: Objective) -> None:
        self.networks = networks
        self.objective = objective
        self.layout = Layout.of(networks[0])

    @abstractmethod
    def gradients(
        self,
        runs: Sequence[int],
        flat_RP: Tensor,
        symbols_RBN: Tensor,
        targets: Tensor,
        noise: Sequence[int],
    ) -> Result:
        """Compute one step of some runs.

        Args:
            runs: which of the cohort, R of them.
            flat_RP: their parameters.
            symbols_RBN: their strings.
            targets: their targets, (R, B, …).
            noise: seeds of what a network draws itself, such as dropout. One per run and
                step, so that a run's numbers do not depend on who else is in the cohort.
        """


class OneByOne(Program):
    """Run by run: for networks that `vmap` cannot take, and where it is slower."""

    def gradients(
        self,
        runs: Sequence[int],
        flat_RP: Tensor,
        symbols_RBN: Tensor,
        targets: Tensor,
        noise: Sequence[int],
    ) -> Result:
        """Compute one step of some runs; `Program.gradients` says how."""
        parts = []
        for row, run in enumerate(runs):
            network = self.networks[run]
            load(network, self.layout, flat_RP[row])
            torch.manual_seed(noise[row])
            parts.append(self._one(network, symbols_RBN[row], targets[row]))
        return Result(*(torch.stack(part) for part in zip(*parts, strict=True)))

    def _one(
        self, network: nn.Module, symbols_BN: Tensor, answers: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        logits = network(Batch(symbols_BN))
        loss = self.objective.loss(logits, answers)
        gradients = torch.autograd.grad(loss, list(network.parameters()), materialize_grads=True)
        with torch.no_grad():
            right_B, _ = self.objective.score(logits.detach(), answers)
        flat_P = torch.cat([gradient.flatten() for gradient in gradients])
        return flat_P, loss.detach(), (~right_B).sum()


class Together(Program):
    """All runs as one program: the forward pass under `torch.func.vmap`.

    A network that draws random numbers must set `vmappable = False`: `vmap` refuses it.
    """

    def __init__(self, networks: Sequence[nn.Module], objective: Objective) -> None:
        super().__init__(networks, objective)
        kept = [dict(network.named_buffers()) for network in networks]
        self._buffers = {name: torch.stack([one[name] for one in kept]) for name in kept[0]}

    def gradients(
        self,
        runs: Sequence[int],
        flat_RP: Tensor,
        symbols_RBN: Tensor,
        targets: Tensor,
        noise: Sequence[int],
    ) -> Result:
        """Compute one step of some runs; `Program.gradients` says how."""
        rows = torch.as_tensor(runs, device=flat_RP.device)
        buffers = {name: stacked[rows] for name, stacked in self._buffers.items()}
        views = self.layout.views(flat_RP)
        leaves = {name: view.detach().requires_grad_() for name, view in views.items()}
        loss_R, logits = torch.func.vmap(self._one)(leaves, buffers, symbols_RBN, targets)
        # A run's loss depends on its own parameters only, so the sum's gradient is each one's.
        gradients = torch.autograd.grad(loss_R.sum(), list(leaves.values()), materialize_grads=True)
        with torch.no_grad():
            right_RB, _ = torch.func.vmap(self.objective.score)(logits.detach(), targets)
        return Result(self.layout.join(gradients), loss_R.detach(), (~right_RB).sum(1))

    def _one(
        self,
        parameters: dict[str, Tensor],
        buffers: dict[str, Tensor],
        symbols_BN: Tensor,
        answers: Tensor,
    ) -> tuple[Tensor, Tensor]:
        batch = Batch(symbols_BN)
        state = (parameters, buffers)
        logits = torch.func.functional_call(self.networks[0], state, (batch,))
        return self.objective.loss(logits, answers), logits


@torch.no_grad()
def load(network: nn.Module, layout: Layout, flat_P: Tensor) -> None:
    """Copy a run's parameters into a network, into the memory its kernels know."""
    views = layout.views(flat_P.unsqueeze(0))
    for parameter, view in zip(network.parameters(), views.values(), strict=True):
        parameter.copy_(view[0])


SMALL = 20_000
"""Parameters up to which one program beats run by run on a CPU (speed/README.md)."""


def choose_program(
    networks: Sequence[nn.Module], objective: Objective, device: torch.device
) -> Program:
    """Return the faster program; by a rule of sizes and not a stopwatch, so repeats are alike."""
    small = sum(parameter.numel() for parameter in networks[0].parameters()) <= SMALL
    able = getattr(networks[0], "vmappable", True)
    together = len(networks) > 1 and able and (device.type != "cpu" or small)
    return (Together if together else OneByOne)(networks, objective)
