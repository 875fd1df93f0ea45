"""Gradient descent with momentum (Sutskever et al. 2013).

Legend: R runs, P parameters of a network.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from formalbench.contracts.optimiser import Optimiser
from formalbench.training.configs import SgdConfig


class Sgd(Optimiser):
    """Parameters move against the gradient, or against what has gathered of it.

    Args:
        config: its options. Without momentum nothing is remembered.
    """

    config: SgdConfig

    def __init__(self, config: SgdConfig) -> None:
        super().__init__(config)
        self.slots = ("momentum",) if config.momentum else ()

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
        if isinstance(decay, Tensor) or decay:
            gradient_RP = gradient_RP + decay * parameters_RP
        if slots:
            (momentum_RP,) = slots
            momentum_RP.mul_(self.config.momentum).add_(gradient_RP)
            if self.config.nesterov:
                gradient_RP = gradient_RP + self.config.momentum * momentum_RP
            else:
                gradient_RP = momentum_RP
        parameters_RP.sub_(rate * gradient_RP)
