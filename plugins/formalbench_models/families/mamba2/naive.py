"""Mamba-2's mixer, written from the equations, one symbol and head after the other.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, D channels, P channels of a head, N numbers a channel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.mamba2.model import Mamba2Mixer


def naive(mixer: Mamba2Mixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    channels, states, _ = mixer.sizes
    size = channels // mixer.heads
    filters, bias = mixer.convolution.weight, mixer.convolution.bias
    assert bias is not None
    projected = [mixer.project.weight @ x for x in x_TW]
    memory = [x_TW.new_zeros(states, size) for _ in range(mixer.heads)]
    changes = []
    for time, x in enumerate(x_TW):
        sums = bias.clone()
        for back in range(min(len(filters), time + 1)):
            sums = sums + filters[-1 - back] * projected[time - back]
        value_D, write_N, read_N = torch.split(sums / (1 + torch.exp(-sums)), mixer.sizes)
        answers = []
        for head in range(mixer.heads):
            value_P = value_D[head * size : (head + 1) * size]
            step = torch.log1p(
                torch.exp(mixer.decay.step.weight[head] @ x + mixer.decay.bias[head])
            )
            decay = torch.exp(-torch.exp(mixer.decay.log_rate[head]) * step)
            if mixer.signed:
                decay = 2 * decay - 1
            memory[head] = decay * memory[head] + step * torch.outer(write_N, value_P)
            answers.append(memory[head].T @ read_N + mixer.skip[head] * value_P)
        gate_D = mixer.gate.weight @ x
        answer_D = torch.cat(answers) * gate_D / (1 + torch.exp(-gate_D))
        answer_D = answer_D / torch.sqrt(answer_D.square().mean() + 1e-6) * mixer.norm.weight
        changes.append(mixer.merge.weight @ answer_D)
    return torch.stack(changes)
