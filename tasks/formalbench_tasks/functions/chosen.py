"""Some symbols of every string, moved together."""

from __future__ import annotations

import numpy as np
from formalbench.contracts.source import Labels, Mask, Symbols


def chosen(symbols_BN: Symbols, which_BN: Mask) -> tuple[Symbols, Labels]:
    """Return the symbols chosen of each string, in their order.

    Returns:
        (B, M) with 0 behind them, and (B,) how many they are.
    """
    sizes_B = which_BN.sum(axis=1)
    kept_BM = np.zeros((len(symbols_BN), int(sizes_B.max(initial=0))), dtype=np.int64)
    # Both masks are read row by row, so the n-th symbol chosen goes to the n-th free place.
    kept_BM[np.arange(kept_BM.shape[1]) < sizes_B[:, None]] = symbols_BN[which_BN]
    return kept_BM, sizes_B
