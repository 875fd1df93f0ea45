"""Options that several families have, and checks that no bound of one option can express."""

from __future__ import annotations

from typing import Any

from formalbench import option

NORM_HELP = "layer norm before (pre) or after (post) each residual branch"


def width_option() -> Any:
    """Return the option ``width``."""
    return option(64, "size of the residual stream", minimum=2, maximum=8192)


def heads_option() -> Any:
    """Return the option ``heads``."""
    return option(4, "attention heads; they divide the width", minimum=1, maximum=1024)


def feed_forward_option() -> Any:
    """Return the option ``feed_forward``."""
    return option(4, "hidden units per unit of width", minimum=1, maximum=64)


def hidden_option() -> Any:
    """Return the option ``hidden``."""
    return option(0, "hidden units, exactly; 0 for feed_forward", minimum=0, maximum=65536)


def dropout_option(what: str) -> Any:
    """Return an option that is a share to leave out in training."""
    return option(0.0, f"share of {what} left out in training", minimum=0.0, maximum=0.9)


def check_heads(width: int, heads: int, *, even: bool = False) -> None:
    """Refuse a width that cannot be split among the heads.

    Args:
        width: of the residual stream.
        heads: attention heads.
        even: whether a head's share must be even (rotations act on pairs).

    Raises:
        ValueError: if it cannot.
    """
    if width % heads:
        raise ValueError(f"width must be divisible by heads: {width} is not by {heads}")
    if even and (width // heads) % 2:
        raise ValueError(f"width / heads must be even here, not {width // heads}")
