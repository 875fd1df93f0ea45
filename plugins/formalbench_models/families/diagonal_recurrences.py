"""S4D, LRU, minGRU and minLSTM.

Source: Gu, Gupta, Goel and Ré (2022), On the parameterization and initialization of diagonal state
space models, section 3. Each channel keeps N complex numbers, half of a set of conjugate pairs:

    h_t = exp(Δ A) h_{t-1} + x_t,      y_t = 2 Re Σ C (exp(Δ A) - 1)/A h_t + d x_t

(zero-order hold, B = 1), A = -exp(·) + i·, Δ = exp(·), all learned; at first A_n = -1/2 + i π n
(S4D-Lin) and Δ from 0.001 to 0.1. Then GELU, and a gated linear unit, as in the paper's code.

Source: Orvieto et al. (2023), Resurrecting recurrent neural networks for long sequences, section 3
and appendix A:

    h_t = Λ h_{t-1} + exp(γ) ⊙ (B x_t),      y_t = Re(C h_t) + d x_t,

with the diagonal Λ = exp(-exp(ν) + i exp(θ)), so |Λ| < 1 always. At first the moduli are uniform on
a ring (0.9 to 0.999), the phases on the circle, and γ = log √(1 - |Λ|²) keeps the state's size.

Source: Feng et al. (2024), Were RNNs all we needed?, sections 3.1 and 3.2:

    h_t = (1 - z_t) h_{t-1} + z_t c_t                    (minGRU),
    h_t = f_t h_{t-1} + i_t c_t                          (minLSTM),
    h_t = f_t/(f_t + i_t) h_{t-1} + i_t/(f_t + i_t) c_t  (minLSTM, ``normalised``),

with gates z, f, i = σ(W x) and candidates c = g(W x), number by number. g(x) is x + 1/2 for x >= 0
and σ(x) below (appendix B), so that the paper can compute in logarithms; here nothing needs them,
and ``candidate=linear`` has c = W x as in section 3.

The third is the paper's first version. Its states are averages of candidates, so that they cannot
count; with f = i = 1 the second is a sum. The second is what a fork of the authors' repository
(BorealisAI/minRNNs) does by default, whose forget gate begins at σ(3).

The factors are in (0, 1).

The blocks of all are those of `layers/residual.py`, S4D's without MLPs.

Legend: B batch, T symbols, W width, N complex numbers a channel, S or D numbers of the
state.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import LruConfig, MinimalConfig, S4dConfig
from formalbench_models.layers.gates import GREATEST_STEP, LEAST_STEP
from formalbench_models.layers.residual import GATED, Mixer, State, backbone_of
from formalbench_models.layers.scan import scan
from formalbench_models.layers.tensors import wide


class S4dMixer(Mixer):
    """A diagonal state space for each channel."""

    def __init__(self, config: S4dConfig) -> None:
        super().__init__()
        width, states, self.chunk = config.width, config.states, config.chunk
        low, high = math.log(LEAST_STEP), math.log(GREATEST_STEP)
        self.log_step = nn.Parameter(torch.empty(width).uniform_(low, high))
        self.log_decay = nn.Parameter(torch.full((width, states), math.log(0.5)))
        turns = math.pi * torch.arange(states, dtype=torch.get_default_dtype())
        self.turn = nn.Parameter(turns.repeat(width, 1))
        self.read = nn.Parameter(torch.randn(width, states, 2) * 0.5**0.5)
        self.skip = nn.Parameter(torch.randn(width))
        self.merge = nn.Linear(width, 2 * width)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        with torch.autocast(x_BTW.device.type, enabled=False):
            rate_WN = torch.complex(-wide(self.log_decay).exp(), wide(self.turn))
            factor_WN = (wide(self.log_step).exp()[:, None] * rate_WN).exp()
            read_WN = (
                torch.complex(wide(self.read[..., 0]), wide(self.read[..., 1]))
                * (factor_WN - 1)
                / rate_WN
            )
            added = wide(x_BTW)[..., None].to(factor_WN.dtype)
            factor = factor_WN.expand(*x_BTW.shape, -1)
            states = scan(
                factor, added.expand(factor.shape), state[0] if state else None, self.chunk
            )
            mixed_BTW = 2 * (states * read_WN).sum(-1).real
        mixed_BTW = mixed_BTW.to(x_BTW.dtype) + self.skip * x_BTW
        changed: Tensor = functional.glu(self.merge(functional.gelu(mixed_BTW)), dim=-1)
        return changed, (states[:, -1],)


build_s4d = backbone_of(S4dMixer, "diagonal-recurrence")


def naive_s4d(mixer: S4dMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    width = x_TW.shape[1]
    rate = -torch.exp(mixer.log_decay) + 1j * mixer.turn
    exponent = torch.exp(mixer.log_step)[:, None] * rate
    read = (mixer.read[..., 0] + 1j * mixer.read[..., 1]) * (torch.exp(exponent) - 1) / rate
    changes = []
    for time, x in enumerate(x_TW):
        answer = mixer.skip * x
        for early in range(time + 1):
            kernel = 2 * (read * torch.exp(exponent * (time - early))).sum(-1).real
            answer = answer + kernel * x_TW[early]
        answer = answer * 0.5 * (1 + torch.erf(answer / math.sqrt(2)))
        both = mixer.merge.weight @ answer + mixer.merge.bias
        changes.append(both[:width] / (1 + torch.exp(-both[width:])))
    return torch.stack(changes)


class LruMixer(Mixer):
    """A linear recurrent unit."""

    def __init__(self, config: LruConfig) -> None:
        super().__init__()
        width, states, self.chunk = config.width, config.states, config.chunk
        modulus = torch.empty(states).uniform_(config.fastest**2, config.slowest**2).sqrt()
        self.log_decay = nn.Parameter((-modulus.log()).log())
        self.log_turn = nn.Parameter((2 * math.pi * (1 - torch.rand(states))).log())
        self.log_scale = nn.Parameter((1 - modulus.square()).sqrt().log())
        self.write = nn.Parameter(torch.randn(states, width, 2) * (2 * width) ** -0.5)
        self.read = nn.Parameter(torch.randn(width, states, 2) * states**-0.5)
        self.skip = nn.Parameter(torch.randn(width))

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        with torch.autocast(x_BTW.device.type, enabled=False):
            decay, turn = wide(self.log_decay).exp(), wide(self.log_turn).exp()
            factor_S = torch.complex(-decay, turn).exp()
            write_SW = torch.complex(wide(self.write[..., 0]), wide(self.write[..., 1]))
            read_WS = torch.complex(wide(self.read[..., 0]), wide(self.read[..., 1]))
            added_BTS = wide(x_BTW).to(factor_S.dtype) @ write_SW.mT
            added_BTS = added_BTS * wide(self.log_scale).exp()
            states_BTS = scan(
                factor_S.expand(added_BTS.shape), added_BTS, state[0] if state else None, self.chunk
            )
            mixed_BTW = (states_BTS @ read_WS.mT).real
        return mixed_BTW.to(x_BTW.dtype) + self.skip * x_BTW, (states_BTS[:, -1],)


build_lru = backbone_of(LruMixer, "diagonal-recurrence")


def naive_lru(mixer: LruMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    modulus = torch.exp(-torch.exp(mixer.log_decay))
    phase = torch.exp(mixer.log_turn)
    real, imaginary = (x_TW.new_zeros(len(modulus)) for _ in range(2))
    cosine, sine = modulus * torch.cos(phase), modulus * torch.sin(phase)
    changes = []
    for x in x_TW:
        scale = torch.exp(mixer.log_scale)
        real, imaginary = (
            cosine * real - sine * imaginary + scale * (mixer.write[..., 0] @ x),
            sine * real + cosine * imaginary + scale * (mixer.write[..., 1] @ x),
        )
        answer = mixer.read[..., 0] @ real - mixer.read[..., 1] @ imaginary
        changes.append(answer + mixer.skip * x)
    return torch.stack(changes)


FORGET_BIAS = 3.0
"""Initial bias of minLSTM's forget gate, if gates are not normalised."""


