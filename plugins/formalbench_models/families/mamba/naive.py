"""Mamba's mixer, written from the equations, number by number in time.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, D channels, N numbers a channel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.mamba.model import MambaMixer


def naive(mixer: MambaMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    channels, states = mixer.log_rate.shape
    filters, bias = mixer.convolution.weight, mixer.convolution.bias
    assert bias is not None
    projected = [mixer.project.weight @ x for x in x_TW]
    state_DN = x_TW.new_zeros(channels, states)
    changes = []
    for time in range(len(x_TW)):
        sums = bias.clone()
        for back in range(min(len(filters), time + 1)):
            sums = sums + filters[-1 - back] * projected[time - back][:channels]
        x_D = sums / (1 + torch.exp(-sums))
        chosen = mixer.select.weight @ x_D
        step_R, write_N, read_N = torch.split(chosen, mixer.sizes)
        step_D = torch.log1p(torch.exp(mixer.step.weight @ step_R + mixer.step.bias))
        factor_DN = torch.exp(step_D[:, None] * -torch.exp(mixer.log_rate))
        if mixer.signed:
            factor_DN = 2 * factor_DN - 1
        state_DN = factor_DN * state_DN + torch.outer(step_D * x_D, write_N)
        gate_D = projected[time][channels:]
        answer_D = (state_DN @ read_N + mixer.skip * x_D) * gate_D / (1 + torch.exp(-gate_D))
        changes.append(mixer.merge.weight @ answer_D)
    return torch.stack(changes)
