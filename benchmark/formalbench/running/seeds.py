"""Which seeds a request means: the first so many, or those it names."""

from __future__ import annotations

from collections.abc import Sequence, Set
from numbers import Integral
from typing import Any

from formalbench.contracts.errors import RequestError

MAX_SEEDS = 1000
MAX_SEED = 2**31 - 1

Seeds = int | Sequence[int] | None
"""How many (0, 1, …), or which; None for as many as the protocol says."""


def parse_seeds(text: str) -> int | tuple[int, ...]:
    """Parse ``5`` (how many) or ``3,7,11`` (which; ``7,`` is one of them).

    Raises:
        RequestError: if it is neither.
    """
    try:
        if "," not in text:
            return int(text)
        return tuple(int(part) for part in text.removesuffix(",").split(","))
    except ValueError:
        raise RequestError(f"--seeds {text}: must be how many, as 5, or which, as 3,7,11") from None


def _is_whole(seed: object) -> bool:
    return isinstance(seed, Integral) and not isinstance(seed, bool)


def check_seeds(seeds: Seeds) -> None:
    """Refuse seeds that cannot be.

    Raises:
        RequestError: one line.
    """
    if seeds is None:
        return
    given: Any = seeds  # from Python it may be anything
    listed = isinstance(given, Sequence | Set) and not isinstance(given, str)
    if not all(_is_whole(seed) for seed in (given if listed else [given])):
        told = repr(seeds)[:80]
        raise RequestError(f"seeds={told}: must be how many, as 5, or which, as [3, 7, 11]")
    if isinstance(seeds, int):
        if not 1 <= seeds <= MAX_SEEDS:
            raise RequestError(f"--seeds {seeds}: must be at least 1 and at most {MAX_SEEDS}")
        return
    told = ",".join(map(str, seeds))[:80]
    if not seeds or len(seeds) > MAX_SEEDS:
        raise RequestError(f"--seeds {told}: name at least 1 and at most {MAX_SEEDS}")
    if not all(0 <= seed <= MAX_SEED for seed in seeds):
        raise RequestError(f"--seeds {told}: a seed is at least 0 and at most {MAX_SEED}")
