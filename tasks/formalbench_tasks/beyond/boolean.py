"""Boolean expressions in prefix notation, with operators of 1 to n operands.

Legend: B strings, N positions, P = N+1 prefixes, S symbols, Q states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.beyond.membership import Following
from formalbench_tasks.paths import Paths

MOST_OPERANDS = 8

LONGEST = 5_000
"""The longest string that is drawn: strings are counted by their open operands."""

_VALUES = ("0", "1")
_OPERATORS = ("~", "+", ">")


class BooleanExpressions(Following):
    """Well-formed expressions: an operator before its operands, and the values 0 and 1.

    ``~`` takes one operand, ``+`` two, ``>`` three, ``f4`` four, …. ``+~01`` is in; ``+0`` and
    ``01`` are not. Members are uniform.

    Reference: Fischer, Meyer & Rosenberg (1968); Bhattamishra et al. (2020), section 5, "n-ary
        Boolean expressions"; Łukasiewicz's notation.

    Args:
        n: the most operands.

    Raises:
        RequestError: if n is below 2 (a regular language) or beyond reason.
    """

    def __init__(self, n: int) -> None:
        if not 2 <= n <= MOST_OPERANDS:
            near = min(max(n, 2), MOST_OPERANDS)
            raise RequestError(
                f"task boolean-{n}: operators of 2 to {MOST_OPERANDS} operands: try boolean-{near}"
            )
        more = tuple(f"f{operands}" for operands in range(len(_OPERATORS) + 1, n + 1))
        self.alphabet = (*_VALUES, *_OPERATORS[:n], *more)
        self._operands_S = np.array([0, 0, *range(1, n + 1)])
        self._paths: dict[int, Paths] = {}

    def oracle(self, string: Sequence[int]) -> int:
        """Read backwards, and replace operands by the expression they make with an operator."""
        expressions = 0
        for symbol in reversed(string):
            operands = 0 if self.alphabet[symbol] in _VALUES else symbol - 1
            if expressions < operands:
                return 0
            expressions += 1 - operands
        return int(expressions == 1)

    def following(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix: anything while operands are open; (B, N+1, S+1)."""
        open_BP = self._open(strings_BN)
        allowed = np.empty((*open_BP.shape, len(self.alphabet) + 1), dtype=np.bool_)
        allowed[:, :, :-1] = (open_BP > 0)[:, :, None]
        allowed[:, :, -1] = open_BP == 0
        return allowed

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        open_BP = self._open(strings_BN)
        inside_B: Mask = (open_BP[:, :-1] > 0).all(axis=1) & (open_BP[:, -1] == 0)
        return inside_B.astype(np.int64)

    def _open(self, strings_BN: Symbols) -> Labels:
        """Return how many operands are still to come after every prefix, (B, N+1)."""
        count, length = strings_BN.shape
        open_BP = np.ones((count, length + 1), dtype=np.int64)
        open_BP[:, 1:] += np.cumsum(self._operands_S[strings_BN] - 1, axis=1)
        return open_BP

    def has_members(self, length: int) -> bool:
        """Say whether there is any symbol."""
        return length > 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        if length > LONGEST:
            raise RequestError(f"strings of length {length} are too long: at most {LONGEST}")
        # No more operands can be open than symbols are to come: a power of two serves many lengths.
        most = max(64, 1 << length.bit_length())
        if most not in self._paths:
            self._paths[most] = self._counted(most)
        return self._paths[most].sample(stream, length, np.ones(count, dtype=np.int64))

    def _counted(self, most: int) -> Paths:
        """Return the paths by open operands, 0 to `most`; one more state is beyond them."""
        states_Q1 = np.arange(most + 1)[:, None]
        table_QS = np.full((most + 2, len(self.alphabet)), most + 1, dtype=np.int64)
        following_QS = states_Q1 + self._operands_S - 1
        table_QS[1:-1] = np.minimum(following_QS[1:], most + 1)
        classes_Q = (np.arange(most + 2) == 0).astype(np.int64)
        return Paths(table_QS, classes_Q, 1)
