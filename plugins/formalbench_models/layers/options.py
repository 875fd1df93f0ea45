"""Options that the linear recurrences have in common; nothing here imports torch."""

from __future__ import annotations

from typing import Any, Literal

from formalbench import Config, option

from formalbench_models.configs.shared import width_option

Eigenvalues = Literal["0..1", "-1..1"]
"""A range, written so that ``--set`` and names with options behind them take it."""


def chunk_option(default: int, longest: int = 1024) -> Any:
    """Return the option ``chunk``: matrices gain from longer ones than numbers."""
    return option(
        default, "symbols computed at once; 1 for symbol by symbol", minimum=1, maximum=longest
    )


class ShellConfig(Config):
    """Of the shell that recurrences stand in."""

    width: int = width_option()
    layers: int = option(2, "blocks, each with its own parameters", minimum=1, maximum=64)
    feed_forward: int = option(
        4, "hidden units of the MLP per unit of width; 0 for no MLP", minimum=0, maximum=64
    )
    embedding_scale: float = option(
        1.0, "factor on the symbols' initial vectors, N(0, 1)", minimum=0.0, maximum=1000.0
    )


class RecurrenceConfig(ShellConfig):
    """Of a linear recurrence in it."""

    chunk: int = chunk_option(16)


def no_feed_forward_option() -> Any:
    """Return the option ``feed_forward`` of a family whose blocks have no MLP."""
    return option(0, "hidden units of an MLP per unit of width; 0 for none", minimum=0, maximum=64)


def heads_option(default: int = 1) -> Any:
    """Return the option ``heads``."""
    return option(default, "heads; they divide the width", minimum=1, maximum=1024)


def convolution_option(least: int = 1) -> Any:
    """Return the option ``convolution``; `least` is 0 where a family can do without."""
    told = "symbols that the convolution before the recurrence sees"
    return option(4, f"{told}; 0 for none" if least == 0 else told, minimum=least, maximum=64)


def eigenvalues_option(default: Eigenvalues = "0..1") -> Any:
    """Return the option ``eigenvalues``."""
    return option(
        default, "range of the eigenvalues of transitions; if they are products, of each factor"
    )


def expansion_option() -> Any:
    """Return the option ``expansion``."""
    return option(2, "channels of the recurrence per unit of width", minimum=1, maximum=16)


def in_theory(eigenvalues: Eigenvalues) -> str:
    """Return a range as theorems write it."""
    return f"[{eigenvalues.replace('..', ', ')}]"
