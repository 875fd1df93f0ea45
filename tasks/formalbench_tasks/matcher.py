"""Deciding membership on a parsed regular expression itself, without an automaton.

A set of positions in the string is an integer: bit i stands for the position before
symbol i. Where a repeated part may end is worked out once for each position, so that
repetitions inside each other take polynomial time.
"""

from __future__ import annotations

from collections.abc import Sequence

from formalbench_tasks.regex import Either, Node, Sequel, Symbol


def matches(node: Node, string: Sequence[int]) -> bool:
    """Say whether a parsed expression describes the whole string."""
    return bool(_Matcher(string).ends(node, 1) >> len(string) & 1)


class _Matcher:
    """Where parts of one expression may end in one string."""

    def __init__(self, string: Sequence[int]) -> None:
        self._length = len(string)
        self._where: dict[int, int] = {}
        for at, symbol in enumerate(string):
            self._where[symbol] = self._where.get(symbol, 0) | 1 << at
        self._repeated: dict[int, list[int]] = {}  # by the part's identity

    def ends(self, node: Node, begins: int) -> int:
        """Return where a match may end if it may begin at any of `begins`."""
        if isinstance(node, Symbol):
            return (begins & self._where.get(node.id, 0)) << 1
        if isinstance(node, Either):
            either = 0
            for part in node.parts:
                either |= self.ends(part, begins)
            return either
        if isinstance(node, Sequel):
            for part in node.parts:
                begins = self.ends(part, begins)
            return begins
        if node.operator == "?":
            return begins | self.ends(node.part, begins)
        if id(node.part) not in self._repeated:
            self._repeated[id(node.part)] = self._repeat(node.part)
        found = _union(self._repeated[id(node.part)], begins)
        return begins | found if node.operator == "*" else found

    def _repeat(self, part: Node) -> list[int]:
        """Return, for each position, where one match or several in a row may end."""
        several = [0] * (self._length + 1)
        for begin in reversed(range(self._length + 1)):
            once = self.ends(part, 1 << begin)
            later = once >> begin + 1 << begin + 1
            several[begin] = once | _union(several, later)
        return several


def _union(several: list[int], begins: int) -> int:
    """Return the union of `several` over all positions in `begins`."""
    found = 0
    while begins:
        first = begins & -begins
        more = several[first.bit_length() - 1]
        found |= more
        # Whatever can be reached from an end was reached from here.
        begins &= ~(first | more)
    return found
