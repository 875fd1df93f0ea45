"""The seven languages of Tomita (1982) over {0, 1}.

Each class builds its automaton from a regular expression or a table, and its oracle
from the definition in words.

Reference: Tomita (1982), "Dynamic construction of finite-state automata from examples
    using hill-climbing".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from formalbench_tasks.automaton import from_table
from formalbench_tasks.regex import compile_regex
from formalbench_tasks.regular import RegularLanguage

BITS = ("0", "1")


class Tomita1(RegularLanguage):
    """Only 1s: ``1*``."""

    def __init__(self) -> None:
        super().__init__(BITS, compile_regex("1*", BITS))

    def oracle(self, string: Sequence[int]) -> int:
        """Look for a 0."""
        return int(0 not in string)


class Tomita2(RegularLanguage):
    """The pair 10, again and again: ``(10)*``."""

    def __init__(self) -> None:
        super().__init__(BITS, compile_regex("(10)*", BITS))

    def oracle(self, string: Sequence[int]) -> int:
        """Compare with the one member of this length."""
        return int(list(string) == [1, 0] * (len(string) // 2))


class Tomita3(RegularLanguage):
    """No odd run of 1s is followed at once by an odd run of 0s."""

    def __init__(self) -> None:
        even, odd_ones, both_odd, even_zeros, dead = range(5)
        table = [
            [even, odd_ones],  # even: an even number of 1s, or 0s that do not matter
            [both_odd, even],
            [even_zeros, dead],  # both_odd: rejected so far, but one more 0 mends it
            [both_odd, odd_ones],
            [dead, dead],
        ]
        super().__init__(BITS, from_table(table, [1, 1, 0, 1, 0]))

    def oracle(self, string: Sequence[int]) -> int:
        """Look at each run and the next."""
        runs = [(bit, len(list(run))) for bit, run in groupby(string)]
        return int(
            not any(
                bit == 1 and ones % 2 == 1 and zeros % 2 == 1
                for (bit, ones), (_, zeros) in pairwise(runs)
            )
        )


class Tomita4(RegularLanguage):
    """No three 0s in a row."""

    def __init__(self) -> None:
        super().__init__(BITS, compile_regex("(1|01|001)*(()|0|00)", BITS))

    def oracle(self, string: Sequence[int]) -> int:
        """Look for 000."""
        return int("000" not in "".join(map(str, string)))


class Tomita5(RegularLanguage):
    """The number of 0s and the number of 1s are both even."""

    def __init__(self) -> None:
        # state 2·(0s mod 2) + (1s mod 2)
        super().__init__(BITS, from_table([[2, 1], [3, 0], [0, 3], [1, 2]], [1, 0, 0, 0]))

    def oracle(self, string: Sequence[int]) -> int:
        """Count both symbols."""
        symbols = list(string)
        return int(symbols.count(0) % 2 == 0 and symbols.count(1) % 2 == 0)


class Tomita6(RegularLanguage):
    """The number of 0s minus the number of 1s is a multiple of 3."""

    def __init__(self) -> None:
        super().__init__(BITS, from_table([[1, 2], [2, 0], [0, 1]], [1, 0, 0]))

    def oracle(self, string: Sequence[int]) -> int:
        """Count both symbols."""
        symbols = list(string)
        return int((symbols.count(0) - symbols.count(1)) % 3 == 0)


class Tomita7(RegularLanguage):
    """At most two blocks of 0s, each followed by 1s or nothing: ``0*1*0*1*``."""

    def __init__(self) -> None:
        super().__init__(BITS, compile_regex("0*1*0*1*", BITS))

    def oracle(self, string: Sequence[int]) -> int:
        """Match with Python's own regular expressions."""
        return int(re.fullmatch("0*1*0*1*", "".join(map(str, string))) is not None)
