"""How the gradients of R runs are computed: as one program, or run by run.

Legend: R runs, B strings, N symbols, P parameters of a network.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.objective import Objective
from formalbench.training.flat import Layout, fixed, trained


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
            self.layout.load(network, flat_RP[row])
            torch.manual_seed(noise[row])
            parts.append(self._one(network, symbols_RBN[row], targets[row]))
        return Result(*(torch.stack(part) for part in zip(*parts, strict=True)))

    def _one(
        self, network: nn.Module, symbols_BN: Tensor, answers: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        logits = network(Batch(symbols_BN))
        loss = self.objective.loss(logits, answers)
        gradients = torch.autograd.grad(
            loss, list(trained(network).values()), materialize_grads=True
        )
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
        # A network of its own: a functional call can leave tied parameters replaced.
        self._network = copy.deepcopy(networks[0])
        kept = [fixed(network) for network in networks]
        self._fixed = {name: torch.stack([one[name] for one in kept]) for name in kept[0]}

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
        unchanged = {name: stacked[rows] for name, stacked in self._fixed.items()}
        views = self.layout.views(flat_RP)
        leaves = {name: view.detach().requires_grad_() for name, view in views.items()}
        loss_R, logits = torch.func.vmap(self._one)(leaves, unchanged, symbols_RBN, targets)
        # A run's loss depends on its own parameters only, so the sum's gradient is each one's.
        gradients = torch.autograd.grad(loss_R.sum(), list(leaves.values()), materialize_grads=True)
        with torch.no_grad():
            right_RB, _ = torch.func.vmap(self.objective.score)(logits.detach(), targets)
        return Result(self.layout.join(gradients), loss_R.detach(), (~right_RB).sum(1))

    def _one(
        self,
        parameters: dict[str, Tensor],
        unchanged: dict[str, Tensor],
        symbols_BN: Tensor,
        answers: Tensor,
    ) -> tuple[Tensor, Tensor]:
        batch = Batch(symbols_BN)
        state = parameters | unchanged
        logits = torch.func.functional_call(self._network, state, (batch,))
        return self.objective.loss(logits, answers), logits


def choose_program(
    networks: Sequence[nn.Module], objective: Objective, device: torch.device
) -> Program:
    """Return the program for a cohort.

    A GPU is idle between the kernels of one small network, so there all runs go together. A
    CPU core is busy with one: together, transformers are slower and only small RegularGPTs
    faster (speed/README.md).
    """
    able = len(networks) > 1 and getattr(networks[0], "vmappable", True)
    together = able and device.type != "cpu"
    return (Together if together else OneByOne)(networks, objective)
