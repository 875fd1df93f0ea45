"""Stack attention: in the place of an attention, a stack that is a superposition of actions.

Source: DuSell & Chiang, "Stack attention: improving the ability of transformers to model
hierarchical patterns" (2024), §4.1; the stack: Joulin & Mikolov, "Inferring algorithmic patterns
with stack-augmented recurrent nets" (2015), §3.2. From the (normed) state x_t,

    (a_push, a_noop, a_pop) = softmax(W_a x_t),    v_t = W_v x_t,
    V_t[i] = a_push·V_{t-1}[i-1] + a_noop·V_{t-1}[i] + a_pop·V_{t-1}[i+1],    V_{t-1}[-1] = v_t,

the stack at first empty, that is 0 everywhere. With ``push=sigmoid`` v_t is the sigmoid of that, as
Joulin & Mikolov have it; both of the authors' code bases push the map itself. What is added to x_t
is W_y V_t[0], the top. The stack is as deep as the string is long, and goes from left to right, one
step a position.

Legend: B batch, N positions, Q of them asked for, D width, C numbers in a cell, S cells.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from formalbench import RequestError, Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.transformers import StackAttentionConfig
from formalbench_models.families.transformer import Transformer, TransformerBlock
from formalbench_models.layers.attention import Span


class StackAttention(nn.Module):
    """A superposition stack, called as an attention is.

    Args:
        width: D.
        cell: C.
        bias: whether the projections have biases.
        squashed: whether the sigmoid of a value is pushed, and not the value.
    """

    def __init__(self, width: int, cell: int, *, bias: bool, squashed: bool = False) -> None:
        super().__init__()
        self.squashed = squashed
        self.action = nn.Linear(width, 3, bias=bias)
        self.pushed = nn.Linear(width, cell, bias=bias)
        self.merge = nn.Linear(cell, width, bias=bias)

    def forward(
        self,
        x_BND: Tensor,
        span: Span,
        lengths_B: Tensor | None = None,
        *,
        keep_weights: bool = False,
    ) -> tuple[Tensor, None]:
        """Return what the stack shows at the positions in `span`, (B, Q, D); it has no weights."""
        share_BN3 = self.action(x_BND[:, : span.stop]).softmax(dim=-1)
        value_BNC = self.pushed(x_BND[:, : span.stop])
        value_BNC = value_BNC.sigmoid() if self.squashed else value_BNC
        top_BNC = tops(share_BN3, value_BNC)
        answer_BQD: Tensor = self.merge(top_BNC[:, span.first :])
        return answer_BQD, None


def tops(share_BN3: Tensor, value_BNC: Tensor) -> Tensor:
    """Return the top of the stack after each position, (B, N, C).

    Args:
        share_BN3: how much to push, to leave as it is and to pop.
        value_BNC: what to push.
    """
    stack_BSC, outputs = value_BNC[:, :0], []
    for place in range(value_BNC.shape[1]):
        push, noop, pop = share_BN3[:, place, :, None, None].unbind(1)
        pushed_BSC = torch.cat((value_BNC[:, place : place + 1], stack_BSC), dim=1)
        kept_BSC = functional.pad(stack_BSC, (0, 0, 0, 1))
        popped_BSC = functional.pad(stack_BSC[:, 1:], (0, 0, 0, 2 if place else 1))
        stack_BSC = push * pushed_BSC + noop * kept_BSC + pop * popped_BSC
        outputs.append(stack_BSC[:, 0])
    return torch.stack(outputs, dim=1)


class StackTransformer(Transformer):
    """A transformer with stack attention in one of its blocks.

    Raises:
        RequestError: if the network is not causal, or as for a `Transformer`.
    """

    def __init__(self, task: Task, config: StackAttentionConfig) -> None:
        super().__init__(task, config)
        if not self.causal:
            raise RequestError("stack attention is causal: do not set causal=false")
        self.traits = replace(self.traits, mechanisms=("stack-attention", "future-masked"))

    def make_block(self, config: StackAttentionConfig, index: int) -> TransformerBlock:
        block = super().make_block(config, index)
        if index == config.stack_index:
            block.attention = StackAttention(
                config.width, config.cell, bias=config.bias, squashed=config.push == "sigmoid"
            )
        return block
