"""SGD, Adam, AdamW, Lion and Muon, each on the parameters of many networks at once.

K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024); the length of a
step is that of J. Liu et al., "Muon is scalable for LLM training" (2025), section 2.2.

Legend: R runs, P parameters of a network, Q and S of them (hidden matrices, the rest), K matrices
of one shape, M and N its sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from formalbench.contracts.optimiser import Optimiser, ParameterInfo, clip
from formalbench.training.configs import AdamConfig, AdamWConfig, LionConfig, MuonConfig, SgdConfig

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


COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of x, x³ and x⁵: what an iteration makes of a singular value x (Jordan et al. 2024)."""

LENGTH = 0.2
"""Root mean square of a step, over the rate: about AdamW's, so that both train at one rate."""


class Muon(Optimiser):
    """Hidden matrices move along the nearest orthogonal matrix to the mean of their gradients.

    These are the parameters of the kind ``hidden`` that have at least two rows and columns and are
    in no group. All others, so embeddings, the read-out, biases and gains, are trained by AdamW, at
    the same rate: of a matrix with sides M and N, a step is 0.2 √max(M, N) times an orthogonal one.

    The slot ``square`` of a hidden matrix stays 0.
    """

    slots = ("mean", "square")
    config: MuonConfig

    def __init__(self, config: MuonConfig) -> None:
        super().__init__(config)
        self._adamw = AdamW(config)
        self._matrices: list[ParameterInfo] = []
        self._rest: list[ParameterInfo] = []

    def with_layout(self, layout: tuple[ParameterInfo, ...]) -> Self:
        """Return this optimiser for a layout; `Optimiser.with_layout` says more."""
        bound = super().with_layout(layout)
        matrices = [one for one in layout if _is_hidden_matrix(one)]
        bound._matrices = sorted(matrices, key=lambda one: one.shape)  # of one shape: side by side
        bound._rest = [one for one in layout if one not in matrices]
        return bound

    def scalars(self, step: int) -> tuple[float, ...]:
        """Return AdamW's bias corrections."""
        return self._adamw.scalars(step)

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
        rows = (parameters_RP, gradient_RP, *slots)
        if self._rest:
            rest_RS, gradient_RS, *slots_RS = (_gathered(self._rest, one) for one in rows)
            rate_RS, decay_RS = self._numbers(self._rest, rate, decay)
            self._adamw.step(rest_RS, gradient_RS, slots_RS, rate_RS, scalars, decay_RS)
            _put_back(self._rest, (parameters_RP, *slots), (rest_RS, *slots_RS))
        if self._matrices:
            mine_RQ, gradient_RQ, mean_RQ = (_gathered(self._matrices, one) for one in rows[:3])
            rate_RQ, decay_RQ = self._numbers(self._matrices, rate, decay)
            mean_RQ.lerp_(gradient_RQ, 1 - self.config.momentum)
            ahead = self.config.momentum if self.config.nesterov else 1.0
            direction_RQ = self._orthogonal(gradient_RQ.lerp(mean_RQ, ahead))
            mine_RQ.mul_(1 - rate_RQ * decay_RQ).sub_(rate_RQ * direction_RQ)
            _put_back(self._matrices, (parameters_RP, slots[0]), (mine_RQ, mean_RQ))

    def _numbers(
        self, infos: Sequence[ParameterInfo], rate: Tensor, decay: Tensor | float
    ) -> tuple[Tensor, Tensor | float]:
        """Return the rates and the weight decay of some parameters."""
        own = _gathered(infos, decay) if isinstance(decay, Tensor) else decay
        return _gathered(infos, rate), own

    def _orthogonal(self, direction_RQ: Tensor) -> Tensor:
        """Return the directions of a step of all hidden matrices, (R, Q), with their lengths."""
        runs, parts, first = len(direction_RQ), [], 0
        for shape, same in itertools.groupby(self._matrices, key=lambda one: one.shape):
            count = len(list(same)) * math.prod(shape)
            stacked_RKMN = direction_RQ[:, first : first + count].view(runs, -1, *shape)
            orthogonal_RKMN = orthogonalised(stacked_RKMN, self.config.iterations)
            length = LENGTH * math.sqrt(max(shape))
            parts.append((length * orthogonal_RKMN).reshape(runs, count))
            first += count
        return torch.cat(parts, dim=1)


def orthogonalised(matrices: Tensor, iterations: int) -> Tensor:
    """Return what Newton-Schulz iterations make of matrices (…, M, N): nearly orthogonal ones.

    Singular vectors stay; singular values come to lie between about 0.7 and 1.2.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices  # so that products are of the smaller side
    norm: Tensor = torch.linalg.matrix_norm(x, keepdim=True)
    x = x / norm.clamp(min=1e-7)
    linear, cubic, quintic = COEFFICIENTS
    for _ in range(iterations):
        gram = x @ x.mT
        x = linear * x + (cubic * gram + quintic * gram @ gram) @ x
    return x.mT if tall else x


def _is_hidden_matrix(info: ParameterInfo) -> bool:
    return info.kind == "hidden" and info.group is None and min(info.shape) > 1


def _gathered(infos: Sequence[ParameterInfo], flat: Tensor) -> Tensor:
    """Return the columns of some parameters as one matrix; what all columns share, as it is."""
    if flat.shape[1] == 1:
        return flat
    return torch.cat([flat[:, info.columns] for info in infos], dim=1)


def _put_back(
    infos: Sequence[ParameterInfo], whole: Sequence[Tensor], gathered: Sequence[Tensor]
) -> None:
    """Copy gathered columns to where they are from."""
    sizes = [math.prod(info.shape) for info in infos]
    targets = [flat[:, info.columns] for flat in whole for info in infos]
    parts = [part for one in gathered for part in torch.split(one, sizes, dim=1)]
    torch._foreach_copy_(targets, parts)