class MinimalMixer(Mixer):
    """An elementwise gated recurrence."""

    def __init__(self, config: MinimalConfig) -> None:
        super().__init__()
        channels = config.width * config.expansion
        self.chunk, self.kind, self.normalised = config.chunk, config.kind, config.normalised
        self.positive = config.candidate == "positive"
        self.candidate = nn.Linear(config.width, channels)
        self.gates = nn.Linear(config.width, channels if self.kind == "gru" else 2 * channels)
        self.merge = nn.Linear(channels, config.width, bias=False)
        if self.kind == "lstm" and not self.normalised:
            with torch.no_grad():
                self.gates.bias[:channels] = FORGET_BIAS

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        candidate_BTD = wide(self.candidate(x_BTW))
        if self.positive:
            above = functional.relu(candidate_BTD) + 0.5
            candidate_BTD = torch.where(candidate_BTD >= 0, above, candidate_BTD.sigmoid())
        gates = wide(self.gates(x_BTW))
        if self.kind == "gru":
            forget_BTD, input_BTD = (-gates).sigmoid(), gates.sigmoid()
        elif not self.normalised:
            forget_BTD, input_BTD = gates.sigmoid().chunk(2, dim=-1)
        else:
            # f/(f + i) = σ(log f - log i), and what is forgotten is written.
            forget, write = functional.logsigmoid(gates).chunk(2, dim=-1)
            forget_BTD, input_BTD = (forget - write).sigmoid(), (write - forget).sigmoid()
        states_BTD = scan(
            forget_BTD, input_BTD * candidate_BTD, state[0] if state else None, self.chunk
        )
        return self.merge(states_BTD.to(x_BTW.dtype)), (states_BTD[:, -1],)


build_minimal = backbone_of(MinimalMixer, *GATED, eigenvalues="[0, 1]")


def naive_minimal(mixer: MinimalMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    size = mixer.candidate.out_features
    state = x_TW.new_zeros(size)
    changes = []
    for x in x_TW:
        written = mixer.candidate.weight @ x + mixer.candidate.bias
        if mixer.positive:
            written = torch.where(written >= 0, written + 0.5, 1 / (1 + torch.exp(-written)))
        gates = 1 / (1 + torch.exp(-mixer.gates.weight @ x - mixer.gates.bias))
        if mixer.kind == "gru":
            state = (1 - gates) * state + gates * written
        else:
            forget, write = gates[:size], gates[size:]
            state = forget * state + write * written
            if mixer.normalised:
                state = state / (forget + write)
        changes.append(mixer.merge.weight @ state)
    return torch.stack(changes)
