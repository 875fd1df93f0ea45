"""Optimisers of the parameters of many networks at once, and learning-rate schedules.

K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024); the scale of a
step is from J. Liu et al., "Muon is scalable for LLM training" (2025), section 2.2.

Legend: R runs, P parameters of a network, Q and S of them (hidden matrices, the rest), K matrices
of one shape, M and N its sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from formalbench.contracts.training import Optimiser, ParameterInfo, Schedule, clip
from formalbench.training.configs import (
    AdamConfig,
    AdamWConfig,
    ConstantConfig,
    CosineConfig,
    InverseSqrtConfig,
    LinearConfig,
    LionConfig,
    MuonConfig,
    PlateauConfig,
    SgdConfig,
)

ONE_PASS = 1 << 15
"""Parameters per run above which memory access costs a CPU more than calls."""


class Adam(Optimiser):
    """Each parameter moves by the mean of its gradients over the root of their mean square.

    The scalars of a step are the bias corrections 1 - β₁ᵗ of the mean and √(1 - β₂ᵗ) of the root
    mean square.
    """

    slots = ("mean", "square")
    config: AdamConfig

    def scalars(self, step: int) -> tuple[float, ...]:
        mean, square = self.config.betas
        return 1 - mean**step, (1 - square**step) ** 0.5

    def step(self, *args: Any, **kwargs: Any) -> None:
        self.clipped_step(*args, None, **kwargs)  # type: ignore[call-arg]

    def clipped_step(
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
        per_parameter = isinstance(decay, Tensor) or rate.shape[1] > 1  # differ by parameter
        one_pass = on_cpu and not per_parameter and gradient_RP.shape[1] >= ONE_PASS
        take = adam_in_one_pass if one_pass else adam_plainly
        rows, rate = (parameters_RP, gradient_RP, *slots), rate / mean_scale
        take(self.config, rows, rate, square_scale, decay, largest)


Rows = tuple[Tensor, ...]
"""Parameters of the runs, their gradients, the means of these and of their squares, (R, P) each."""


def adam_plainly(
    config: AdamConfig,
    rows: Rows,
    rate: Tensor,
    square_scale: Tensor,
    decay: Tensor | float,
    largest: float | None,
) -> None:
    """Take a step of all runs at once, in place.

    Args:
        config: the options of Adam.
        rows: parameters, gradients and slots; gradients may be overwritten.
        rate: learning rates, divided by the mean's bias correction.
        square_scale: the root of the square's bias correction, ().
        decay: weight decay.
        largest: maximum gradient norm of a run; None for no clipping.
    """
    parameters_RP, gradient_RP, mean_RP, square_RP = rows
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
    config: AdamConfig,
    rows: Rows,
    rate: Tensor,
    square_scale: Tensor,
    decay: Tensor | float,
    largest: float | None,
) -> None:
    """Take the same step run by run, in fp32, with torch's fused kernel, which reads memory once.

    The kernel's own bias corrections are 1, since its step count is set to infinity. The actual
    corrections are part of the rate, since r m / (√v / s + ε) = r s m / (√v + ε s).
    """
    first, second = config.betas
    scale = float(square_scale)
    for run_rate, parameters_P, gradient_P, *slots in zip(rate[:, 0].tolist(), *rows, strict=True):
        divisor = None
        if largest is not None:
            divisor = ((torch.linalg.vector_norm(gradient_P) + 1e-6) / largest).clamp(min=1.0)
        torch._fused_adam_(
            [parameters_P],
            [gradient_P],
            [slots[0]],
            [slots[1]],
            [],
            [torch.tensor(math.inf)],
            lr=run_rate * scale,
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
    """Adam with decoupled decay: before the step, parameters are scaled by 1 - rate × decay."""

    config: AdamWConfig

    def clipped_step(
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
        super().clipped_step(parameters_RP, gradient_RP, slots, rate, scalars, 0.0, largest)


class Sgd(Optimiser):
    """Parameters move against the gradient, or against its momentum.

    Without momentum there are no slots.
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
    """Every parameter moves by the rate, against the sign of its averaged gradient."""

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
        (momentum_RP,) = slots
        beta1, beta2 = self.config.betas
        direction_RP = gradient_RP.lerp(momentum_RP, beta1).sign_()
        if isinstance(decay, Tensor) or decay:
            direction_RP += decay * parameters_RP
        parameters_RP.sub_(rate * direction_RP)
        momentum_RP.lerp_(gradient_RP, 1 - beta2)


COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of x, x³ and x⁵ in the map of a singular value x per iteration (Jordan 2024)."""

LENGTH = 0.2
"""Root mean square of a step over the rate: about AdamW's, so that both can share a rate."""


class Muon(Optimiser):
    """Hidden matrices move along the nearest orthogonal matrix to the mean of their gradients.

    Hidden matrices are the parameters of the kind ``hidden`` with at least two rows and columns
    and no group. AdamW trains all others (embeddings, the read-out, biases and gains) at the same
    rate. A step of a matrix with sides M and N is 0.2 √max(M, N) times an orthogonal matrix.

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
        bound = super().with_layout(layout)
        matrices = [one for one in layout if _is_hidden_matrix(one)]
        bound._matrices = sorted(matrices, key=lambda one: one.shape)  # groups equal shapes
        bound._rest = [one for one in layout if one not in matrices]
        return bound

    def scalars(self, step: int) -> tuple[float, ...]:
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
        rows = (parameters_RP, gradient_RP, *slots)
        if self._rest:
            rest_RS, gradient_RS, *slots_RS = (_gather(self._rest, one) for one in rows)
            rate_RS, decay_RS = self._numbers(self._rest, rate, decay)
            self._adamw.step(rest_RS, gradient_RS, slots_RS, rate_RS, scalars, decay_RS)
            _scatter(self._rest, (parameters_RP, *slots), (rest_RS, *slots_RS))
        if self._matrices:
            matrices_RQ, gradient_RQ, mean_RQ = (_gather(self._matrices, one) for one in rows[:3])
            rate_RQ, decay_RQ = self._numbers(self._matrices, rate, decay)
            mean_RQ.lerp_(gradient_RQ, 1 - self.config.momentum)
            weight = self.config.momentum if self.config.nesterov else 1.0
            direction_RQ = self._orthogonal(gradient_RQ.lerp(mean_RQ, weight))
            matrices_RQ.mul_(1 - rate_RQ * decay_RQ).sub_(rate_RQ * direction_RQ)
            _scatter(self._matrices, (parameters_RP, slots[0]), (matrices_RQ, mean_RQ))

    def _numbers(
        self, infos: Sequence[ParameterInfo], rate: Tensor, decay: Tensor | float
    ) -> tuple[Tensor, Tensor | float]:
        """Return the rates and the weight decay of some parameters."""
        own = _gather(infos, decay) if isinstance(decay, Tensor) else decay
        return _gather(infos, rate), own

    def _orthogonal(self, direction_RQ: Tensor) -> Tensor:
        """Return the scaled directions of a step of all hidden matrices, (R, Q)."""
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
    """Return matrices (…, M, N) after Newton-Schulz iterations, which make them nearly orthogonal.

    Singular vectors stay the same; singular values move to between about 0.7 and 1.2.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices  # so that products have the smaller side
    norm: Tensor = torch.linalg.matrix_norm(x, keepdim=True)
    x = x / norm.clamp(min=1e-7)
    linear, cubic, quintic = COEFFICIENTS
    for _ in range(iterations):
        gram = x @ x.mT
        x = linear * x + (cubic * gram + quintic * gram @ gram) @ x
    return x.mT if tall else x


def _is_hidden_matrix(info: ParameterInfo) -> bool:
    return info.kind == "hidden" and info.group is None and min(info.shape) > 1


