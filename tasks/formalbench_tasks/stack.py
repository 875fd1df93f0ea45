"""What a stack of brackets holds after every prefix, for many strings at once.

No stack is kept. The innermost open bracket after a position is the latest one that
opened to the depth there is now, so one stable sort of the positions by depth finds it.

Legend: B strings, N positions, P = N+1 prefixes, the empty one first. Brackets have ids
2t (opens type t) and 2t+1 (closes it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Symbols

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stacks:
    """The stacks of strings.

    Attributes:
        depths: (B, N+1) brackets open after each prefix; below 0 after one close too many.
        tops: (B, N+1) the position of the innermost open bracket; -1 if there is none. Of
            no meaning after a prefix that begins no member.
        legal: (B, N+1) whether the prefix begins a member.
    """

    depths: Ints
    tops: Ints
    legal: Mask


def read(strings_BN: Symbols, deepest: int | None = None) -> Stacks:
    """Read bracket strings.

    Args:
        strings_BN: (B, N) bracket ids.
        deepest: the greatest depth a member may have; None for no bound.
    """
    opens_BN = strings_BN % 2 == 0
    depths_BP = depths(opens_BN)
    tops_BP = np.full(depths_BP.shape, -1, dtype=np.int64)
    tops_BP[:, 1:] = _tops(opens_BN, depths_BP[:, 1:])
    wrong_BN = depths_BP[:, 1:] < 0
    if deepest is not None:
        wrong_BN |= depths_BP[:, 1:] > deepest
    # A close must be of the type that is open before it. Where nothing is, any type will do for
    # the comparison: the depth has said so already.
    opened_BN = np.maximum(tops_BP[:, :-1], 0)
    expected_BN = np.take_along_axis(strings_BN, opened_BN, axis=1) // 2
    wrong_BN |= ~opens_BN & (strings_BN // 2 != expected_BN)
    legal_BP = np.ones(depths_BP.shape, dtype=np.bool_)
    legal_BP[:, 1:] = ~np.logical_or.accumulate(wrong_BN, axis=1)
    return Stacks(depths_BP, tops_BP, legal_BP)


def depths(opens_BN: Mask) -> Ints:
    """Return the number of brackets open after every prefix, (B, N+1)."""
    count, length = opens_BN.shape
    depths_BP = np.zeros((count, length + 1), dtype=np.int64)
    np.cumsum(2 * opens_BN.astype(np.int64) - 1, axis=1, out=depths_BP[:, 1:])
    return depths_BP


def dress(opens_BN: Mask, types: Ints) -> Symbols:
    """Give types to brackets, (B, N); what an open bracket has, its close has.

    Args:
        opens_BN: which positions open; never more closes than opens before them.
        types: (B, opens) the type of each open bracket from the left; all strings have as
            many. Where brackets stay open, their types are used and no others.
    """
    strings_BN = np.empty(opens_BN.shape, dtype=np.int64)
    strings_BN[opens_BN] = 2 * types.reshape(-1)
    # The bracket that a close matches is the innermost open one just before it.
    tops_BN = _tops(opens_BN, depths(opens_BN)[:, 1:])
    rows, places = np.nonzero(~opens_BN)
    strings_BN[rows, places] = strings_BN[rows, tops_BN[rows, places - 1]] + 1
    return strings_BN


def _tops(opens_BN: Mask, depths_BN: Ints) -> Ints:
    """Return the position of the innermost open bracket after each position, (B, N)."""
    length = opens_BN.shape[1]
    # NumPy sorts 16-bit integers in linear time.
    keys_BN = depths_BN.astype(np.int16 if length < 1 << 15 else np.int32)
    order_BN = np.argsort(keys_BN, axis=1, kind="stable")
    # A depth above 0 is reached by opening first, so nothing leaks from one depth to the next.
    opened_BN = np.take_along_axis(opens_BN, order_BN, axis=1)
    latest_BN = np.maximum.accumulate(np.where(opened_BN, np.arange(length), 0), axis=1)
    tops_BN = np.empty_like(order_BN)
    found_BN = np.take_along_axis(order_BN, latest_BN, axis=1)
    np.put_along_axis(tops_BN, order_BN, found_BN, axis=1)
    tops_BN[depths_BN <= 0] = -1
    return tops_BN
