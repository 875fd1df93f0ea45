"""RWKV-7, written from the equations, one symbol and head after the other.

Slow and obvious: it reads the parameters of a network and shares no other code with `model.py`.
Legend: T symbols, W width, E width of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from formalbench_models.families.rwkv7.model import NORM_EPSILON, Rwkv7, Rwkv7Mixer
from formalbench_models.layers.low_rank import LowRank


def _sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def _low_rank(layer: LowRank, x: Tensor, inside: Callable[[Tensor], Tensor]) -> Tensor:
    mapped = layer.up.weight @ inside(layer.down.weight @ x)
    return mapped if layer.up.bias is None else mapped + layer.up.bias


def naive(mixer: Rwkv7Mixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W), in the first block."""
    return _time_mixing(mixer, x_TW, None)[0]


def naive_network(network: Rwkv7, symbols_T: Tensor) -> Tensor:
    """Return the state at each symbol of a string, (T, W), with the paper's blocks."""
    embedded = [network.embedding.weight[symbol] for symbol in symbols_T]
    x_TW = torch.stack([_layer_norm(network.norm_symbols, x) for x in embedded])
    blocks: Any = network.blocks
    first_TW = None
    for block in blocks:
        normed_TW = torch.stack([_layer_norm(block.norm_mixer, x) for x in x_TW])
        changes_TW, first_TW = _time_mixing(block.mixer, normed_TW, first_TW)
        x_TW = x_TW + changes_TW
        before, rows = x_TW.new_zeros(x_TW.shape[1]), []
        for x in x_TW:
            normed = _layer_norm(block.norm_feed_forward, x)
            mlp = block.feed_forward
            hidden = mlp.up.weight @ (normed * (1 - mlp.shift) + before * mlp.shift)
            before = normed
            rows.append(x + mlp.down.weight @ (hidden * (hidden > 0)) ** 2)
        x_TW = torch.stack(rows)
    return torch.stack([_layer_norm(network.norm, x) for x in x_TW])


def _layer_norm(norm: Any, x: Tensor) -> Tensor:
    centred = x - x.mean()
    normed = centred / torch.sqrt(centred.square().mean() + 1e-5)
    scaled: Tensor = normed * norm.weight + norm.bias
    return scaled


def _time_mixing(mixer: Rwkv7Mixer, x_TW: Tensor, first_TW: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the change to each symbol, and the values of the first block, (T, W) each."""
    width = x_TW.shape[1]
    size = width // mixer.heads
    states = [x_TW.new_zeros(size, size) for _ in range(mixer.heads)]
    before = x_TW.new_zeros(width)
    changes, values = [], []
    for time, x in enumerate(x_TW):
        to_r, to_w, to_k, to_v, to_a, to_g = (x + (before - x) * share for share in mixer.shift)
        before = x
        r, v = mixer.receptance.weight @ to_r, mixer.value.weight @ to_v
        w = torch.exp(-0.6065306597126334 * _sigmoid(_low_rank(mixer.decay, to_w, torch.tanh)))
        a = _sigmoid(_low_rank(mixer.rate, to_a, lambda inner: inner))
        g = _low_rank(mixer.gate, to_g, _sigmoid)
        if mixer.first_share is not None and first_TW is not None:
            share = _sigmoid(_low_rank(mixer.first_share, to_v, lambda inner: inner))
            v = v + (first_TW[time] - v) * share
        values.append(v)
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
    return torch.stack(changes), torch.stack(values) if first_TW is None else first_TW
