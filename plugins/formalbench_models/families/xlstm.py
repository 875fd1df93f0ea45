"""mLSTM, sLSTM and xLSTM.

Source: Beck et al. (2024), xLSTM, section 2.3 and figure 11. For each head, with scaled keys,

    C_t = f_t C_{t-1} + i_t k_t v_tᵀ,   n_t = f_t n_{t-1} + i_t k_t,
    h_t = C_tᵀ q_t / max(|n_tᵀ q_t|, 1),        i_t = exp(·),  f_t = σ(·).

The exponentials are kept within range by m_t = max(log f_t + m_{t-1}, log i_t): what is held is
C_t exp(-m_t) and n_t exp(-m_t), so 1 becomes exp(-m_t), and no result depends on m. n
is held as one more column of C, as if every value ended in 1.

The mixer is the paper's block: a projection up, a convolution in front of queries and keys,
block-wise queries, keys and values, a normalised answer with a skip from the convolution, and a
gate. The shell (`layers/residual.py`) has no MLP then, and root-mean-square norms.

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

Source: Beck et al. (2024), xLSTM, section 2.4. xLSTM[a:b] has a blocks of mLSTM to b of sLSTM;
here every so-many-th block is an sLSTM: with ``every=2`` it is the xLSTM[1:1] with which papers on
formal languages try it. An mLSTM's block has no MLP, an sLSTM's has one.

Legend: B batch, T symbols, W width, D channels, H heads, E width of a head, G = 4 E gates of a
head.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import MlstmConfig, SlstmConfig, XlstmConfig
from formalbench_models.layers.gates import ShortConvolution, naive_convolution
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.residual import GATED, Backbone, Block, Mixer, State, backbone_of
from formalbench_models.layers.tensors import merge, split, wide

LEAST_NORM = 1e-6
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
        # A product per block; `parts.unsqueeze(-2) @ weight.mT` would be one per block and symbol.
        return torch.einsum("...kd,ked->...ke", parts, self.weight).flatten(-2)


class MlstmMixer(Mixer):
    """An LSTM with a matrix for a memory, between two projections."""

    def __init__(self, config: MlstmConfig) -> None:
        super().__init__()
        channels = config.width * config.expansion
        self.heads, self.chunk = config.heads, config.chunk
        self.project = nn.Linear(config.width, 2 * channels, bias=False)
        self.convolution = ShortConvolution(channels, config.convolution)
        self.query, self.key, self.value = (BlockLinear(channels, config.block) for _ in range(3))
        self.input_gate, self.forget_gate = (nn.Linear(3 * channels, self.heads) for _ in range(2))
        with torch.no_grad():  # as in the paper's code: initially no gate depends on the symbol
            self.input_gate.weight.zero_()
            self.input_gate.bias.normal_(std=0.1)
            self.forget_gate.weight.zero_()
            self.forget_gate.bias.copy_(torch.linspace(3, 6, self.heads))
        self.norm = nn.GroupNorm(self.heads, channels, eps=NORM_EPSILON, affine=False)
        self.gain = nn.Parameter(torch.ones(channels))
        self.skip = nn.Parameter(torch.ones(channels))
        self.merge = nn.Linear(channels, config.width, bias=False)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        past, cell, most = state or (None, None, None)
        inputs_BTD, gate_BTD = self.project(x_BTW).chunk(2, dim=-1)
        mixed_BTD, past = self.convolution(inputs_BTD, past)
        mixed_BTD = functional.silu(mixed_BTD)
        query, key, value = self.query(mixed_BTD), self.key(mixed_BTD), self.value(inputs_BTD)
        answers_BTD, cell, most = self._cell(query, key, value, cell, most)
        normed = self.norm(answers_BTD.flatten(0, 1)).reshape(answers_BTD.shape) * self.gain
        gated_BTD = (normed + self.skip * mixed_BTD) * functional.silu(gate_BTD)
        return self.merge(gated_BTD.to(x_BTW.dtype)), (past, cell, most)

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
        peak_BHT = torch.cat((most, input_BHT.detach() - total_BHT), dim=-1).cummax(-1).values
        all_BHS = torch.cat((most, total_BHT + peak_BHT[..., 1:]), dim=-1)
        before_BHT, most_BHT = all_BHS[..., :-1], all_BHS[..., 1:]
        decay = (forget_BHT + (before_BHT - most_BHT)).exp()[..., None]
        written = (input_BHT - most_BHT).exp()[..., None]
        value_BHTE = wide(split(value, self.heads))  # and so the answers: sums of what cancels out
        ones = torch.ones_like(value_BHTE[..., :1])
        size = value_BHTE.shape[-1]
        steps = Steps(
            split(query, self.heads),
            written * split(key, self.heads) * size**-0.5,
            torch.cat((value_BHTE, ones), dim=-1),
            decay,
        )
        answers, state = remember(steps, state, self.chunk)
        norm = torch.maximum(answers[..., -1:].abs(), (-most_BHT).exp()[..., None])
        return merge(answers[..., :-1] / (norm + LEAST_NORM)), state, most_BHT[..., -1:]


build_mlstm = backbone_of(MlstmMixer, *GATED, eigenvalues="[0, 1]")


def _silu(x: Tensor) -> Tensor:
    return x / (1 + torch.exp(-x))


def _blocks(layer: BlockLinear, x_D: Tensor) -> Tensor:
    return torch.cat(
        [w @ x for w, x in zip(layer.weight, x_D.chunk(len(layer.weight)), strict=True)]
    )


def naive_mlstm(mixer: MlstmMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W); its LEAST is 0."""
    channels = len(mixer.gain)
    size = channels // mixer.heads
    inputs_TD, gates_TD = torch.split(x_TW @ mixer.project.weight.T, channels, dim=1)
    mixed_TD = _silu(naive_convolution(mixer.convolution, inputs_TD))
    memories = [x_TW.new_zeros(size, size) for _ in range(mixer.heads)]
    norms = [x_TW.new_zeros(size) for _ in range(mixer.heads)]
    changes = []
    for mixed, inputs_D, gate_D in zip(mixed_TD, inputs_TD, gates_TD, strict=True):
        query, key = _blocks(mixer.query, mixed), _blocks(mixer.key, mixed)
        value = _blocks(mixer.value, inputs_D)
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
        changes.append(mixer.merge.weight @ (answer * _silu(gate_D)))
    return torch.stack(changes)


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

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        parts = list(state or ())
        past, memory = parts[:-4], parts[-4:]
        mixed_BTW = x_BTW
        if self.convolution is not None:
            mixed_BTW, *past = self.convolution(x_BTW, *(past or (None,)))
            mixed_BTW = functional.silu(mixed_BTW)
        gates_HTBG = wide(self._gates(mixed_BTW, x_BTW))
        if not memory:
            zero_HBE = gates_HTBG.new_zeros(self.heads, len(x_BTW), gates_HTBG.shape[-1] // 4)
            memory = [zero_HBE, zero_HBE, zero_HBE, zero_HBE - torch.inf]
        answers, memory = run_slstm(gates_HTBG, wide(self.recurrent), *memory)
        answers_BTHE = torch.stack(answers, 2).permute(1, 2, 0, 3)
        normed = functional.layer_norm(answers_BTHE, answers_BTHE.shape[-1:], eps=NORM_EPSILON)
        return (normed.flatten(-2) * self.gain).to(x_BTW.dtype), (*past, *memory)

    def _gates(self, mixed_BTW: Tensor, x_BTW: Tensor) -> Tensor:
        """Return what the gates get from symbols, (H, T, B, G)."""
        parts = []
        for source, weight_HEF in ((mixed_BTW, self.of_mixed), (x_BTW, self.of_symbol)):
            apart_HBTE = torch.unflatten(source, -1, (self.heads, -1)).permute(2, 1, 0, 3)
            parts.append(apart_HBTE @ weight_HEF.unsqueeze(1))
        return torch.cat(parts, -1) + self.bias[:, None, None]


def run_slstm(
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
        n_HBE: its normaliser, times exp(-m).
        m_HBE: what keeps both within range; -∞ at the start of a string.
    """
    answers = []
    for fed_HBG in gates_HTBG.unbind(1):
        i, f, z, o = torch.baddbmm(fed_HBG, h_HBE, recurrent_HEG).chunk(4, -1)
        log_forget = functional.logsigmoid(f)
        # Nothing depends on m, so it has no gradient.
        next_m = torch.maximum(log_forget.detach() + m_HBE, i.detach())
        forget, take = (log_forget + (m_HBE - next_m)).exp(), (i - next_m).exp()
        c_HBE = forget * c_HBE + take * z.tanh()
        n_HBE = forget * n_HBE + take
        m_HBE = next_m
        h_HBE = o.sigmoid() * c_HBE / n_HBE
        answers.append(h_HBE)
    return answers, [h_HBE, c_HBE, n_HBE, m_HBE]


def build_slstm(task: Task, config: SlstmConfig) -> Backbone:
    """Build the network for a task."""
    last = max(1, config.layers - 1)
    return Backbone(
        task, config, lambda index: SlstmMixer(config, index / last), ("slstm-recurrence",)
    )


def naive_slstm(mixer: SlstmMixer, x_TW: Tensor) -> Tensor:
    """Return the change to the symbols of one string, (T, W)."""
    size = x_TW.shape[1] // mixer.heads
    mixed_TW = x_TW
    if mixer.convolution is not None:
        mixed_TW = _silu(naive_convolution(mixer.convolution, x_TW))
    answers = []
    for head in range(mixer.heads):
        own = slice(head * size, (head + 1) * size)
        h = c = n = x_TW.new_zeros(size)
        states = []
        for x, mixed in zip(x_TW[:, own], mixed_TW[:, own], strict=True):
            of_symbols = torch.cat((mixed @ mixer.of_mixed[head], x @ mixer.of_symbol[head]))
            i, f, z, o = (of_symbols + h @ mixer.recurrent[head] + mixer.bias[head]).chunk(4)
            c = f.sigmoid() * c + i.exp() * z.tanh()
            n = f.sigmoid() * n + i.exp()
            h = o.sigmoid() * c / n
            mean = h.mean()
            deviation = ((h - mean).square().mean() + NORM_EPSILON).sqrt()
            states.append(mixer.gain[own] * (h - mean) / deviation)
        answers.append(torch.stack(states))
    return torch.cat(answers, 1)


def build_xlstm(task: Task, config: XlstmConfig) -> Backbone:
    """Build the network for a task."""
    shared = {name: getattr(config, name) for name in SlstmConfig.model_fields}
    of_slstm, last = SlstmConfig(**shared), max(1, config.layers - 1)
    places = range(config.every - 1, config.layers, config.every)

    def mixer(index: int) -> Mixer:
        return SlstmMixer(of_slstm, index / last) if index in places else MlstmMixer(config)

    without = config.model_copy(update={"feed_forward": 0})
    mechanisms = ("slstm-recurrence", "matrix-memory")[: 1 if config.every == 1 else 2]
    network = Backbone(task, without, mixer, mechanisms)
    for index in places:
        network.blocks[index] = Block(of_slstm, mixer(index))
    return network
