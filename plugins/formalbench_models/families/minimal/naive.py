"""minGRU and minLSTM, written from the equations, number by number in time.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.minimal.model import MinimalMixer


def naive(mixer: MinimalMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    size = mixer.candidate.out_features
    state = x_TW.new_zeros(size)
    changes = []
    for x in x_TW:
        written = mixer.candidate.weight @ x + mixer.candidate.bias
        if mixer.positive:
            written = torch.where(written >= 0, written + 0.5, 1 / (1 + torch.exp(-written)))
        gates = 1 / (1 + torch.exp(-mixer.gates.weight @ x - mixer.gates.bias))
        if mixer.kind == "gru":
            state = (1 - gates) * state + gates * written
        else:
            forget, write = gates[:size], gates[size:]
            state = forget * state + write * written
            if mixer.normalised:
                state = state / (forget + write)
        changes.append(mixer.merge.weight @ state)
    return torch.stack(changes)
