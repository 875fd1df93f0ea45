"""The model ``bag-of-symbols``: it only adds up embeddings."""

from __future__ import annotations

from formalbench import Batch, Task, Traits
from torch import Tensor, nn

from formalbench_counting.config import BagConfig


class BagOfSymbols(nn.Module):
    """The sum of all embeddings so far; the engine reads the answer off it, linearly.

    Legend: B strings, N symbols, D width.

    Args:
        task: gives the alphabet.
        config: gives D.
    """

    def __init__(self, task: Task, config: BagConfig) -> None:
        super().__init__()
        self.traits = Traits(backbone=config.width, padding=True)
        self.embed = nn.Embedding(len(task.alphabet), config.width)

    def forward(self, batch: Batch) -> Tensor:
        """Return the sums, (B, N, D)."""
        sums_BND: Tensor = self.embed(batch.symbols).cumsum(dim=1)
        return sums_BND
