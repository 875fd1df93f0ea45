"""One optimiser step of the runs that train together, and what it changes.

Legend: R runs, B strings, N symbols, P parameters of a network, T steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from formalbench.contracts.protocol import Optimiser
from formalbench.training.optimiser import State, adam
from formalbench.training.programs import Program


class StepInputs(NamedTuple):
    """What a step is given. All of it is on the device: a step waits for nothing.

    Attributes:
        symbols: strings of one length, (R, B, N).
        targets: (R, B, …).
        rate: learning rates over the bias correction of the mean, (R, 1).
        square_scale: root of the bias correction of the square, ().
    """

    symbols: Tensor
    targets: Tensor
    rate: Tensor
    square_scale: Tensor


def schedule(
    rates_TR: Sequence[Sequence[float]], first: int, options: Optimiser, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the last two inputs of some steps: (T, R, 1) and (T,).

    Args:
        rates_TR: learning rates.
        first: the first of the steps, counted from 0.
        options: of the protocol.
        like: their dtype and device.
    """
    steps = range(first + 1, first + 1 + len(rates_TR))
    mean, square = options.betas
    mean_T11 = torch.tensor([[[1 - mean**step]] for step in steps], dtype=like.dtype)
    square_T = torch.tensor([(1 - square**step) ** 0.5 for step in steps], dtype=like.dtype)
    rate_TR1 = torch.tensor(rates_TR, dtype=like.dtype).unsqueeze(-1) / mean_T11
    return rate_TR1.to(like.device), square_T.to(like.device)


class Group:
    """Runs that train together, and their state between two evaluations.

    Its tensors stay where they are as long as the group lives, so that a captured step finds
    them.

    Args:
        runs: which of the cohort.
        program: computes gradients.
        state: of these runs; copied.
        options: of the optimiser.
    """

    def __init__(
        self, runs: Sequence[int], program: Program, state: State, options: Optimiser
    ) -> None:
        self.runs = tuple(runs)
        self.options = options
        self.state = State(*(tensor.clone() for tensor in state))
        self.losses = torch.zeros(len(runs), device=state.parameters.device)
        self.wrong = torch.zeros_like(self.losses)
        self._program = program
        self._selected = program.select(runs)

    def begin(self, state: State) -> None:
        """Take over a state, and start to count anew."""
        for mine, new in zip(self.state, state, strict=True):
            mine.copy_(new)
        self.losses.zero_()
        self.wrong.zero_()

    def step(self, inputs: StepInputs, noise: Sequence[int]) -> None:
        """Take a step.

        Args:
            inputs: the strings and the rates.
            noise: seeds of what a network draws itself, such as dropout. One per run and
                step, so that a run's numbers do not depend on who else is in the group.
        """
        result = self._program.gradients(
            self._selected, self.state.parameters, inputs.symbols, inputs.targets, noise
        )
        adam(self.state, result.gradients, inputs.rate, inputs.square_scale, self.options)
        self.losses += result.losses
        self.wrong += result.wrong