def _gather(infos: Sequence[ParameterInfo], flat: Tensor) -> Tensor:
    """Return the columns of some parameters as one matrix; a shared single column is unchanged."""
    if flat.shape[1] == 1:
        return flat
    return torch.cat([flat[:, info.columns] for info in infos], dim=1)


def _scatter(
    infos: Sequence[ParameterInfo], whole: Sequence[Tensor], gathered: Sequence[Tensor]
) -> None:
    """Copy gathered columns back to their places."""
    sizes = [math.prod(info.shape) for info in infos]
    targets = [flat[:, info.columns] for flat in whole for info in infos]
    parts = [part for one in gathered for part in torch.split(one, sizes, dim=1)]
    torch._foreach_copy_(targets, parts)


class ConstantSchedule(Schedule):
    """The run's base rate, after the warm-up."""

    config: ConstantConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        if step < self.config.warm_up:
            return base * (step + 1) / self.config.warm_up
        return base

    def _progress(self, step: int, steps: int) -> float:
        """Return the share of the steps after the warm-up that are done, including this one."""
        warm_up = min(self.config.warm_up, steps - 1)
        return max(0.0, (step + 1 - warm_up) / (steps - warm_up))


class LinearSchedule(ConstantSchedule):
    """After the warm-up the rate falls linearly to its final share at the last step."""

    config: LinearConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        share = 1.0 + (self.config.final - 1.0) * self._progress(step, steps)
        return super().rate(step, steps, base, memory) * share


class CosineSchedule(ConstantSchedule):
    """After the warm-up the rate falls along half a cosine (Loshchilov & Hutter 2017)."""

    config: CosineConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        wave = (1.0 + math.cos(math.pi * self._progress(step, steps))) / 2
        share = self.config.final + (1.0 - self.config.final) * wave
        return super().rate(step, steps, base, memory) * share


class InverseSqrtSchedule(ConstantSchedule):
    """After the warm-up the rate falls as 1/√steps (Vaswani et al. 2017)."""

    config: InverseSqrtConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        if step < self.config.warm_up:
            return super().rate(step, steps, base, memory)
        return base * math.sqrt(self.config.warm_up / (step + 1))


class PlateauSchedule(ConstantSchedule):
    """After the warm-up the rate falls by a factor whenever a metric stops improving.

    Its memory has the current `share` of the rate and either the metric's `best` value and the
    number of evaluations it has been `waiting` or, with `recent`, the most recent values.
    """

    config: PlateauConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        return super().rate(step, steps, base, memory) * memory.get("share", 1.0)

    def evaluated(self, memory: dict[str, float], metrics: Mapping[str, float]) -> None:
        """Lower the rate if the metric has not improved for long enough."""
        value = metrics.get(self.config.metric)
        if value is None:
            return
        if self._is_worst(memory, value) if self.config.recent else self._is_stale(memory, value):
            share = memory.get("share", 1.0) * self.config.factor
            memory["share"] = max(share, self.config.final)

    def _is_stale(self, memory: dict[str, float], value: float) -> bool:
        """Store a value; return whether the best one is too old."""
        if "best" not in memory or self._better(value, memory["best"]):
            memory.update(best=value, waiting=0)
            return False
        memory["waiting"] = memory.get("waiting", 0) + 1
        if memory["waiting"] <= self.config.patience:
            return False
        memory["waiting"] = 0
        return True

    def _is_worst(self, memory: dict[str, float], value: float) -> bool:
        """Store a value; return whether all the recent values before it are better."""
        names = [f"{count} before" for count in range(self.config.recent)]
        recent = [memory[name] for name in names if name in memory]
        memory.update(zip(names, (value, *recent), strict=False))
        return len(recent) == len(names) and all(self._better(one, value) for one in recent)

    def _better(self, value: float, best: float) -> bool:
        """Return whether a value is better, and by more than the threshold."""
        margin = self.config.threshold * abs(best)
        return value < best - margin if self.config.better == "less" else value > best + margin
