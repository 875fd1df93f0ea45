"""The selective scan of Mamba: h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t, y_t = C_tᵀ h_t.

Legend: B batch, T symbols, D channels, N numbers a channel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.scan import scan


def selective_scan(
    x_BTD: Tensor,
    step_BTD: Tensor,
    rate_DN: Tensor,
    write_BTN: Tensor,
    read_BTN: Tensor,
    state_BDN: Tensor | None,
    *,
    chunk: int,
    signed: bool,
) -> tuple[Tensor, Tensor]:
    """Return y, (B, T, D), in x's dtype, and the state after the last symbol.

    Args:
        x_BTD: what is written.
        step_BTD: Δ.
        rate_DN: A, negative.
        write_BTN: B.
        read_BTN: C.
        state_BDN: what is kept from before; None for nothing.
        chunk: symbols computed at once.
        signed: whether transitions are 2 exp(Δ A) - 1, in [-1, 1].
    """
    with torch.autocast(x_BTD.device.type, enabled=False):
        step, rate = wide(step_BTD), wide(rate_DN)
        factor_BTDN = (step[..., None] * rate).exp()
        if signed:
            factor_BTDN = 2 * factor_BTDN - 1
        added_BTDN = (step * wide(x_BTD))[..., None] * wide(write_BTN)[:, :, None]
        states_BTDN = scan(factor_BTDN, added_BTDN, state_BDN, chunk)
        mixed_BTD = (states_BTDN @ wide(read_BTN)[..., None]).squeeze(-1)
    return mixed_BTD.to(x_BTD.dtype), states_BTDN[:, -1]
