"""Hybrids: blocks of several families in one network, as in Jamba, Griffin or Samba.

A block of a recurrence is that of its family, with the family's own options but for width and
heads: Mamba's blocks have no MLP, the others have one. A block of attention is causal, without
positions (what recurrences below it made of the past tells them), with an MLP.

Sources: Lieber et al. (2024), Jamba; De et al. (2024), Griffin; Ren et al. (2024), Samba.

Legend: B batch, N symbols, P symbols before them, W width.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from formalbench import Task
from torch import Tensor

from formalbench_models.catalogue.linear_recurrences import ATTENTION, RECURRENCES, HybridConfig
from formalbench_models.catalogue.options import ShellConfig
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.residual import Backbone, Block, Mixer, State


class AttentionMixer(Mixer):
    """Causal softmax attention without positions; what it keeps are all symbols before.

    Args:
        width: W.
        heads: they divide the width.

    Raises:
        ValueError: if they do not.
    """

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"heads={heads}: must divide the width ({width})")
        self.attention = Attention(width, heads, causal=True, log_length=False)

    def forward(self, x_BNW: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Return the change to x, (B, N, W), and the symbols so far, (B, P+N, W)."""
        x_BMW = torch.cat((*(state or ()), x_BNW), dim=1)
        most = x_BMW.shape[1]
        change_BNW, _ = self.attention(x_BMW, Span(most - x_BNW.shape[1], most))
        return change_BNW, (x_BMW,)


def _block(part: str, task: Task, config: HybridConfig) -> Any:
    """Return a block of attention, or that of a family's network of one block."""
    if part == ATTENTION:
        shell = ShellConfig(width=config.width)
        return Block(shell, AttentionMixer(config.width, config.heads))
    spec = RECURRENCES[part]
    kind: Any = spec.config
    place, _, builder = str(spec.factory).partition(":")
    build = getattr(import_module(place), builder)
    heads = {"heads": config.heads} if "heads" in kind.model_fields else {}
    options = {**spec.defaults, **heads, "width": config.width, "layers": 1}
    return build(task, kind(**options)).blocks[0]


def build_hybrid(task: Task, config: HybridConfig) -> Backbone:
    """Build the network for a task. No theorem about such networks is known."""
    parts = config.parts
    shell = ShellConfig(width=config.width, layers=len(parts))
    return Backbone(
        task,
        shell,
        lambda index: _block(parts[index], task, config),
        (),
        block=lambda _, block: block,
    )
