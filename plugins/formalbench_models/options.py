"""Checks on options that one bound cannot express."""

from __future__ import annotations

from formalbench.contracts.errors import RequestError


def check_heads(width: int, heads: int, *, even: bool = False) -> None:
    """Refuse a width that cannot be split among the heads.

    Args:
        width: of the residual stream.
        heads: attention heads.
        even: whether a head's share must be even (rotations act on pairs).

    Raises:
        RequestError: if it cannot.
    """
    if width % heads:
        raise RequestError(f"width must be divisible by heads: {width} is not by {heads}")
    if even and (width // heads) % 2:
        raise RequestError(f"width / heads must be even here, not {width // heads}")
