"""The recurrences by the delta rule, written from the equations, one string at a time.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, E width of a head, R steps a symbol.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.delta.model import DeltaMixer


def naive(mixer: DeltaMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    width, heads, steps = x_TW.shape[1], mixer.heads, mixer.reflections
    size = width // heads
    inputs = [mixer.project.weight @ x for x in x_TW]
    filters = [1.0] if mixer.convolution is None else mixer.convolution.weight
    states = [x_TW.new_zeros(size, size) for _ in range(heads)]
    changes = []
    for time, x in enumerate(x_TW):
        seen = [
            (filters[-1 - back], inputs[time - back]) for back in range(min(len(filters), time + 1))
        ]
        mixed = sum(weight * past for weight, past in seen)
        mixed = mixed / (1 + torch.exp(-mixed))
        rates = mixer.most / (1 + torch.exp(-(mixer.rate.weight @ x + mixer.rate.bias)))
        parts = []
        for head in range(heads):
            at = slice(head * size, (head + 1) * size)
            query = mixed[:width][at]
            query = query / query.norm()
            state = states[head]
            if mixer.decay is not None:
                step = torch.log1p(
                    torch.exp(mixer.decay.step.weight[head] @ x + mixer.decay.bias[head])
                )
                state = torch.exp(-torch.exp(mixer.decay.log_rate[head]) * step) * state
            for turn in range(steps):
                begin = width + turn * width
                key = mixed[begin : begin + width][at]
                key = key / key.norm()
                begin = width + (steps + turn) * width
                value = mixed[begin : begin + width][at]
                rate = rates[turn * heads + head]
                state = state - rate * torch.outer(key, key @ state - value)
            states[head] = state
            answer = query @ state
            answer = answer / torch.sqrt(answer.square().mean() + 1e-6)
            parts.append(answer * mixer.norm.weight)
        answer = torch.cat(parts)
        if mixer.gate is not None:
            gate = mixer.gate.weight @ x
            answer = answer * gate / (1 + torch.exp(-gate))
        changes.append(mixer.merge.weight @ answer)
    return torch.stack(changes)
