"""The model ``bag-of-symbols``: all it can do is add up what it sees."""

from __future__ import annotations

from formalbench.contracts.batch import Batch
from formalbench.contracts.task import Task
from torch import Tensor, nn


class BagOfSymbols(nn.Module):
    """Sums the embeddings of all symbols and reads the sum linearly.

    Legend: B strings, N symbols, D width, K classes.

    Args:
        task: gives the alphabet and the number of classes.
        width: D.
    """

    def __init__(self, task: Task, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), width)
        self.read = nn.Linear(width, task.outputs)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits, (B, K)."""
        sum_BD = self.embed(batch.symbols).sum(dim=1)
        logits: Tensor = self.read(sum_BD)
        return logits
