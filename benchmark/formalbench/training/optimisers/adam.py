"""Adam (Kingma & Ba 2015, algorithm 1, as rewritten in its section 2).

Legend: R runs, P parameters of a network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from formalbench.contracts.optimiser import Optimiser, clip
from formalbench.training.configs import AdamConfig, AdamWConfig

ONE_PASS = 1 << 15
"""Parameters of a run from which on a CPU waits for memory more than it spends on calls."""


class Adam(Optimiser):
    """Each parameter moves by the mean of its gradients over the root of their mean square.

    The numbers of a step are the bias corrections of the mean, 1 - β₁ᵗ, and of the root of the
    square, √(1 - β₂ᵗ).
    """

    slots = ("mean", "square")
    config: AdamConfig | AdamWConfig

    def scalars(self, step: int) -> tuple[float, ...]:
        """Return the bias corrections."""
        mean, square = self.config.betas
        return 1 - mean**step, (1 - square**step) ** 0.5

    def step(
        self,
        parameters_RP: Tensor,
        gradient_RP: Tensor,
        slots: Sequence[Tensor],
        rate: Tensor,
        scalars: Tensor,
        decay: Tensor | float,
    ) -> None:
        """Take a step; `Optimiser.step` says how."""
        self._take(parameters_RP, gradient_RP, slots, rate, scalars, decay, None)

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
        """Clip and take a step; `Optimiser.clipped_step` says how."""
        self._take(parameters_RP, gradient_RP, slots, rate, scalars, decay, largest)

    def _take(
        self,
        parameters_RP: Tensor,
        gradient_RP: Tensor,
        slots: Sequence[Tensor],
        rate: Tensor,
        scalars: Tensor,
        decay: Tensor | float,
        largest: float | None,
    ) -> None:
        mean_scale, square_scale = scalars.unbind()
        on_cpu = gradient_RP.device.type == "cpu" and gradient_RP.dtype == torch.float32
        plain = isinstance(decay, Tensor) or rate.shape[1] > 1  # parameters of several kinds
        one_pass = on_cpu and not plain and gradient_RP.shape[1] >= ONE_PASS
        take = adam_in_one_pass if one_pass else adam_plainly
        take(
            parameters_RP,
            gradient_RP,
            slots,
            rate / mean_scale,
            square_scale,
            decay,
            largest,
            self.config,
        )


def adam_plainly(
    parameters_RP: Tensor,
    gradient_RP: Tensor,
    slots: Sequence[Tensor],
    rate: Tensor,
    square_scale: Tensor,
    decay: Tensor | float,
    largest: float | None,
    config: AdamConfig | AdamWConfig,
) -> None:
    """Take a step of all runs at once, in place.

    Args:
        parameters_RP: of the runs.
        gradient_RP: their gradients; may be overwritten.
        slots: the means of the gradients and of their squares, (R, P) each.
        rate: learning rates, divided by the mean's bias correction.
        square_scale: the root of the square's bias correction, ().
        decay: weight decay.
        largest: gradient norm of a run; None for no clipping.
        config: the other options.
    """
    mean_RP, square_RP = slots
    first, second = config.betas
    if largest is not None:
        gradient_RP = clip(gradient_RP, largest)
    if isinstance(decay, Tensor) or decay:
        gradient_RP = gradient_RP + decay * parameters_RP
    mean_RP.lerp_(gradient_RP, 1 - first)
    square_RP.mul_(second).addcmul_(gradient_RP, gradient_RP, value=1 - second)
    spread_RP = square_RP.sqrt().div_(square_scale).add_(config.eps)
    parameters_RP.sub_((rate * mean_RP).div_(spread_RP))


def adam_in_one_pass(
    parameters_RP: Tensor,
    gradient_RP: Tensor,
    slots: Sequence[Tensor],
    rate: Tensor,
    square_scale: Tensor,
    decay: Tensor | float,
    largest: float | None,
    config: AdamConfig | AdamWConfig,
) -> None:
    """Take the same step run by run, in fp32, with the library's kernel: it reads all once.

    Its own bias corrections are 1 after endless steps. Ours go into the rate, since
    r m / (√v / s + ε) = r s m / (√v + ε s).
    """
    mean_RP, square_RP = slots
    first, second = config.betas
    scale = float(square_scale)
    for row, one in enumerate(rate[:, 0].tolist()):
        divisor = None
        if largest is not None:
            norm = torch.linalg.vector_norm(gradient_RP[row])
            divisor = ((norm + 1e-6) / largest).clamp(min=1.0)
        torch._fused_adam_(
            [parameters_RP[row]],
            [gradient_RP[row]],
            [mean_RP[row]],
            [square_RP[row]],
            [],
            [torch.tensor(math.inf)],
            lr=one * scale,
            beta1=first,
            beta2=second,
            weight_decay=float(decay),
            eps=config.eps * scale,
            amsgrad=False,
            maximize=False,
            grad_scale=divisor,
            found_inf=None,
        )
