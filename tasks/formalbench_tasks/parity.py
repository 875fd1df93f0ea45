"""PARITY, with as many 1s as one likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.automaton import from_table
from formalbench_tasks.configs import ParityConfig
from formalbench_tasks.limits import check_length
from formalbench_tasks.regular import RegularLanguage

BITS = ("0", "1")


class Parity(RegularLanguage):
    """PARITY: class 1 iff the number of 1s is odd.

    Strings are uniform within each class. With P(1) other than 1/2, bits are independent
    instead, and the classes come as they come.

    Args:
        config: says how probable a 1 is in what `sample` draws; members are uniform all the same.

    Reference: Chiang and Cholak (2022), §2; Delétang et al. (2023), appendix A;
        for p ≠ 1/2 Chi et al. (2023), Table 2.
    """

    hard_negatives = False

    def __init__(self, config: ParityConfig) -> None:
        super().__init__(BITS, from_table([[0, 1], [1, 0]], [0, 1]))
        self.p = config.p

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings: balanced if p is 1/2, else independent bits; (count, length)."""
        if self.p == 0.5:
            return super().sample(stream, length, count)
        check_length(length)
        return (stream.uniform((count, length)) < self.p).astype(np.int64)

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of even and odd; (1 ± (1-2p)^N) / 2 for independent bits."""
        if self.p == 0.5:
            return super().class_distribution(length)
        bias = (1 - 2 * self.p) ** length
        return ((1 + bias) / 2, (1 - bias) / 2)

    def oracle(self, string: Sequence[int]) -> int:
        """Count the 1s."""
        return sum(1 for bit in string if bit == 1) % 2
