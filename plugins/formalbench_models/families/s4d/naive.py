"""S4D's mixer as a convolution: the kernel 2 Re Σ C (exp(Δ A) - 1)/A exp(Δ A)^l, symbol by symbol.

Slow and obvious, and not a recurrence. It reads the parameters of a mixer and shares no other code
with `model.py`. Legend: T symbols, W width, N complex numbers a channel.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from formalbench_models.families.s4d.model import S4dMixer


def naive(mixer: S4dMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    width = x_TW.shape[1]
    rate = -torch.exp(mixer.log_decay) + 1j * mixer.turn
    exponent = torch.exp(mixer.log_step)[:, None] * rate
    read = (mixer.read[..., 0] + 1j * mixer.read[..., 1]) * (torch.exp(exponent) - 1) / rate
    changes = []
    for time, x in enumerate(x_TW):
        answer = mixer.skip * x
        for early in range(time + 1):
            kernel = 2 * (read * torch.exp(exponent * (time - early))).sum(-1).real
            answer = answer + kernel * x_TW[early]
        answer = answer * 0.5 * (1 + torch.erf(answer / math.sqrt(2)))
        both = mixer.merge.weight @ answer + mixer.merge.bias
        changes.append(both[:width] / (1 + torch.exp(-both[width:])))
    return torch.stack(changes)
