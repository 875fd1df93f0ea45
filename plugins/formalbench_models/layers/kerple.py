"""KERPLE: biases that are conditionally positive definite kernels of the distance.

Source: Chi et al., "KERPLE: kernelized relative positional embedding for length extrapolation"
(2022), §4. To the logit from i to j each head adds

    -r_1·log(1 + r_2·|i-j|)    (logarithmic), or
    -r_1·|i-j|^(r_2)           (power, 0 < r_2 ≤ 2),

its r_1, r_2 > 0 learned. As in the authors' code they begin uniform, below 2 and 1 in the first and
below 1 and 2 in the second, and are never taken for less than 0.01; their gradient passes that
bound, so that none is caught below (that code sets the parameters themselves back to it). The paper
has causal masks; without one the distance counts both ways.

Legend: B batch, N keys, Q queries, H heads, E width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from formalbench_models.attention import Attention, Span, Terms

LEAST = 0.01


class KerpleAttention(Attention):
    """What the two kernels have in common."""

    learned_bias = True

    begin = (1.0, 1.0)
    """What r_1 and r_2 are drawn below."""

    most = float("inf")
    """The greatest r_2."""

    owner: KerpleAttention
    """Whose r_1 and r_2 are used: this layer, or the one that all share."""

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        first, second = self.begin
        self.scale_H = nn.Parameter(torch.rand(heads) * first)
        self.shape_H = nn.Parameter(torch.rand(heads) * second)
        self.__dict__["owner"] = self  # not a submodule

    def share_positions(self, first: Attention) -> None:
        """Use the kernel of another layer: r_1 and r_2 remain parameters of that alone."""
        del self.scale_H, self.shape_H
        self.__dict__["owner"] = first

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Add the biases, (1 or B, H, Q, N), rounded once."""
        exact = torch.promote_types(query_BHQE.dtype, torch.float32)
        distance_B1QN = span.offsets(key_BHNE).abs().to(exact)
        scale_H11 = within(self.owner.scale_H, float("inf")).to(exact)[:, None, None]
        shape_H11 = within(self.owner.shape_H, self.most).to(exact)[:, None, None]
        bias_BHQN = -scale_H11 * self.kernel(distance_B1QN, shape_H11)
        return (
            super().terms(query_BHQE, key_BHNE, span)._replace(bias=bias_BHQN.to(query_BHQE.dtype))
        )

    def kernel(self, distance_B1QN: Tensor, shape_H11: Tensor) -> Tensor:
        """Return what r_1 multiplies, (1 or B, H, Q, N)."""
        raise NotImplementedError


class KerpleLogAttention(KerpleAttention):
    """The logarithmic kernel."""

    begin = (2.0, 1.0)

    def kernel(self, distance_B1QN: Tensor, shape_H11: Tensor) -> Tensor:
        """Return log(1 + r_2·|i-j|)."""
        return (shape_H11 * distance_B1QN).log1p()


class KerplePowerAttention(KerpleAttention):
    """The power kernel."""

    begin = (1.0, 2.0)
    most = 2.0

    def kernel(self, distance_B1QN: Tensor, shape_H11: Tensor) -> Tensor:
        """Return |i-j|^(r_2)."""
        return distance_B1QN**shape_H11


def within(value: Tensor, most: float) -> Tensor:
    """Return values between `LEAST` and `most`, with the gradient of the values as they were."""
    return value + (value.clamp(LEAST, most) - value).detach()
