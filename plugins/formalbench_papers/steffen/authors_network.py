"""The networks of Steffen, Glaus & Saeedi for Dyck-1 and Dyck-(1, D), with their weights.

Source: the report, §4, and its code (bglaus/AFLT-Project-Dyck-Self-Attention), with layer norm
and without. Positions i are counted from 1, CLS first, and k is the number of closing minus that of
opening brackets up to i.

The first layer finds k/i and 1/i by attention to what came before, then I[k = 0]/i, I[k > 0]/i and,
if depth is bounded, I[-k > D]/i; the second I[k = 0 and i = n]/i. The output is the sum over all
positions of the last minus twice each fault: 1/n for members, 0 or less for others.

Legend: B strings, N positions (CLS included), W width.
"""

from __future__ import annotations

import torch
from formalbench.contracts.network import Batch
from torch import Tensor, nn

HEADS = 2
"""Of which the second has no weights to begin with."""


class AuthorsNetwork(nn.Module):
    """Recognises a language of one type of brackets; all weights but the embedding are trained.

    Args:
        deepest: D; None for Dyck-1.
        norm: whether to have layer norm after each branch; then a second half of the stream is the
            first one negated, which keeps its mean at 0.
    """

    embedding: Tensor

    def __init__(self, deepest: int | None = None, *, norm: bool = False) -> None:
        super().__init__()
        bounded = deepest is not None
        self.deepest = deepest
        half = 12 if bounded else 10
        width = 2 * half if norm else half
        self.register_buffer("embedding", torch.eye(3, half))  # (, ) and CLS
        self.first = AuthorsLayer(width, 5 if bounded else 3, norm=norm)
        self.second = AuthorsLayer(width, 1, norm=norm)
        self.answer = nn.Linear(width, 1)
        for weight in (self.answer.weight, self.answer.bias):
            nn.init.zeros_(weight)
        # Where the stream has k/i, 1/i, I[k = 0]/i and I[k > 0]/i.
        count, inverse, none, more = (6, 5, 7, 8) if bounded else (4, 5, 7, 6)
        with torch.no_grad():
            self._write_first(count, inverse, none, more, bounded=bounded)
            last = 10 if bounded else 8
            self.second.up.weight[0, [0, 1, 2, 3, none]] = torch.tensor([-1.0, -1, -1, 1, 1])
            self.second.down.weight[last, 0] = 1
            if norm:
                self.first.negate(half)
                self.second.down.weight[half + last, 0] = 1  # not negated, as in their code
            self.answer.weight[0, last] = 1
            self.answer.weight[0, [more, 9] if bounded else [more]] = -2

    def _write_first(
        self, count: int, inverse: int, none: int, more: int, *, bounded: bool
    ) -> None:
        attention, up, down = self.first.attention, self.first.up.weight, self.first.down.weight
        values = attention.in_proj_weight[2 * attention.embed_dim :]
        counting, marking = (1, 0) if bounded else (0, 1)
        values[counting, :2] = torch.tensor([-1.0, 1.0])
        values[marking, 2] = 1
        attention.out_proj.weight[count, counting] = 1
        attention.out_proj.weight[inverse, marking] = 1
        up[:3, count] = 1  # k + 1, k and k - 1, over i
        up[:3, inverse] = torch.tensor([1.0, 0, -1])
        down[none, :3] = torch.tensor([1.0, -2, 1])
        down[more, :3] = torch.tensor([0.0, 1, -1])
        if bounded:
            up[3:, [4, count]] = -1  # -k - D and -k - D - 1, over i
            up[4, inverse] = -1
            down[9, 3:] = torch.tensor([1.0, -1.0])

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of non-members, 0, and of members; (B, 2)."""
        strings_BN = nn.functional.pad(batch.symbols, (1, 0), value=2)
        x_BNW = self.embedding[strings_BN]
        length = strings_BN.shape[1]
        x_BNW[:, -1, 3] = 1
        if self.deepest is not None:
            places_N = torch.arange(1, length + 1, dtype=x_BNW.dtype, device=x_BNW.device)
            x_BNW[:, :, 4] = self.deepest / places_N
        if self.answer.in_features > x_BNW.shape[2]:
            x_BNW = torch.cat((x_BNW, -x_BNW), dim=-1)
        hidden_NN = nn.Transformer.generate_square_subsequent_mask(
            length, device=x_BNW.device, dtype=x_BNW.dtype
        )
        x_BNW = self.second(self.first(x_BNW, hidden_NN), None)
        logits_B = self.answer(x_BNW).sum((1, 2))
        return torch.stack((torch.zeros_like(logits_B), logits_B), dim=-1)


class AuthorsLayer(nn.Module):
    """PyTorch's encoder layer with ReLU, all weights 0, and layer norm left out unless asked for.

    Args:
        width: W.
        hidden: units of the feed-forward network.
        norm: whether to have layer norm after each branch, with ε = 10⁻⁵.
    """

    def __init__(self, width: int, hidden: int, *, norm: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, HEADS, batch_first=True)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        for weight in self.parameters():
            nn.init.zeros_(weight)
        self.norms = nn.ModuleList(nn.LayerNorm(width) if norm else nn.Identity() for _ in range(2))

    def negate(self, half: int) -> None:
        """Let the second half of the stream get the first half's additions, negated."""
        for weight in (self.attention.out_proj.weight, self.down.weight):
            weight[half:] = -weight[:half]

    def forward(self, x_BNW: Tensor, hidden_NN: Tensor | None) -> Tensor:
        """Return the stream after it, (B, N, W).

        Args:
            x_BNW: the stream.
            hidden_NN: added to the logits of attention; None for nothing.
        """
        read_BNW, _ = self.attention(x_BNW, x_BNW, x_BNW, attn_mask=hidden_NN, need_weights=False)
        x_BNW = self.norms[0](x_BNW + read_BNW)
        result_BNW: Tensor = self.norms[1](x_BNW + self.down(self.up(x_BNW).relu()))
        return result_BNW
