"""The lengths at which an objective's promises are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formalbench.contracts.task import Task


def some_lengths(task: Task) -> list[int]:
    """Return six lengths, spread over those that a task trains and is tested on."""
    from formalbench.evaluation.cells import split_lengths, spread

    return spread([*split_lengths(task, "train"), *split_lengths(task, "test")], 6)
