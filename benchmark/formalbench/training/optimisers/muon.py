"""Muon: momentum, made orthogonal by Newton-Schulz iterations (Jordan et al. 2024).

K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024); the length of a
step is that of J. Liu et al., "Muon is scalable for LLM training" (2025), section 2.2.

Legend: R runs, P parameters of a network, Q and S of them (hidden matrices; the rest), K matrices
of one shape, M and N its sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from formalbench.contracts.optimiser import Optimiser, ParameterInfo
from formalbench.training.configs import MuonConfig
from formalbench.training.optimisers.adamw import AdamW

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
