"""sLSTM: the LSTM with exponential gates, a normaliser and heads that mix their states.

Source: Beck et al. (2024), xLSTM, section 2.2, and the authors' code. For each head,

    i, f, z, o = W x_t + R h_{t-1} + b         (i and f of the last symbols, by a convolution)
    c_t = σ(f) c_{t-1} + exp(i) tanh(z),        n_t = σ(f) n_{t-1} + exp(i),
    h_t = σ(o) c_t / n_t.

The exponential is kept within range by m_t = max(log σ(f) + m_{t-1}, i): what is held is
c_t exp(-m_t) and n_t exp(-m_t), and no result depends on m. R has a block for each head, which so
mixes its own memory and that of no other: unlike mLSTM, and unlike every linear recurrence, it must
go symbol by symbol, and can track states.

The mixer is the paper's: a convolution with SiLU in front of i and f (neither with
``convolution=0``, as in Grazzi et al.'s settings), block-wise maps for the
gates, and a norm of each head's answer. The shell (`layers/residual.py`) is that of the linear
recurrences, with root-mean-square norms and an MLP; the paper's has layer norms and a gated one.

Legend: B batch, T symbols, W width, H heads, E width of a head, G = 4 E gates of a head.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.slstm.config import SlstmConfig
from formalbench_models.layers.convolution import ShortConvolution
from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.residual import Backbone, Memory, Mixer

NORM_EPSILON = 1e-5
"""Added to the variance by the norm of the answers."""

MOST, LEAST = 5.0, -7.0
"""Between which the biases of f begin, as in the paper's code."""

POWER = 0.3, 1.6
"""How they are spread in the first block and in the last one."""


class SlstmMixer(Mixer):
    """An LSTM with exponential gates.

    Args:
        config: sizes.
        depth: which block this is, 0 for the first and 1 for the last one.
    """

    def __init__(self, config: SlstmConfig, depth: float) -> None:
        super().__init__()
        self.heads = config.heads
        size = config.width // config.heads
        self.convolution = (
            ShortConvolution(config.width, config.convolution) if config.convolution else None
        )
        start = (2 / (5 * size)) ** 0.5  # as in the paper's code, and the recurrence from zero
        self.of_mixed = nn.Parameter(torch.randn(config.heads, size, 2 * size) * start)
        self.of_symbol = nn.Parameter(torch.randn(config.heads, size, 2 * size) * start)
        self.recurrent = nn.Parameter(torch.zeros(config.heads, size, 4 * size))
        self.bias = nn.Parameter(torch.zeros(config.heads, 4 * size))
        places = torch.linspace(0, 1, size) ** (POWER[0] + (POWER[1] - POWER[0]) * depth)
        with torch.no_grad():
            self.bias[:, size : 2 * size] = MOST + (LEAST - MOST) * places
        self.gain = nn.Parameter(torch.ones(config.width))

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        past, held = list(memory[:-4]), list(memory[-4:])
        mixed_BTW = x_BTW
        if self.convolution is not None:
            mixed_BTW, *past = self.convolution(x_BTW, *(past or (None,)))
            mixed_BTW = functional.silu(mixed_BTW)
        gates_HTBG = wide(self._gates(mixed_BTW, x_BTW))
        if not held:
            zero_HBE = gates_HTBG.new_zeros(self.heads, len(x_BTW), gates_HTBG.shape[-1] // 4)
            held = [zero_HBE, zero_HBE, zero_HBE, zero_HBE - torch.inf]
        answers, held = run(gates_HTBG, wide(self.recurrent), *held)
        answers_BTHE = torch.stack(answers, 2).permute(1, 2, 0, 3)
        normed = functional.layer_norm(answers_BTHE, answers_BTHE.shape[-1:], eps=NORM_EPSILON)
        return (normed.flatten(-2) * self.gain).to(x_BTW.dtype), (*past, *held)

    def _gates(self, mixed_BTW: Tensor, x_BTW: Tensor) -> Tensor:
        """Return what the gates get from symbols, (H, T, B, G)."""
        parts = []
        for source, weight_HEF in ((mixed_BTW, self.of_mixed), (x_BTW, self.of_symbol)):
            apart_HBTE = torch.unflatten(source, -1, (self.heads, -1)).permute(2, 1, 0, 3)
            parts.append(apart_HBTE @ weight_HEF.unsqueeze(1))
        return torch.cat(parts, -1) + self.bias[:, None, None]


def run(
    gates_HTBG: Tensor,
    recurrent_HEG: Tensor,
    h_HBE: Tensor,
    c_HBE: Tensor,
    n_HBE: Tensor,
    m_HBE: Tensor,
) -> tuple[list[Tensor], list[Tensor]]:
    """Return h after every symbol, (H, B, E) each, and what is held after the last one.

    Args:
        gates_HTBG: what the gates i, f, z, o get from symbols.
        recurrent_HEG: what they get from h.
        h_HBE: the state before.
        c_HBE: the memory, times exp(-m).
        n_HBE: its normaliser, likewise.
        m_HBE: what keeps both within range; -∞ at the start of a string.
    """
    answers = []
    for fed_HBG in gates_HTBG.unbind(1):
        i, f, z, o = torch.baddbmm(fed_HBG, h_HBE, recurrent_HEG).chunk(4, -1)
        kept = functional.logsigmoid(f)
        # Nothing depends on m, so it has no gradient.
        next_m = torch.maximum(kept.detach() + m_HBE, i.detach())
        forget, take = (kept + (m_HBE - next_m)).exp(), (i - next_m).exp()
        c_HBE = forget * c_HBE + take * z.tanh()
        n_HBE = forget * n_HBE + take
        m_HBE = next_m
        h_HBE = o.sigmoid() * c_HBE / n_HBE
        answers.append(h_HBE)
    return answers, [h_HBE, c_HBE, n_HBE, m_HBE]


def build(task: Task, config: SlstmConfig) -> Backbone:
    """Build the network for a task."""
    last = max(1, config.layers - 1)
    return Backbone(
        task, config, lambda index: SlstmMixer(config, index / last), ("slstm-recurrence",)
    )
