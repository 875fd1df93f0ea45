"""Shared by languages: balanced classes, non-members that are near misses.

Legend: B strings, N positions, P = N+1 prefixes, the empty one first, S symbols.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import (
    HasMembers,
    HasNearMisses,
    HasPrefixClasses,
    Labels,
    Language,
    Mask,
    Stream,
    Symbols,
)
from formalbench.contracts.theory import Theory

from formalbench_tasks.limits import check_length
from formalbench_tasks.near_misses import ORDER, Change, NonMembers, in_balance

BHATTAMISHRA = "Bhattamishra et al. (2020), section 5"
BUTOI = "Butoi et al. (2025), appendix A (FLaRe)"
COUNTS = "Fischer et al. (1968); in C-RASP by Yang and Chiang (2024)"
_PIECES = "what comes first is known by counts only: Huang et al. (2025), logarithmic communication"
FREE = Theory("context-free", c_rasp=False, c_rasp_last=False, note=f"deterministic; {_PIECES}")
SENSITIVE = Theory("context-sensitive", c_rasp=False, c_rasp_last=False, note=_PIECES)
"""References and classes that several languages share."""


class Membership(Language, HasNearMisses):
    """A language: class 1 is in, class 0 is out; not every string of a length above 0 is in.

    Half of what is drawn are members, where the length has any. Of the non-members half are members
    rearranged in the first of `ways`, a quarter in the second, an eighth members after a few random
    edits, an eighth uniform (`formalbench_tasks.near_misses`). Of a length without members strings
    are uniform.

    Attributes:
        ways: how members are rearranged, so that little can be told from counts.
    """

    ways: tuple[Change, Change] = ORDER

    @abstractmethod
    def has_members(self, length: int) -> bool:
        """Return whether the language has a member of exactly this length."""

    @abstractmethod
    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of a length that has some, (count, length)."""

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly but where said; (count, length).

        Raises:
            ValueError: if there is none.
            RequestError: if they are too long.
        """
        check_length(length)
        if not self.has_members(length):
            raise ValueError(f"no member has length {length}")
        return self._members(stream, length, count)

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        check_length(length)
        if not self.has_members(length):
            return self._any(stream, length, count)
        if length == 0:
            return self.sample_members(stream, length, count)
        return in_balance(stream, length, count, self.sample_members, self._non_members.draw)

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of out and in among `sample`'s strings of this length."""
        check_length(length)
        if not self.has_members(length):
            return (1.0, 0.0)
        return (0.5, 0.5) if length else (0.0, 1.0)

    def near_misses(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members rearranged in both ways in turn; (count, length), or (0, length)."""
        if length == 0 or not self.has_members(length):
            return np.empty((0, length), dtype=np.int64)
        return self._non_members.near(stream, length, count)

    def is_member(self, strings_BN: Symbols) -> Mask:
        """Return which strings are in, (B,)."""
        inside_B: Mask = self.classify(strings_BN) == 1
        return inside_B

    @cached_property
    def _non_members(self) -> NonMembers:
        symbols = len(self.alphabet)
        return NonMembers(self.sample_members, self.is_member, self._uniform, symbols, self.ways)

    def _uniform(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform non-members, (count, length)."""
        strings_BN = self._any(stream, length, count)
        while (inside := np.flatnonzero(self.is_member(strings_BN))).size:
            strings_BN[inside] = self._any(stream, length, len(inside))
        return strings_BN

    def _any(self, stream: Stream, length: int, count: int) -> Symbols:
        check_length(length)
        return stream.integers(len(self.alphabet), (count, length))


class Following(Membership, HasPrefixClasses, HasMembers):
    """A language that is known by what may follow each prefix."""

    @abstractmethod
    def following(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix that begins a member, the empty one first.

        Returns:
            (B, N+1, S+1), END last; of no meaning for prefixes that begin no member.
        """

    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix, the empty one first, (B, N+1, S+1)."""
        allowed = self.following(strings_BN)
        taken_BN1 = np.take_along_axis(allowed[:, :-1], strings_BN[:, :, None], axis=2)
        allowed[:, 1:] &= np.logical_and.accumulate(taken_BN1, axis=1)
        return allowed

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        return self.next_symbols(strings_BN)[:, 1:, -1].astype(np.int64)

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        return self.next_symbols(strings_BN)[:, -1, -1].astype(np.int64)


def counts(strings_BN: Symbols, symbols: int) -> npt.NDArray[np.int32]:
    """Return how often each symbol is in every prefix, the empty one first, (B, N+1, S)."""
    count, length = strings_BN.shape
    counts_BPS = np.zeros((count, length + 1, symbols), dtype=np.int32)
    one_hot_BNS = strings_BN[:, :, None] == np.arange(symbols)
    np.cumsum(one_hot_BNS, axis=1, out=counts_BPS[:, 1:])
    return counts_BPS
