"""Adam for R runs at once, each with its own learning rate and its own clipping.

Legend: R runs, P parameters of a network.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from formalbench.contracts.protocol import Optimiser


class State(NamedTuple):
    """What training changes: parameters and the two moments of their gradients, (R, P) each."""

    parameters: Tensor
    mean: Tensor
    square: Tensor

    @classmethod
    def start(cls, parameters_RP: Tensor) -> State:
        """Return the state before the first step."""
        zeros = torch.zeros_like(parameters_RP)
        return cls(parameters_RP, zeros, zeros.clone())

    def take(self, rows: Tensor) -> State:
        """Return a copy of some runs' state."""
        return State(self.parameters[rows], self.mean[rows], self.square[rows])

    def put(self, rows: Tensor, other: State) -> None:
        """Put some runs' state back."""
        self.parameters[rows] = other.parameters
        self.mean[rows] = other.mean
        self.square[rows] = other.square


def clip(gradient_RP: Tensor, largest: float) -> Tensor:
    """Return gradients whose norm, run by run, is at most `largest`."""
    norm_R1: Tensor = torch.linalg.vector_norm(gradient_RP, dim=1, keepdim=True)
    factor_R1: Tensor = (largest / (norm_R1 + 1e-6)).clamp(max=1.0)
    return gradient_RP * factor_R1


_ONE_PASS = 1 << 15
"""Parameters of a run from which on a CPU waits for memory more than it spends on calls."""


def adam(
    state: State,
    gradient_RP: Tensor,
    rate_R1: Tensor,
    square_scale: Tensor | float,
    options: Optimiser,
) -> None:
    """Take one step in place (Kingma & Ba 2015, algorithm 1, as rewritten in its section 2).

    Args:
        state: of the runs.
        gradient_RP: their gradients; may be overwritten.
        rate_R1: their learning rates, divided by the mean's bias correction 1 - β₁ᵗ.
        square_scale: the root of the square's bias correction 1 - β₂ᵗ.
        options: of the protocol.
    """
    on_cpu = gradient_RP.device.type == "cpu" and gradient_RP.dtype == torch.float32
    large = gradient_RP.shape[1] >= _ONE_PASS
    take = adam_in_one_pass if on_cpu and large else adam_plainly
    take(state, gradient_RP, rate_R1, square_scale, options)


def adam_plainly(
    state: State,
    gradient_RP: Tensor,
    rate_R1: Tensor,
    square_scale: Tensor | float,
    options: Optimiser,
) -> None:
    """Take a step of all runs at once; `adam` says how."""
    first, second = options.betas
    if options.gradient_clip is not None:
        gradient_RP = clip(gradient_RP, options.gradient_clip)
    if options.weight_decay:
        gradient_RP = gradient_RP + options.weight_decay * state.parameters
    state.mean.lerp_(gradient_RP, 1 - first)
    state.square.mul_(second).addcmul_(gradient_RP, gradient_RP, value=1 - second)
    spread_RP = state.square.sqrt().div_(square_scale).add_(options.eps)
    state.parameters.sub_((rate_R1 * state.mean).div_(spread_RP))


def adam_in_one_pass(
    state: State,
    gradient_RP: Tensor,
    rate_R1: Tensor,
    square_scale: Tensor | float,
    options: Optimiser,
) -> None:
    """Take the same step run by run, in fp32, with the library's kernel: it reads all once.

    Its own bias corrections are 1 after endless steps. Ours go into the rate, since
    r m / (√v / s + ε) = r s m / (√v + ε s).
    """
    first, second = options.betas
    scale = float(square_scale)
    for row, rate in enumerate(rate_R1[:, 0].tolist()):
        divisor = None
        if options.gradient_clip is not None:
            norm = torch.linalg.vector_norm(gradient_RP[row])
            divisor = ((norm + 1e-6) / options.gradient_clip).clamp(min=1.0)
        torch._fused_adam_(
            [state.parameters[row]],
            [gradient_RP[row]],
            [state.mean[row]],
            [state.square[row]],
            [],
            [torch.tensor(math.inf)],
            lr=rate * scale,
            beta1=first,
            beta2=second,
            weight_decay=options.weight_decay,
            eps=options.eps * scale,
            amsgrad=False,
            maximize=False,
            grad_scale=divisor,
            found_inf=None,
        )
