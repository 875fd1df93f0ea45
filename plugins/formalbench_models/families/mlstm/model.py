"""mLSTM: the LSTM with a matrix for a memory and exponential input gates.

Source: Beck et al. (2024), xLSTM, section 2.3 and figure 11. For each head, with scaled keys,

    C_t = f_t C_{t-1} + i_t k_t v_tᵀ,   n_t = f_t n_{t-1} + i_t k_t,
    h_t = C_tᵀ q_t / max(|n_tᵀ q_t|, 1),        i_t = exp(·),  f_t = σ(·).

The exponentials are kept within range by m_t = max(log f_t + m_{t-1}, log i_t): what is held is
C_t exp(-m_t) and n_t exp(-m_t), so 1 becomes exp(-m_t), and no result depends on m. n
is held as one more column of C, as if every value ended in 1.

The mixer is the paper's block: a projection up, a convolution in front of queries and keys,
block-wise queries, keys and values, a normalised answer with a skip from the convolution, and a
gate. The shell (`layers/residual.py`) has no MLP then, and root-mean-square norms.

Legend: B batch, T symbols, W width, D channels, H heads, E width of a head.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.mlstm.config import MlstmConfig
from formalbench_models.layers.convolution import ShortConvolution
from formalbench_models.layers.heads import merge, split
from formalbench_models.layers.matrix_memory import Steps, remember, wide
from formalbench_models.layers.residual import Backbone, Memory, Mixer

LEAST = 1e-6
"""Added to the denominator, as in the paper's code."""

NORM_EPSILON = 1e-5
"""Added to the variance by the norm of the answers."""


class BlockLinear(nn.Module):
    """A linear map of each block of channels by itself."""

    def __init__(self, channels: int, block: int) -> None:
        super().__init__()
        bound = block**-0.5
        start = torch.empty(channels // block, block, block).uniform_(-bound, bound)
        self.weight = nn.Parameter(start)

    def forward(self, x_D: Tensor) -> Tensor:
        """Return (..., D)."""
        parts = torch.unflatten(x_D, -1, self.weight.shape[:2])
        return (parts.unsqueeze(-2) @ self.weight.mT).squeeze(-2).flatten(-2)


class MlstmMixer(Mixer):
    """An LSTM with a matrix for a memory, between two projections."""

    def __init__(self, config: MlstmConfig) -> None:
        super().__init__()
        channels, self.heads, self.chunk = (
            config.width * config.expansion,
            config.heads,
            config.chunk,
        )
        self.project = nn.Linear(config.width, 2 * channels, bias=False)
        self.convolution = ShortConvolution(channels, config.convolution)
        self.query, self.key, self.value = (BlockLinear(channels, config.block) for _ in range(3))
        self.input_gate, self.forget_gate = (nn.Linear(3 * channels, self.heads) for _ in range(2))
        with torch.no_grad():  # as in the paper's code: at first no gate hangs on the symbol
            self.input_gate.weight.zero_()
            self.input_gate.bias.normal_(std=0.1)
            self.forget_gate.weight.zero_()
            self.forget_gate.bias.copy_(torch.linspace(3, 6, self.heads))
        self.norm = nn.GroupNorm(self.heads, channels, eps=NORM_EPSILON, affine=False)
        self.gain = nn.Parameter(torch.ones(channels))
        self.skip = nn.Parameter(torch.ones(channels))
        self.merge = nn.Linear(channels, config.width, bias=False)

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        past, state, most = memory or (None, None, None)
        inputs_BTD, gate_BTD = self.project(x_BTW).chunk(2, dim=-1)
        mixed_BTD, past = self.convolution(inputs_BTD, past)
        mixed_BTD = functional.silu(mixed_BTD)
        query, key, value = self.query(mixed_BTD), self.key(mixed_BTD), self.value(inputs_BTD)
        answers_BTD, state, most = self._cell(query, key, value, state, most)
        normed = self.norm(answers_BTD.flatten(0, 1)).reshape(answers_BTD.shape) * self.gain
        gated_BTD = (normed + self.skip * mixed_BTD) * functional.silu(gate_BTD)
        return self.merge(gated_BTD.to(x_BTW.dtype)), (past, state, most)

    def _cell(
        self, query: Tensor, key: Tensor, value: Tensor, state: Tensor | None, most: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the answers, (B, T, D), C and n together, and the last m, (B, H, 1)."""
        gates = torch.cat((query, key, value), dim=-1)
        input_BHT = wide(self.input_gate(gates)).mT
        forget_BHT = functional.logsigmoid(wide(self.forget_gate(gates))).mT
        if most is None:
            most = torch.zeros_like(input_BHT[..., :1])
        # m_t, all at once. Nothing depends on it, so it has no gradient.
        total_BHT = forget_BHT.detach().cumsum(-1)
        found_BHT = torch.cat((most, input_BHT.detach() - total_BHT), dim=-1).cummax(-1).values
        all_BHS = torch.cat((most, total_BHT + found_BHT[..., 1:]), dim=-1)
        before_BHT, most_BHT = all_BHS[..., :-1], all_BHS[..., 1:]
        decay = (forget_BHT + (before_BHT - most_BHT)).exp()[..., None]
        written = (input_BHT - most_BHT).exp()[..., None]
        value_BHTE = split(value, self.heads)
        ones = torch.ones_like(value_BHTE[..., :1])
        size = value_BHTE.shape[-1]
        steps = Steps(
            split(query, self.heads),
            written * split(key, self.heads) * size**-0.5,
            torch.cat((value_BHTE, ones), dim=-1),
            decay,
        )
        answers, state = remember(Steps._make(map(_wide, steps)), state, self.chunk)
        norm = torch.maximum(answers[..., -1:].abs(), (-most_BHT).exp()[..., None])
        return merge(answers[..., :-1] / (norm + LEAST)), state, most_BHT[..., -1:]


def _wide(part: Tensor | None) -> Tensor | None:
    """Return a part of the steps in fp32 at least: sums of what cancels out."""
    return None if part is None else wide(part)


def build(task: Task, config: MlstmConfig) -> Backbone:
    """Build the network for a task."""
    mechanisms = ("diagonal-recurrence", "input-dependent-gates")
    return Backbone(task, config, lambda _: MlstmMixer(config), mechanisms, "[0, 1]")
