"""The one source of randomness in data: a counter-based stream that is equal everywhere.

Philox gives raw 64-bit integers; everything else is integer arithmetic, or a
multiplication by a power of two. No library's distribution code is involved,
so no version of NumPy, no device and no operating system can change a symbol.
"""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import numpy.typing as npt

_LOW_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)
_SHIFT_11 = np.uint64(11)


class Stream:
    """A reproducible stream of random numbers, named by its key.

    Args:
        *key: anything JSON can write (numbers, strings, lists, dictionaries).
            Equal keys give equal streams, different keys independent ones.

    Example:
        >>> Stream("test", "parity", 1).integers(2, (2, 3)).shape
        (2, 3)
    """

    def __init__(self, *key: object) -> None:
        self.key = key
        text = json.dumps(key, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).digest()
        words = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
        self._philox = np.random.Philox(key=words)

    def child(self, *key: object) -> Stream:
        """Return the stream whose key is this one's with `key` appended, from its start."""
        return Stream(*self.key, *key)

    def raw(self, count: int) -> npt.NDArray[np.uint64]:
        """Draw `count` uniform 64-bit integers."""
        drawn: npt.NDArray[np.uint64] = self._philox.random_raw(count)
        return drawn

    def integers(self, high: int, shape: int | tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Draw integers uniform on 0 … high-1, exactly (by rejection, Lemire 2019).

        Args:
            high: how many values there are, 1 … 2^32.
            shape: the shape of the result.
        """
        if not 1 <= high <= 1 << 32:
            raise ValueError(f"high must be within 1 … 2^32, not {high}")
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        threshold = np.uint64((1 << 32) % high)
        product = (self.raw(size) >> _SHIFT_32) * np.uint64(high)
        while (rejected := np.flatnonzero((product & _LOW_32) < threshold)).size:
            product[rejected] = (self.raw(rejected.size) >> _SHIFT_32) * np.uint64(high)
        return (product >> _SHIFT_32).astype(np.int64).reshape(shape)

    def below(self, highs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Draw for each of `highs` (1 … 2^32) an integer uniform on 0 … high-1, as `integers` does.

        Args:
            highs: how many values there are; of any shape, which is the result's.
        """
        if highs.size and not 1 <= highs.min() <= highs.max() <= 1 << 32:
            raise ValueError(f"highs must be within 1 … 2^32, not {highs.min()} … {highs.max()}")
        values = highs.reshape(-1).astype(np.uint64)
        thresholds = np.uint64(1 << 32) % values
        products = (self.raw(values.size) >> _SHIFT_32) * values
        while (rejected := np.flatnonzero((products & _LOW_32) < thresholds)).size:
            products[rejected] = (self.raw(rejected.size) >> _SHIFT_32) * values[rejected]
        return (products >> _SHIFT_32).astype(np.int64).reshape(highs.shape)

    def uniform(self, shape: int | tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Draw floats uniform on the multiples of 2^-53 in [0, 1)."""
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        drawn = (self.raw(size) >> _SHIFT_11).astype(np.float64) * 2.0**-53
        return drawn.reshape(shape)
