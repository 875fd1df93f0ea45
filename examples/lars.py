"""An optimiser that treats matrices apart: LARS, whose steps are as long as a matrix allows.

    formalbench list optimisers --plugin lars.py
    formalbench run --plugin lars.py --model gru --task parity --set protocol.optimiser.name=lars

It steps many runs at once: a row of every matrix is a run. Which columns are which parameter of the
network is in its layout.

Reference: You et al. (2017), "Large batch training of convolutional networks", algorithm 1.
"""

from collections.abc import Iterable, Sequence

from formalbench import Config, Optimiser, OptimiserSpec, hookimpl, option
from torch import Tensor
from torch.linalg import vector_norm


class LarsConfig(Config):
    """The options of LARS."""

    momentum: float = option(0.9, "share of the last step's direction", minimum=0, maximum=1)
    trust: float = option(1.0, "length of a step, over the rate and a matrix's norm", minimum=0)
    weight_decay: float = option(0.0, "times the parameters, added to the gradient", minimum=0)


class Lars(Optimiser):
    """Gradient descent in which the length of a matrix's step is a share of the matrix's norm."""

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
        direction_RP = gradient_RP + decay * parameters_RP
        for one in self.layout:
            if len(one.shape) > 1:  # biases and gains take plain steps
                parameter, direction = parameters_RP[:, one.columns], direction_RP[:, one.columns]
                norm_R1 = vector_norm(parameter, dim=1, keepdim=True)
                direction *= (
                    self.config.trust
                    * norm_R1
                    / (vector_norm(direction, dim=1, keepdim=True) + 1e-9)
                )
        momentum_RP.mul_(self.config.momentum).add_(rate * direction_RP)
        parameters_RP.sub_(momentum_RP)


@hookimpl
def formalbench_optimisers() -> Iterable[OptimiserSpec]:
    """Announce the optimiser."""
    yield OptimiserSpec(
        name="lars",
        summary="steps as long as a share of each matrix",
        factory=Lars,
        config=LarsConfig,
        reference="You et al. 2017",
    )
