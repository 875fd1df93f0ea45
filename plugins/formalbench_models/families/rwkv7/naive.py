"""RWKV-7's time mixing, written from the equations, one symbol and head after the other.

Slow and obvious: it reads the parameters of a mixer and shares no other code with `model.py`.
Legend: T symbols, W width, E width of a head.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from formalbench_models.families.rwkv7.model import NORM_EPSILON, Rwkv7Mixer
from formalbench_models.layers.low_rank import LowRank


def _sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def _low_rank(layer: LowRank, x: Tensor, inside: Callable[[Tensor], Tensor]) -> Tensor:
    return layer.up.weight @ inside(layer.down.weight @ x) + layer.up.bias


def naive(mixer: Rwkv7Mixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    width = x_TW.shape[1]
    size = width // mixer.heads
    states = [x_TW.new_zeros(size, size) for _ in range(mixer.heads)]
    before = x_TW.new_zeros(width)
    changes = []
    for x in x_TW:
        to_r, to_w, to_k, to_v, to_a, to_g = (x + (before - x) * share for share in mixer.shift)
        before = x
        r, v = mixer.receptance.weight @ to_r, mixer.value.weight @ to_v
        w = torch.exp(-0.6065306597126334 * _sigmoid(_low_rank(mixer.decay, to_w, torch.tanh)))
        a = _sigmoid(_low_rank(mixer.rate, to_a, lambda inner: inner))
        g = _low_rank(mixer.gate, to_g, _sigmoid)
        k = mixer.key.weight @ to_k
        kappa, k = k * mixer.removal, k * (1 - mixer.replacement + a * mixer.replacement)
        parts = []
        for head in range(mixer.heads):
            at = slice(head * size, (head + 1) * size)
            unit = kappa[at] / kappa[at].norm()
            turn = torch.diag(w[at]) - torch.outer(a[at] * unit, unit)
            states[head] = turn @ states[head] + torch.outer(k[at], v[at])
            answer = states[head].T @ r[at]
            answer = answer - answer.mean()
            answer = answer / torch.sqrt(answer.square().mean() + NORM_EPSILON)
            answer = answer * mixer.norm.weight[at] + mixer.norm.bias[at]
            parts.append(answer + (r[at] * mixer.bonus[at] * k[at]).sum() * v[at])
        changes.append(mixer.merge.weight @ (torch.cat(parts) * g))
    return torch.stack(changes)
