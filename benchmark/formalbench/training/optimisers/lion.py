"""Lion: the sign of a momentum, with decoupled weight decay (Chen et al. 2023, algorithm 2).

Legend: R runs, P parameters of a network.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from formalbench.contracts.optimiser import Optimiser
from formalbench.training.configs import LionConfig


class Lion(Optimiser):
    """Every parameter moves by the rate, in the direction that its gradients agree on."""

    slots = ("momentum",)
    config: LionConfig

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
        (momentum_RP,) = slots
        now, kept = self.config.betas
        direction_RP = gradient_RP.lerp(momentum_RP, now).sign_()
        if isinstance(decay, Tensor) or decay:
            direction_RP += decay * parameters_RP
        parameters_RP.sub_(rate * direction_RP)
        momentum_RP.lerp_(gradient_RP, 1 - kept)
