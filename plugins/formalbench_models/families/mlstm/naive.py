"""mLSTM's mixer, written from the equations without the stabiliser m.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, D channels, E width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.mlstm.model import BlockLinear, MlstmMixer


def _silu(x: Tensor) -> Tensor:
    return x / (1 + torch.exp(-x))


def _blocks(layer: BlockLinear, x_D: Tensor) -> Tensor:
    return torch.cat(
        [w @ x for w, x in zip(layer.weight, x_D.chunk(len(layer.weight)), strict=True)]
    )


def naive(mixer: MlstmMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W); its LEAST is 0."""
    channels = len(mixer.gain)
    size = channels // mixer.heads
    filters, bias = mixer.convolution.weight, mixer.convolution.bias
    assert bias is not None
    projected = [mixer.project.weight @ x for x in x_TW]
    memories = [x_TW.new_zeros(size, size) for _ in range(mixer.heads)]
    norms = [x_TW.new_zeros(size) for _ in range(mixer.heads)]
    changes = []
    for time, both_D in enumerate(projected):
        sums = bias.clone()
        for back in range(min(len(filters), time + 1)):
            sums = sums + filters[-1 - back] * projected[time - back][:channels]
        mixed = _silu(sums)
        query, key = _blocks(mixer.query, mixed), _blocks(mixer.key, mixed)
        value = _blocks(mixer.value, both_D[:channels])
        every = torch.cat((query, key, value))
        inputs = torch.exp(mixer.input_gate.weight @ every + mixer.input_gate.bias)
        forgets = 1 / (1 + torch.exp(-mixer.forget_gate.weight @ every - mixer.forget_gate.bias))
        parts = []
        for head in range(mixer.heads):
            at = slice(head * size, (head + 1) * size)
            scaled = key[at] / size**0.5
            memories[head] = forgets[head] * memories[head] + inputs[head] * torch.outer(
                scaled, value[at]
            )
            norms[head] = forgets[head] * norms[head] + inputs[head] * scaled
            answer = memories[head].T @ query[at]
            answer = answer / torch.clamp((norms[head] @ query[at]).abs(), min=1.0)
            answer = answer - answer.mean()
            parts.append(answer / torch.sqrt(answer.square().mean() + 1e-5))
        answer = torch.cat(parts) * mixer.gain + mixer.skip * mixed
        changes.append(mixer.merge.weight @ (answer * _silu(both_D[channels:])))
    return torch.stack(changes)
