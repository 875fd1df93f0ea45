"""minGRU and minLSTM: gated recurrences whose gates see the symbol alone.

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

The factors are in (0, 1). The blocks are those of `layers/residual.py`.

Legend: B batch, T symbols, W width, D numbers of the state.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.minimal.config import MinimalConfig
from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.residual import Backbone, Memory, Mixer
from formalbench_models.layers.scan import scan

FORGET_BIAS = 3.0
"""At which the bias of minLSTM's forget gate begins, if gates are not normalised."""


class MinimalMixer(Mixer):
    """A gated recurrence, number by number."""

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

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
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
        state = memory[0] if memory else None
        states_BTD = scan(forget_BTD, input_BTD * candidate_BTD, state, self.chunk)
        return self.merge(states_BTD.to(x_BTW.dtype)), (states_BTD[:, -1],)


def build(task: Task, config: MinimalConfig) -> Backbone:
    """Build the network for a task."""
    mechanisms = ("diagonal-recurrence", "input-dependent-gates")
    return Backbone(task, config, lambda _: MinimalMixer(config), mechanisms, "[0, 1]")
