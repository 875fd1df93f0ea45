"""The command that repeats a verification."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from formalbench.contracts.record import ModelUsed, TaskUsed
from formalbench.contracts.specs import show_value
from formalbench.contracts.verification import Asked


def written_lengths(lengths: Sequence[int]) -> str:
    """Return lengths as ``--lengths`` takes them.

    Example:
        >>> written_lengths((1, 5, 9, 13))
        '1:13:4'
    """
    steps = {after - before for before, after in pairwise(lengths)}
    if len(lengths) > 3 and len(steps) == 1:
        step = steps.pop()
        return f"{lengths[0]}:{lengths[-1]}" + (f":{step}" if step != 1 else "")
    return ",".join(map(str, lengths))


def verifying(model: ModelUsed, task: TaskUsed, asked: Asked, dtype: str) -> list[str]:
    """Return the words of the command, but for its plugins."""
    words = ["formalbench", "verify", model.name, "--task", task.name]
    words += ["--exhaustive", str(asked.exhaustive or 0)]
    words += ["--lengths", written_lengths(asked.lengths)] if asked.lengths else []
    words += ["--count", str(asked.count), "--seed", str(asked.seed)]
    words += ["--dtype", dtype]
    for scope, options in (("model", model.options), ("task", task.options)):
        for key, value in sorted(options.items()):
            words += ["--set", f"{scope}.{key}={show_value(value)}"]
    return words
