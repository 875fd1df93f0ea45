"""The feed-forward network for PARITY of strings of one length.

Source: Rumelhart, Hinton & Williams (1986), as in Chiang & Cholak (2022), §2.1.

Legend: B batch, n inputs and hidden units.
"""

from __future__ import annotations

import torch
from formalbench import Batch, RequestError, Task, Traits
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.constructions.configs import FfnnParityConfig


class ParityFFNN(nn.Module):
    """PARITY of exactly n symbols by two layers of step functions.

    The first layer compares the number k of 1s with 1, …, n: h_j = I[k ≥ j]. The second adds the
    odd ones and subtracts the even ones: its logit is 1/2 if k is odd and -1/2 if it is even. It
    needs whole numbers up to n, and halves.

    Args:
        task: PARITY.
        config: n, the length of the strings.
    """

    def __init__(self, task: Task, config: FfnnParityConfig) -> None:
        super().__init__()
        self.n = n = config.n
        self.traits = Traits(
            causal=False,
            lengths=(n, n),
            constants={"n": float(n)},
            depth=2,
            width=n,
            notes={
                "heads": 0,
                "hidden": n,
                "precision": "O(log n) bits: counts up to n, and halves",
            },
        )
        one = torch.ones(n, dtype=torch.float64)
        threshold_n = torch.arange(n, dtype=torch.float64) + 0.5
        sign_n = 1.0 - 2.0 * (torch.arange(n, dtype=torch.float64) % 2)
        self.weight_1 = nn.Parameter(one[:, None] * one)
        self.bias_1 = nn.Parameter(-threshold_n)
        self.weight_2 = nn.Parameter(sign_n[None])
        self.bias_2 = nn.Parameter(-0.5 * one[:1])

    def forward(self, batch: Batch) -> Tensor:
        """Return logits (0, s), (B, 2).

        Raises:
            RequestError: if the strings are not of length n.
        """
        return self._run(batch)["logits"]

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``x`` and ``hidden`` (B, n) and ``logits`` (B, 2)."""
        return self._run(batch)

    def _run(self, batch: Batch) -> dict[str, Tensor]:
        n, length = self.n, batch.symbols.shape[1]
        if length != n:
            raise RequestError(
                f"ffnn-parity has {n} inputs and reads no string of length {length}: "
                f"--set n={max(1, length)}"
            )
        x_Bn = batch.symbols.to(self.weight_1.dtype)
        sums_Bn = functional.linear(x_Bn, self.weight_1, self.bias_1)
        hidden_Bn = (sums_Bn > 0).to(x_Bn.dtype)
        logit_B1 = functional.linear(hidden_Bn, self.weight_2, self.bias_2)
        logits_B2 = torch.cat((torch.zeros_like(logit_B1), logit_B1), dim=-1)
        return {"x": x_Bn, "hidden": hidden_Bn, "logits": logits_B2}
