"""The strings of a task as a torch data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from formalbench.contracts.source import Split
    from formalbench.task_handle import TaskHandle


class BatchDataset(IterableDataset[tuple[Tensor, Tensor]]):
    """Batches of strings of one length, and their targets (`TaskHandle.batches`)."""

    def __init__(self, handle: TaskHandle, split: Split, batch: int, seed: int) -> None:
        self._handle, self._split, self._batch, self._seed = handle, split, batch, seed

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        pairs = self._handle.batches(self._split, self._batch, self._seed, first=first, step=step)
        for strings, targets in pairs:
            yield torch.from_numpy(strings), torch.from_numpy(targets)
