"""Spoiling the part of a string that answers the rest.

Legend: A strings to be spoilt, N positions.
"""

from __future__ import annotations

import numpy as np
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.rearranged import one_of


def behind(strings_AN: Symbols, marker: int) -> Mask:
    """Say which symbols stand behind the first marker of a string, (A, N)."""
    marked_AN = np.logical_or.accumulate(strings_AN == marker, axis=1)
    behind_AN = np.zeros_like(marked_AN)
    behind_AN[:, 1:] = marked_AN[:, :-1]
    return behind_AN


def exchange_two(stream: Stream, strings_AN: Symbols, among_AN: Mask) -> Symbols:
    """Exchange two different symbols, both among those marked; without two a string stays."""
    rows = np.arange(len(strings_AN))
    one_A = one_of(stream, among_AN)
    others_AN = among_AN & (strings_AN != strings_AN[rows, one_A][:, None])
    other_A = one_of(stream, others_AN)
    found = np.flatnonzero((one_A >= 0) & (other_A >= 0))
    exchanged_AN = strings_AN.copy()
    exchanged_AN[found, one_A[found]] = strings_AN[found, other_A[found]]
    exchanged_AN[found, other_A[found]] = strings_AN[found, one_A[found]]
    return exchanged_AN
