"""Linear attention, RetNet and GLA.

A head's state S is a matrix; a symbol writes its value at its key, and asks with its query:

    S_t = Diag(d_t) S_{t-1} + k_t v_tᵀ,      y_t = S_tᵀ q_t.

* Linear attention (Katharopoulos et al. 2020, Transformers are RNNs, section 3.3): d = 1, queries
  and keys are elu(·) + 1, and y is divided by z_tᵀ q_t, z the sum of the keys.
* RetNet (Sun et al. 2023, Retentive network, section 2): d = γ = 1 - 2^(-5-h) for head h. Queries
  and keys are rotated by their positions, so the factor is γ e^(iθ) for each pair of rows.
* Gated linear attention (Yang et al. 2024, Gated linear attention transformers, section 4.3):
  d_t = σ(·)^(1/16), for each row, by a map of low rank; here not below e^-5, at which a gate of
  the paper's would be σ(-80).

The last two normalise each head's answer and multiply it by a gate, SiLU of a map of the symbol.
Queries, keys and values are equally wide (RetNet's values are twice as wide as its keys, so are
those of gated linear attention), and the norm is of the root mean square, with a gain that heads
share (a group norm and a layer norm in the papers). The blocks are those of `layers/residual.py`.

Legend: B batch, T symbols, W width, H heads, E width of a head.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import LinearAttentionConfig
from formalbench_models.layers.gates import LowRank
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.positions import sinusoids
from formalbench_models.layers.relative_positions import rotate
from formalbench_models.layers.residual import EPSILON, GATED, Backbone, Mixer, State
from formalbench_models.layers.tensors import merge, split, wide

TEMPERATURE = 16
"""The root of the gates, so that they begin near 1."""

FASTEST = -5.0
"""The logarithm of the fastest of gated decays."""

LEAST_DECAY = 0.0067
"""Lower bound of decays, including rounding."""


class LinearAttention(Mixer):
    """Shared by the three: queries, keys, values, and the output projection."""

    def __init__(self, config: LinearAttentionConfig) -> None:
        super().__init__()
        width, self.heads, self.chunk = config.width, config.heads, config.chunk
        self.query, self.key, self.value, self.merge = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )

    def _heads(self, x_BTW: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, (B, H, T, E) each."""
        query, key, value = (
            split(layer(x_BTW), self.heads) for layer in (self.query, self.key, self.value)
        )
        return query, key, value

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        query, key, value = self._heads(x_BTW)
        query, key = functional.elu(query) + 1, functional.elu(key) + 1
        ones = torch.ones_like(value[..., :1])  # their sum under the keys is the normaliser
        steps = Steps(query, key, torch.cat((value, ones), dim=-1))
        answers, memory = remember(steps, state[0] if state else None, self.chunk)
        mixed_BTW = merge(answers[..., :-1] / (answers[..., -1:] + EPSILON))
        return self.merge(mixed_BTW), (memory,)


class GatedAttention(LinearAttention):
    """Gated linear attention."""

    def __init__(self, config: LinearAttentionConfig) -> None:
        super().__init__(config)
        width = config.width
        self.gate = nn.Linear(width, width, bias=False)
        self.norm = nn.RMSNorm(width // config.heads, eps=EPSILON)
        self.decay = LowRank(width, config.rank)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        query, key, value = self._heads(x_BTW)
        logs = functional.logsigmoid(wide(self.decay(x_BTW))) / TEMPERATURE
        decay = logs.clamp(min=FASTEST).exp()
        steps = Steps(query, key, value, split(decay, self.heads))
        memory = state[0] if state else None
        answers, memory = remember(steps, memory, self.chunk, least=LEAST_DECAY)
        return self._after(x_BTW, answers), (memory,)

    def _after(self, x_BTW: Tensor, answers_BHTE: Tensor) -> Tensor:
        size = answers_BHTE.shape[-1]
        normed_BTW = merge(self.norm(answers_BHTE.to(x_BTW.dtype) * size**-0.5))
        changed: Tensor = self.merge(normed_BTW * functional.silu(self.gate(x_BTW)))
        return changed


class Retention(GatedAttention):
    """RetNet's retention."""

    def __init__(self, config: LinearAttentionConfig) -> None:
        super().__init__(config)
        del self.decay

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        past_1, memory = state or (torch.zeros(1, dtype=torch.long, device=x_BTW.device), None)
        query, key, value = (wide(part) for part in self._heads(x_BTW))
        length, size = x_BTW.shape[1], query.shape[-1]
        place_T = past_1 + torch.arange(length, device=x_BTW.device)
        angles_TE = sinusoids(place_T, size, query.dtype)
        head_H = torch.arange(self.heads, dtype=query.dtype, device=x_BTW.device)
        decay_H11 = (1 - 2.0 ** (-5 - head_H))[:, None, None]
        steps = Steps(
            rotate(query, angles_TE),
            rotate(key, angles_TE),
            value,
            decay_H11.expand(*value.shape[:-1], 1),
        )
        answers, memory = remember(steps, memory, self.chunk)
        return self._after(x_BTW, answers), (past_1 + length, memory)


def build_linear_attention(task: Task, config: LinearAttentionConfig) -> Backbone:
    """Build the network for a task."""
    mixer, mechanisms, eigenvalues = {
        "none": (LinearAttention, GATED[:1], "[0, 1]"),
        "fixed": (Retention, GATED[:1], ""),
        "gated": (GatedAttention, GATED, "[0, 1]"),
    }[config.decay]
    return Backbone(task, config, lambda _: mixer(config), mechanisms, eigenvalues)


def naive_linear_attention(mixer: LinearAttention, x_TW: Tensor) -> Tensor:
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
