"""The command line that repeats a verification, made of its parts."""

from __future__ import annotations

from formalbench.contracts.record import ModelUsed, TaskUsed
from formalbench.contracts.specs import show_value
from formalbench.contracts.verification import Asked
from formalbench.verification.lengths import written_lengths


def verifying(model: ModelUsed, task: TaskUsed, asked: Asked, dtype: str) -> list[str]:
    """Return the words of the command, but for its plugins.

    Args:
        model: what was verified.
        task: on what.
        asked: which strings.
        dtype: the precision, or ``all``.
    """
    words = ["formalbench", "verify", model.name, "--task", task.name]
    words += ["--exhaustive", str(asked.exhaustive or 0)]
    words += ["--lengths", written_lengths(asked.lengths)] if asked.lengths else []
    words += ["--count", str(asked.count), "--seed", str(asked.seed)]
    words += ["--dtype", dtype]
    for scope, options in (("model", model.options), ("task", task.options)):
        for key, value in sorted(options.items()):
            words += ["--set", f"{scope}.{key}={show_value(value)}"]
    return words
