"""Languages that counters recognise: equal blocks, majority, Boolean expressions, Reset-Dyck-1.

Legend: B strings, N positions, P = N+1 prefixes, S symbols, A strings to corrupt or strings still
to be rearranged, Q states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels, Mask, Stream, Symbols
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.dyck.brackets import rising_share
from formalbench_tasks.index import task
from formalbench_tasks.membership import BHATTAMISHRA, BUTOI, COUNTS, Following, counts
from formalbench_tasks.near_misses import one_of

_ONE_COUNTER = Theory("counter", c_rasp=True, context_free=True, note=f"{COUNTS}; deterministic")


class EqualBlocks(Following):
    """As many of each letter, and all of one letter before the next; the empty string is in.

    A length has one member or none. Half of the non-members have as many of each letter, but one of
    them stands elsewhere; of a quarter the blocks are in order, but not equally long. Both have
    the ends of a member.

    Reference: Bhattamishra et al. (2020), section 5.

    Args:
        letters: how many there are.
    """

    def __init__(self, letters: int) -> None:
        self.alphabet = tuple("abcd"[:letters])
        self.ways = (displace, self._unequal)

    def oracle(self, string: Sequence[int]) -> int:
        """Write the one string that has this length and is in, and compare."""
        letters = len(self.alphabet)
        if len(string) % letters:
            return 0
        member = [letter for letter in range(letters) for _ in range(len(string) // letters)]
        return int(list(string) == member)

    def following(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix that begins a member, (B, N+1, S+1)."""
        counts_BPS = counts(strings_BN, len(self.alphabet))
        first_BP1 = counts_BPS[:, :, :1]
        full_BPS = counts_BPS == first_BP1
        allowed = np.empty((*full_BPS.shape[:2], len(self.alphabet) + 1), dtype=np.bool_)
        allowed[:, :, 0] = counts_BPS[:, :, 1] == 0
        # A letter follows if there is room in its block and the block before is full.
        allowed[:, :, 1:-1] = ~full_BPS[:, :, 1:] & full_BPS[:, :, :-1]
        allowed[:, :, -1] = full_BPS[:, :, -1]
        return allowed

    def has_members(self, length: int) -> bool:
        """Return whether the length is a multiple of the number of letters."""
        return length >= 0 and length % len(self.alphabet) == 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        member_N = np.repeat(np.arange(len(self.alphabet)), length // len(self.alphabet))
        return np.tile(member_N, (count, 1))

    def _unequal(self, stream: Stream, strings_AN: Symbols) -> Symbols:
        """Move the ends of all blocks but the last: half of them by one, half anywhere."""
        count, length = strings_AN.shape
        borders = len(self.alphabet) - 1
        even_K = np.arange(1, borders + 1) * (length // (borders + 1))
        near_AK = even_K + stream.integers(3, (count, borders)) - 1
        # Every letter stays: borders are different places between two symbols.
        room = length - borders
        far_AK = np.sort(stream.integers(room, (count, borders)), axis=1) + np.arange(
            1, borders + 1
        )
        borders_AK = np.where(stream.integers(2, (count, 1)) == 1, near_AK, far_AK)
        letters_AN: Symbols = (np.arange(length) >= borders_AK[:, :, None]).sum(axis=1)
        return letters_AN


def _blocks(letters: int, shown: str, plain: str) -> dict[str, Any]:
    """Return what is announced of a language of equal blocks."""
    several = "no grammar generates it: Bar-Hillel et al. (1961)"
    return {
        "summary": f"{shown}: n of each letter, in this order",
        "objectives": ("classify", "tag", "next-symbols"),
        "splits": Splits(
            train=(letters, 50 // letters * letters),
            test=(letters * (50 // letters + 1), 150 // letters * letters),
            step=letters,
        ),
        "reference": BHATTAMISHRA,
        "theory": Theory(
            "counter",
            c_rasp=True,
            context_free=letters == 2,
            note=f"{COUNTS}; {'deterministic' if letters == 2 else several}",
        ),
        "keywords": (shown, plain, "counting", "counter language"),
    }


@task("anbn", **_blocks(2, "aⁿbⁿ", "a^nb^n"))
def equal_blocks_2() -> EqualBlocks:
    """Return a^n b^n."""
    return EqualBlocks(2)


@task("anbncn", **_blocks(3, "aⁿbⁿcⁿ", "a^nb^nc^n"))
def equal_blocks_3() -> EqualBlocks:
    """Return a^n b^n c^n."""
    return EqualBlocks(3)


@task("anbncndn", **_blocks(4, "aⁿbⁿcⁿdⁿ", "a^nb^nc^nd^n"))
def equal_blocks_4() -> EqualBlocks:
    """Return a^n b^n c^n d^n."""
    return EqualBlocks(4)


def displace(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Take out a symbol between the ends, and put it back anywhere between them."""
    count, length = strings_AN.shape
    from_A, to_A = (1 + stream.integers(max(length - 2, 1), count) for _ in range(2))
    places_AN = np.broadcast_to(np.arange(length), strings_AN.shape)
    # The key of a symbol is twice its place; of the one that moves, just beside another's.
    keys_AN = 2 * places_AN
    behind_A = np.where(to_A > from_A, 1, -1)
    keys_AN[np.arange(count), from_A] = 2 * to_A + behind_A
    return np.take_along_axis(strings_AN, np.argsort(keys_AN, axis=1, kind="stable"), axis=1)


@task(
    "majority",
    "are there more 1s than 0s?",
    objectives=("classify", "tag", "next-symbols"),
    reference=BUTOI,
    theory=replace(_ONE_COUNTER, note=f"{_ONE_COUNTER.note}; in TC⁰ and not in AC⁰"),
    keywords=("counting", "counter language"),
)
class Majority(Following):
    """There are more 1s than 0s.

    Members are uniform. Three quarters of the non-members have as many 1s as a non-member can have,
    half of the length: members in which some 1s, chosen uniformly, were made 0.

    Reference: Butoi et al. (2025), appendix A.
    """

    alphabet = ("0", "1")

    def __init__(self) -> None:
        self.ways = (just_outside, just_outside)

    def oracle(self, string: Sequence[int]) -> int:
        """Cross out a 0 and a 1, again and again, and see whether a 1 is left."""
        left = list(string)
        while 0 in left and 1 in left:
            left.remove(0)
            left.remove(1)
        return int(1 in left)

    def following(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix: anything; END if there are more 1s; (B, N+1, 3)."""
        count, length = strings_BN.shape
        allowed = np.ones((count, length + 1, 3), dtype=np.bool_)
        allowed[:, 0, -1] = False
        allowed[:, 1:, -1] = np.cumsum(2 * strings_BN - 1, axis=1) > 0
        return allowed

    def has_members(self, length: int) -> bool:
        """Return whether there is any symbol."""
        return length > 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        strings_BN = self._any(stream, length, count)
        while (ties := np.flatnonzero(2 * strings_BN.sum(axis=1) == length)).size:
            strings_BN[ties] = self._any(stream, length, len(ties))
        fewer_B = 2 * strings_BN.sum(axis=1) < length
        strings_BN[fewer_B] = 1 - strings_BN[fewer_B]
        return strings_BN


def just_outside(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Keep as many 1s as are half of the length, rounded down, and make the others 0."""
    count, length = strings_AN.shape
    keys_AN = stream.raw(count * length).reshape(count, length) >> np.uint64(1)
    keys_AN |= (strings_AN == 0).astype(np.uint64) << np.uint64(63)  # 0s behind all 1s
    order_AN = np.argsort(keys_AN, axis=1, kind="stable")
    kept_AN = np.zeros_like(strings_AN)
    ones_A1 = strings_AN.sum(axis=1, keepdims=True)
    first_AN = np.arange(length) < np.minimum(ones_A1, length // 2)
    np.put_along_axis(kept_AN, order_AN, first_AN.astype(np.int64), axis=1)
    return kept_AN


MOST_OPERANDS = 8

LONGEST = 5_000
"""The longest string that is drawn: strings are counted by their open operands."""

_VALUES = ("0", "1")

_OPERATORS = ("~", "+", ">")


@task(
    "boolean-{n}",
    "well-formed expressions in prefix notation, with operators of 1 to n operands",
    objectives=("classify", "tag", "next-symbols"),
    splits=Splits(train=(2, 50), test=(51, 150)),
    reference=BHATTAMISHRA,
    theory=_ONE_COUNTER,
    keywords=("boolean expressions", "n-ary boolean expressions", "counting"),
)
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
        """Return what may follow every prefix: anything while operands are open; (B, N+1, S+1)."""
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
        """Return whether there is any symbol."""
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


OPEN, CLOSE, RESET = range(3)

STEPS = np.array([1, -1, 0])
"""How far each symbol moves the depth."""


@task(
    "reset-dyck-1",
    "Σ*#v: balanced brackets after the last reset #",
    objectives=("classify", "tag", "next-symbols"),
    splits=Splits(train=(2, 50), test=(51, 150)),
    reference=BHATTAMISHRA,
    theory=Theory(
        "counter",
        c_rasp=False,
        c_rasp_last=False,
        context_free=True,
        note="counters that may be set to 0, Merrill (2020); deterministic; without closing "
        "brackets it is Σ*#, as ends-in-b not in C-RASP, and before a closing bracket it is Σ*#(, "
        "which is not either",
    ),
    keywords=("reset dyck", "brackets", "counting", "counter language"),
)
class ResetDyck(Following):
    """Σ*#v with v in Dyck-1: there is a reset, and behind the last one brackets are balanced.

    Where the last reset stands is drawn first, each possible place as likely as any other; then v,
    uniform among balanced strings of its length, and what is before it, uniform among all strings.
    Of all long members 87 in 100 end with the reset, so if members were uniform, the last symbol
    would tell nearly everything.

    In half of the non-members v has been cut in two, between a closing and an opening bracket and
    not where it is balanced, and its parts have changed places: all symbols, the ends and all pairs
    of neighbours stay. In a quarter v is in another order but for its ends.

    Reference: Bhattamishra et al. (2020), section 5. Their generator writes 1 for the reset, has
    only one, and a beginning of a Dyck-1 string before it; their labels follow the definition
    with any number of resets.
    """

    alphabet = ("(", ")", "#")

    def __init__(self) -> None:
        self.ways = (cut_and_exchange, shuffle_behind)

    def oracle(self, string: Sequence[int]) -> int:
        """Cross out neighbours that open and close behind the last reset."""
        if RESET not in string:
            return 0
        left: list[int] = []
        for symbol in reversed(string):
            if symbol == RESET:
                break
            if symbol == OPEN and left and left[-1] == CLOSE:
                left.pop()
            else:
                left.append(symbol)
        return int(not left)

    def following(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix: anything, since a reset may; (B, N+1, 4)."""
        allowed = np.ones((len(strings_BN), strings_BN.shape[1] + 1, 4), dtype=np.bool_)
        at_BN, depths_BN = _since_reset(strings_BN)
        below_BN = np.maximum.accumulate(
            np.where(depths_BN < 0, np.arange(strings_BN.shape[1]), -1), axis=1
        )
        allowed[:, 0, -1] = False
        allowed[:, 1:, -1] = (at_BN >= 0) & (depths_BN == 0) & (below_BN <= at_BN)
        return allowed

    def has_members(self, length: int) -> bool:
        """Return whether there is room for a reset."""
        return length > 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        pairs_B = stream.integers((length + 1) // 2, count)
        strings_BN = self._any(stream, length, count)
        resets_B = length - 1 - 2 * pairs_B
        strings_BN[np.arange(count), resets_B] = RESET
        depths_B = np.zeros(count, dtype=np.int64)
        for position in range(length - int(2 * pairs_B.max(initial=0)), length):
            behind = np.flatnonzero(resets_B < position)
            share = rising_share(depths_B[behind], length - position)
            opens = stream.uniform(len(behind)) < share
            depths_B[behind] += 2 * opens - 1
            strings_BN[behind, position] = np.where(opens, OPEN, CLOSE)
        return strings_BN


def _since_reset(strings_BN: Symbols) -> tuple[Labels, Labels]:
    """Return where the last reset was, -1 before the first, and the depth since; (B, N) each."""
    at_BN = np.where(strings_BN == RESET, np.arange(strings_BN.shape[1]), -1)
    at_BN = np.maximum.accumulate(at_BN, axis=1)
    sums_BN = np.cumsum(STEPS[strings_BN], axis=1)
    then_BN = np.take_along_axis(sums_BN, np.maximum(at_BN, 0), axis=1)
    return at_BN, sums_BN - np.where(at_BN >= 0, then_BN, 0)


def cut_and_exchange(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Let two parts of what is behind the last reset change places; see `ResetDyck`.

    A string where there is no place to cut stays as it is.
    """
    at_N = np.arange(strings_AN.shape[1])
    at_AN, depths_AN = _since_reset(strings_AN)
    first_A1 = at_AN[:, -1:] + 1
    cuts_AN = np.zeros(strings_AN.shape, dtype=np.bool_)
    cuts_AN[:, 1:] = (strings_AN[:, :-1] == CLOSE) & (strings_AN[:, 1:] == OPEN)
    cuts_AN[:, 1:] &= (depths_AN[:, :-1] > 0) & (at_N[1:] > first_A1)
    cut_A1 = one_of(stream, cuts_AN)[:, None]
    later_AN = (at_N >= first_A1) & (at_N < cut_A1)  # and -1 is before everything
    order_AN = np.argsort(at_N + len(at_N) * (later_AN & (cut_A1 >= 0)), axis=1, kind="stable")
    return np.take_along_axis(strings_AN, order_AN, axis=1)


def shuffle_behind(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Bring what is behind the last reset, but for its ends, into an order drawn uniformly."""
    count, length = strings_AN.shape
    at_N = np.arange(length)
    at_AN, _ = _since_reset(strings_AN)
    inside_AN = (at_N > at_AN[:, -1:] + 1) & (at_N < length - 1)
    keys_AN = np.where(inside_AN, stream.uniform((count, length)), at_N - length)
    keys_AN[:, -1] = 1
    order_AN = np.argsort(keys_AN, axis=1, kind="stable")
    return np.take_along_axis(strings_AN, order_AN, axis=1)
