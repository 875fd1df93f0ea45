"""D_n: balanced brackets of one type, nested at most n deep.

Reference: Chi et al. (2023), Table 1, after Bhattamishra et al. (2020): D_0 is the empty
    string and D_n = (a D_{n-1} b)*.
"""

from __future__ import annotations

from collections.abc import Sequence

from formalbench_tasks.automaton import Automaton, from_table
from formalbench_tasks.regular import RegularLanguage


class BoundedDepth(RegularLanguage):
    """Strings in which ``a`` opens, ``b`` closes, and the depth stays within 0 … `depth`.

    Args:
        depth: n, the deepest nesting allowed.
    """

    def __init__(self, depth: int) -> None:
        super().__init__(("a", "b"), _count_up_to(depth))
        self.depth = depth

    def oracle(self, string: Sequence[int]) -> int:
        """Follow the definition: peel off (a … b) pairs and look into each, one level less."""
        return int(_derivable(list(string), self.depth))


def _count_up_to(depth: int) -> Automaton:
    dead = depth + 1
    table = [
        [at + 1 if at < depth else dead, at - 1 if at > 0 else dead] for at in range(depth + 1)
    ]
    return from_table([*table, [dead, dead]], [1, *[0] * depth, 0])


def _derivable(string: list[int], depth: int) -> bool:
    if not string:
        return True
    if depth == 0:
        return False
    parts, begin, level = [], 0, 0
    for index, symbol in enumerate(string):
        level += 1 if symbol == 0 else -1
        if level < 0:  # this b closes nothing
            return False
        if level == 0:  # a … b ends here: the part between is in D_{n-1}
            parts.append(string[begin + 1 : index])
            begin = index + 1
    return level == 0 and all(_derivable(part, depth - 1) for part in parts)


def d1() -> BoundedDepth:
    """Return D_1."""
    return BoundedDepth(1)


def d2() -> BoundedDepth:
    """Return D_2."""
    return BoundedDepth(2)


def d3() -> BoundedDepth:
    """Return D_3."""
    return BoundedDepth(3)


def d4() -> BoundedDepth:
    """Return D_4."""
    return BoundedDepth(4)


def d12() -> BoundedDepth:
    """Return D_12."""
    return BoundedDepth(12)
