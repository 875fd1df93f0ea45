"""RWKV-7.

Source: Peng et al. (2025), RWKV-7 "Goose" with expressive dynamic state evolution, section 4; the
authors' code, RWKV-LM, for the initial values. With a receptance r, a decay w, a removal key κ of
length 1, an in-context learning rate a, a replacement key k and a value v for each head,

    S_t = (Diag(w) - (a ⊙ κ) κᵀ) S_{t-1} + k vᵀ,      y_t = S_tᵀ r,

where w = exp(-e^(-1/2) σ(·)) is in (0.545, 1) and a = σ(·) in (0, 1), each for every row. All are
functions of the symbol and the one before it (the token shift). The answer is normalised, gets
the bonus (r · (ρ ⊙ k)) v, and passes a gate. An eigenvalue can be negative, as far down as w - 1.

In the paper's blocks this time mixing and a channel mixing, V relu(K x')² of a token-shifted x',
follow layer norms. Above the first block v becomes v + (v¹ - v) σ(·), v¹ the first block's values.
A layer norm follows the embeddings, and another the last block. With ``shell=shared`` the blocks
are those of `layers/residual.py`.

Legend: B batch, T symbols, W width, H heads, E width of a head, R rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import Rwkv7Config
from formalbench_models.layers.gates import LowRank
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.residual import EPSILON, Backbone, Mixer, State
from formalbench_models.layers.tensors import merge, split, wide

FASTEST = -math.exp(-0.5)
"""The logarithm of the fastest decay."""

LEAST_DECAY = 0.54
"""Lower bound of decays, including rounding."""

NORM_EPSILON = 64e-5
"""Added to the variance by the norm of the answers, as in the paper's code."""

SHIFTED = ("receptance", "decay", "key", "value", "rate", "gate")
"""What each sees its own mixture of a symbol and the one before it."""


