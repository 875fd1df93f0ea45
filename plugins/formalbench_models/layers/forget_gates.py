"""Forget gates: a logit falls by what every position between query and key forgets.

Source: Lin et al., "Forgetting transformer: softmax attention with a forget gate" (2025), §3. A
position has a gate for each head, f_t = sigmoid(w·x_t + b), and from query i to key j ≤ i the logit

    q_i·k_j / sqrt(E) + sum of log f_t over j < t ≤ i.

Their output gates and norms of queries and keys are not part of it here.

Legend: B batch, N positions, Q queries, D width, H heads.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ForgetGates(nn.Module):
    """The gates of all heads.

    Args:
        width: D.
        heads: H.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, heads)

    def forward(self, x_BND: Tensor) -> Tensor:
        """Return the sum of log f from the first position to each, (B, N, H), fp32 at least."""
        exact = torch.promote_types(x_BND.dtype, torch.float32)
        # In bf16 a long sum would lose the differences that are all anybody looks at.
        return functional.logsigmoid(self.gate(x_BND).to(exact)).cumsum(1)

    def bias(self, total_BNH: Tensor, first: int, stop: int) -> Tensor:
        """Return what is added to logits, (B, H, Q, N); behind a query it means nothing."""
        total_BHN = total_BNH.transpose(1, 2)
        bias_BHQN = total_BHN[:, :, first:stop, None] - total_BHN[:, :, None]
        return bias_BHQN.to(self.gate.weight.dtype)
