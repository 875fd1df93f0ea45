"""LRU's mixer, written from the equations, number by number in time.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, S numbers of the state.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.lru.model import LruMixer


def naive(mixer: LruMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    modulus = torch.exp(-torch.exp(mixer.log_decay))
    phase = torch.exp(mixer.log_turn)
    real, imaginary = (x_TW.new_zeros(len(modulus)) for _ in range(2))
    cosine, sine = modulus * torch.cos(phase), modulus * torch.sin(phase)
    changes = []
    for x in x_TW:
        scale = torch.exp(mixer.log_scale)
        real, imaginary = (
            cosine * real - sine * imaginary + scale * (mixer.write[..., 0] @ x),
            sine * real + cosine * imaginary + scale * (mixer.write[..., 1] @ x),
        )
        answer = mixer.read[..., 0] @ real - mixer.read[..., 1] @ imaginary
        changes.append(answer + mixer.skip * x)
    return torch.stack(changes)