class Rwkv7Mixer(Mixer):
    """RWKV-7's time mixing.

    Args:
        config: sizes and choices.
        index: of the block, from 0; the paper's blocks above the first mix in that one's values.
    """

    def __init__(self, config: Rwkv7Config, index: int) -> None:
        super().__init__()
        width, self.heads, self.chunk = config.width, config.heads, config.chunk
        shared = config.shell == "shared"
        self.shift = nn.Parameter(torch.rand(len(SHIFTED), width))
        self.receptance, self.key, self.value, self.merge = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.decay = LowRank(width, config.rank, torch.tanh)
        self.rate = LowRank(width, config.rank)
        self.gate = LowRank(width, config.rank, torch.sigmoid, bias=shared)
        with torch.no_grad():  # from slow decays to fast ones
            self.decay.up.bias.copy_(torch.linspace(-6.5, -1.5, width))
            self.rate.up.bias.zero_()
        self.removal = nn.Parameter(torch.full((width,), 0.85))
        self.replacement = nn.Parameter(torch.ones(width))
        self.bonus = nn.Parameter(torch.full((width,), -0.04))
        self.norm = nn.GroupNorm(self.heads, width, eps=NORM_EPSILON)
        self.first_share = None if shared or not index else LowRank(width, config.rank)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        return self.mix(x_BTW, state, None)[:2]

    def mix(
        self, x_BTW: Tensor, state: State, first_BTW: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
        """Return the change to x, (B, T, W), what to keep, and the first block's values.

        Args:
            x_BTW: the symbols.
            state: what was kept of those before; None for none.
            first_BTW: the values of the first block; None in that block.
        """
        last_B1W, state_BHEE = state or (None, None)
        change_BTW = _before(x_BTW, last_B1W) - x_BTW
        shifted = [x_BTW.addcmul(change_BTW, share) for share in self.shift]
        parts = dict(zip(SHIFTED, shifted, strict=True))
        receptance, value = self.receptance(parts["receptance"]), self.value(parts["value"])
        first_BTW = value if first_BTW is None else first_BTW
        if self.first_share is not None:
            share = wide(self.first_share(parts["value"])).sigmoid()
            value = value + (first_BTW - value) * share.to(value.dtype)
        rate = wide(self.rate(parts["rate"])).sigmoid()
        raw_key = self.key(parts["key"])
        key = raw_key * (1 + (rate - 1) * self.replacement)
        removal = functional.normalize(
            wide(split(raw_key * self.removal, self.heads)), dim=-1, eps=EPSILON
        )
        decay = (FASTEST * wide(self.decay(parts["decay"])).sigmoid()).exp()
        steps = Steps(
            split(receptance, self.heads),
            split(key, self.heads),
            split(value, self.heads),
            split(decay, self.heads),
            -split(rate, self.heads) * removal,
            removal,
        )
        answers, state_BHEE = remember(steps, state_BHEE, self.chunk, least=LEAST_DECAY)
        mixed_BTW = self.norm(merge(answers).flatten(0, 1)).reshape(x_BTW.shape)
        bonus = (split(receptance * key * self.bonus, self.heads)).sum(-1, keepdim=True)
        mixed_BTW = mixed_BTW + merge(bonus * steps.value)
        changed: Tensor = self.merge((mixed_BTW * self.gate(parts["gate"])).to(x_BTW.dtype))
        return changed, (x_BTW[:, -1:], state_BHEE), first_BTW


def _before(x_BTW: Tensor, last_B1W: Tensor | None) -> Tensor:
    """Return the symbol before each, (B, T, W): zeros before the first of a string."""
    if last_B1W is None:
        last_B1W = torch.zeros_like(x_BTW[:, :1])
    return torch.cat((last_B1W, x_BTW[:, :-1]), dim=1)


class ChannelMixing(nn.Module):
    """RWKV-7's MLP: squared ReLUs of a symbol and the one before it, without biases."""

    def __init__(self, config: Rwkv7Config) -> None:
        super().__init__()
        hidden = config.width * config.feed_forward
        self.shift = nn.Parameter(torch.rand(config.width))
        self.up = nn.Linear(config.width, hidden, bias=False)
        self.down = nn.Linear(hidden, config.width, bias=False)

    def forward(self, x_BTW: Tensor, last_B1W: Tensor | None) -> Tensor:
        """Return the change to x, (B, T, W)."""
        shifted_BTW = x_BTW.addcmul(_before(x_BTW, last_B1W) - x_BTW, self.shift)
        change_BTW: Tensor = self.down(functional.relu(self.up(shifted_BTW)).square())
        return change_BTW


class Rwkv7Block(nn.Module):
    """A block of the paper: time mixing and channel mixing, each after a layer norm."""

    def __init__(self, config: Rwkv7Config, mixer: Rwkv7Mixer) -> None:
        super().__init__()
        self.norm_mixer = nn.LayerNorm(config.width)
        self.mixer = mixer
        self.feed_forward = None
        if config.feed_forward:
            self.norm_feed_forward = nn.LayerNorm(config.width)
            self.feed_forward = ChannelMixing(config)

    def forward(
        self, x_BTW: Tensor, state: State, first_BTW: Tensor | None
    ) -> tuple[Tensor, State, Tensor | None]:
        """Return the symbols after the block, (B, T, W), what to keep, and the first values."""
        if not x_BTW.shape[1]:
            return x_BTW, state, first_BTW
        normed_BTW = self.norm_mixer(x_BTW)
        change_BTW, kept, first_BTW = self.mixer.mix(normed_BTW, state and state[:2], first_BTW)
        x_BTW = x_BTW + change_BTW
        if self.feed_forward is not None:
            normed_BTW = self.norm_feed_forward(x_BTW)
            x_BTW = x_BTW + self.feed_forward(normed_BTW, state[2] if state else None)
            kept = (*kept, normed_BTW[:, -1:])
        return x_BTW, kept, first_BTW


class Rwkv7(Backbone):
    """The network of the paper, whose blocks hand on the values of the first one."""

    def __init__(self, task: Task, config: Rwkv7Config, mechanisms: tuple[str, ...]) -> None:
        super().__init__(
            task, config, lambda index: Rwkv7Mixer(config, index), mechanisms, block=Rwkv7Block
        )
        self.norm_symbols = nn.LayerNorm(config.width)
        self.norm = nn.LayerNorm(config.width)

    def _layers(
        self, symbols_BN: Tensor, states: Sequence[State]
    ) -> Iterator[tuple[Tensor, State]]:
        x_BNW, first_BNW = self.norm_symbols(self.embedding(symbols_BN)), None
        yield x_BNW, None
        for block, state in zip(self.blocks, states, strict=True):
            x_BNW, state, first_BNW = block(x_BNW, state, first_BNW)
            yield x_BNW, state


@torch.no_grad()
def _begin_as_published(network: Backbone, config: Rwkv7Config) -> None:
    """Begin as RWKV-LM does: each branch at 0, shifts as ramps, decays bent and in zigzag."""
    nn.init.uniform_(network.embedding.weight, -1e-4, 1e-4).mul_(config.embedding_scale)
    width, bound = config.width, 0.5 * config.width**-0.5
    channel = torch.arange(width)
    line = channel / (width - 1)
    size = width // config.heads
    zigzag = 2 * (channel % size) / max(1, size - 1) - 1
    zigzag = zigzag * zigzag.abs()
    for index, block in enumerate(network.blocks):
        mixer: Rwkv7Mixer = block.mixer  # type: ignore[assignment]
        up, down = index / max(1, config.layers - 1), 1 - index / config.layers
        for part, power in zip(mixer.shift, (0.2, 0.9, 0.7, 0.7, 0.9, 0.2), strict=True):
            part.copy_(1 - (channel / width) ** (power * down))
        for layer, scale in ((mixer.receptance, 1), (mixer.key, 0.1), (mixer.value, 1)):
            nn.init.uniform_(layer.weight, -scale * bound, scale * bound)
        mixer.merge.weight.zero_()
        for low_rank in (mixer.decay, mixer.rate, mixer.gate, mixer.first_share):
            if low_rank is not None:
                low_rank.down.weight.zero_()
                nn.init.orthogonal_(low_rank.up.weight, 0.1 * max(1, config.rank / width) ** 0.5)
        mixer.decay.up.bias.copy_(6 * line ** (1 + up**0.3) - 5.5 + 2.5 * zigzag)
        mixer.rate.up.bias.copy_(0.3 * zigzag + 0.4 * line - 0.39)
        if mixer.gate.up.bias is not None:
            mixer.gate.up.bias.zero_()
        if mixer.first_share is not None:
            mixer.first_share.up.bias.copy_(0.93 - 0.4 * line)
        mixer.removal.copy_(0.76 - 0.1 * line)
        mixer.replacement.fill_(1.02)
        mixer.norm.weight.fill_(((1 + index) / config.layers) ** 0.7)
        if isinstance(block.feed_forward, ChannelMixing):
            block.feed_forward.shift.copy_(1 - (channel / width) ** down**4)
            nn.init.uniform_(block.feed_forward.up.weight, -bound, bound)
            block.feed_forward.down.weight.zero_()


def build_rwkv7(task: Task, config: Rwkv7Config) -> Backbone:
    """Build the network for a task."""
    mechanisms = ("diagonal-plus-low-rank-recurrence", "delta-rule", "input-dependent-gates")
    network = (
        Rwkv7(task, config, mechanisms)
        if config.shell == "rwkv"
        else Backbone(task, config, lambda index: Rwkv7Mixer(config, index), mechanisms)
    )
    if config.initial == "rwkv":
        _begin_as_published(network, config)
    return network


def _sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def _low_rank(layer: LowRank, x: Tensor, inside: Callable[[Tensor], Tensor]) -> Tensor:
    mapped = layer.up.weight @ inside(layer.down.weight @ x)
    return mapped if layer.up.bias is None else mapped + layer.up.bias


def naive_rwkv7(mixer: Rwkv7Mixer, x_TW: Tensor) -> Tensor:
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
