"""AdamW: Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).

Legend: R runs, P parameters of a network.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from formalbench.training.configs import AdamWConfig
from formalbench.training.optimisers.adam import Adam


class AdamW(Adam):
    """Before Adam's step, the rate times the decay is taken off the parameters as a share."""

    config: AdamWConfig

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
        if isinstance(decay, Tensor) or decay:
            parameters_RP.mul_(1 - rate * decay)
        super()._take(parameters_RP, gradient_RP, slots, rate, scalars, 0.0, largest)
