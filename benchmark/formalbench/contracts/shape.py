"""The shape that a network's answer must have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formalbench.contracts.batch import Batch
    from formalbench.contracts.task import Task


def expected_shape(task: Task, batch: Batch) -> tuple[int, ...]:
    """Return the shape of the logits that a task asks for, given a batch.

    (B, K) for the layout ``last``, (B, N, K) for ``each``, (B, N+1, K) for ``prefixes`` and
    (B, M+1, K) for ``decoded``.
    """
    count, length = batch.symbols.shape
    if task.layout == "last":
        return count, task.outputs
    if task.layout == "decoded":
        length = 0 if batch.decoded is None else batch.decoded.shape[1]
    return count, length + (task.layout != "each"), task.outputs
