"""Attention without a softmax as attention: every symbol looks at all those before it.

Slow and obvious, and not a recurrence: the parallel form of the papers. It reads the parameters of
a mixer and shares no other code with `model.py`. Legend: T symbols, W width, E width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.linear_attention.model import (
    GatedAttention,
    LinearAttention,
    Retention,
)


def naive(mixer: LinearAttention, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    size = x_TW.shape[1] // mixer.heads
    changes = []
    for time, x in enumerate(x_TW):
        parts = []
        for head in range(mixer.heads):
            at = slice(head * size, (head + 1) * size)
            query = mixer.query.weight[at] @ x
            keys = x_TW[: time + 1] @ mixer.key.weight[at].T
            values = x_TW[: time + 1] @ mixer.value.weight[at].T
            parts.append(_answer(mixer, head, x_TW[: time + 1], query, keys, values))
        answer = torch.cat(parts)
        if isinstance(mixer, GatedAttention):
            gate = mixer.gate.weight @ x
            answer = answer * gate / (1 + torch.exp(-gate))
        changes.append(mixer.merge.weight @ answer)
    return torch.stack(changes)


def _answer(
    mixer: LinearAttention, head: int, x_TW: Tensor, query: Tensor, keys: Tensor, values: Tensor
) -> Tensor:
    """Return what a head answers at the last of the symbols, (E,)."""
    length, size = keys.shape
    if not isinstance(mixer, GatedAttention):
        query, keys = (torch.where(part > 0, part + 1, part.exp()) for part in (query, keys))
        weights = keys @ query
        return weights @ values / (weights.sum() + 1e-6)
    answer: Tensor = torch.zeros_like(query)
    for early in range(length):
        key = keys[early]
        if isinstance(mixer, Retention):
            decay = float((1 - 2.0 ** (-5 - head)) ** (length - 1 - early))
            weight = _turned(query, key, length - 1 - early) * decay
        else:
            at = slice(head * size, (head + 1) * size)
            inner = x_TW[early + 1 :] @ mixer.decay.down.weight.T
            logits = inner @ mixer.decay.up.weight[at].T + mixer.decay.up.bias[at]
            weight = (query * key * ((1 / (1 + torch.exp(-logits))) ** (1 / 16)).prod(0)).sum()
        answer = answer + weight * values[early]
    answer = answer / size**0.5
    normed: Tensor = answer / torch.sqrt(answer.square().mean() + 1e-6) * mixer.norm.weight
    return normed


def _turned(query: Tensor, key: Tensor, distance: int) -> Tensor:
    """Return q · k with pairs of entries as complex numbers that turn with the distance."""
    ones, others = (part.reshape(-1, 2) for part in (query, key))
    speeds = 10000.0 ** (-torch.arange(0, len(query), 2, dtype=query.dtype) / len(query))
    real = (ones * others).sum(-1)
    imaginary = ones[:, 1] * others[:, 0] - ones[:, 0] * others[:, 1]
    angles = speeds * distance
    return (real * angles.cos() - imaginary * angles.sin()).sum()
