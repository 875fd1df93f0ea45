"""A regular language that somebody defined in a YAML file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from formalbench.contracts.language import balanced
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.definition import Definition
from formalbench_tasks.rearranged import exchange_parts, rearrange_until_outside, shuffle_inside
from formalbench_tasks.regular import RegularLanguage


class CustomLanguage(RegularLanguage):
    """The language of a regular expression or an automaton.

    Members are uniform. Of the non-members half are members with two parts exchanged that begin
    alike and end alike, so that the symbols, the ends and all pairs of neighbours stay
    (`formalbench_tasks.rearranged`); a quarter are members with what is between the ends in
    another order, an eighth members after a few random edits, an eighth uniform. Where one way
    of rearranging leads to members only, the other is tried, and then half are edited and half
    uniform. Any change to this is a new `formalbench_tasks.yaml_task.SAMPLER`.

    Args:
        definition: what the file says.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition.alphabet, definition.build())
        self.definition = definition

    def oracle(self, string: Sequence[int]) -> int:
        """Follow the definition as it was written, without the minimal automaton."""
        return int(self.definition.contains(string))

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        if not self._mixed(length):
            return super().sample(stream, length, count)
        inside_B = balanced(stream, count) == 1
        strings_BN = np.empty((count, length), dtype=np.int64)
        strings_BN[inside_B] = self.sample_members(stream, length, int(inside_B.sum()))
        strings_BN[~inside_B] = self._outside(stream, length, int((~inside_B).sum()))
        return strings_BN

    def _outside(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw non-members of all kinds in turn, (count, length)."""
        turn_B = (np.arange(count) + stream.integers(8, 1)) % 8
        strings_BN = self.sample_members(stream, length, count)
        parts_B, inside_B = turn_B % 2 == 0, turn_B % 4 == 1
        left_B = np.ones(count, dtype=np.bool_)  # to be edited or drawn uniformly
        if self._order_counts:
            left_B[parts_B] = self._rearrange(stream, strings_BN, parts_B)
            left_B[inside_B] = self._rearrange(stream, strings_BN, inside_B, exchange_first=False)
        left = np.flatnonzero(left_B)
        edited, uniform = left[::2], left[1::2]
        strings_BN[edited] = self._edited(stream, self.sample_members(stream, length, len(edited)))
        outside = np.zeros(len(uniform), dtype=np.int64)
        strings_BN[uniform] = self.automaton.paths.sample(stream, length, outside)
        return strings_BN

    def _rearrange(
        self, stream: Stream, strings_BN: Symbols, chosen_B: Mask, exchange_first: bool = True
    ) -> Mask:
        """Rearrange the chosen members in place; return which of them stay inside, (chosen,)."""
        ways = (exchange_parts, shuffle_inside)
        pending = np.flatnonzero(chosen_B)
        for how in ways if exchange_first else ways[::-1]:
            moved_AN, stuck_A = rearrange_until_outside(
                stream, strings_BN[pending], lambda strings: self.classify(strings) == 1, how
            )
            strings_BN[pending] = moved_AN
            pending = pending[stuck_A]
        return np.isin(np.flatnonzero(chosen_B), pending)

    @cached_property
    def _order_counts(self) -> bool:
        """Whether any two symbols after the first one may lead elsewhere in another order."""
        table_QS: Labels = self.automaton.transitions
        two_QSS = table_QS[table_QS[np.unique(table_QS)]]  # from states that some symbol leads to
        return not np.array_equal(two_QSS, two_QSS.transpose(0, 2, 1))
