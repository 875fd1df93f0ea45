"""An optimiser: Lion, the sign of a momentum, with decoupled weight decay.

    formalbench list optimisers --plugin lion.py
    formalbench run --plugin lion.py --model gru --task parity --set protocol.optimiser.name=lion

It steps many runs at once: a row of every matrix is a run.

Reference: Chen et al. (2023), "Symbolic discovery of optimization algorithms", algorithm 2.
"""

from collections.abc import Iterable, Sequence

from formalbench import Config, Optimiser, OptimiserSpec, hookimpl, option
from torch import Tensor


class LionConfig(Config):
    """The options of Lion."""

    beta_now: float = option(0.9, "weight of the momentum in a step", minimum=0, maximum=1)
    beta_kept: float = option(0.99, "weight of the momentum in what is kept", minimum=0, maximum=1)
    weight_decay: float = option(0.0, "decoupled, as in AdamW", minimum=0)


class Lion(Optimiser):
    """Steps by the sign of what is between the gradient and the momentum."""

    slots = ("momentum",)

    def step(
        self,
        parameters_RP: Tensor,
        gradient_RP: Tensor,
        slots: Sequence[Tensor],
        rate: Tensor,
        scalars: Tensor,
        decay: Tensor | float,
    ) -> None:
        """Take a step of all runs, in place."""
        (momentum_RP,) = slots
        direction_RP = momentum_RP.lerp(gradient_RP, 1 - self.config.beta_now).sign()
        parameters_RP.sub_(rate * (direction_RP + decay * parameters_RP))
        momentum_RP.lerp_(gradient_RP, 1 - self.config.beta_kept)


@hookimpl
def formalbench_optimisers() -> Iterable[OptimiserSpec]:
    """Announce the optimiser."""
    yield OptimiserSpec(
        name="lion",
        summary="the sign of a momentum",
        factory=Lion,
        config=LionConfig,
        reference="Chen et al. 2023",
    )
