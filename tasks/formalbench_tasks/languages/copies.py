"""Reversals, copies, sorting and missing duplicates, as languages.

Legend: B strings, N positions, P = N+1 prefixes, H symbols of a half, S symbols, A strings to
change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from formalbench.contracts.source import Labels, Language, Mask, Stream, Symbols, balanced
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length
from formalbench_tasks.membership import BUTOI, FREE, SENSITIVE, Following, Membership
from formalbench_tasks.near_misses import Change, exchange_parts, exchange_two, shuffle_inside

_DUSELL = "DuSell and Chiang (2020), section 5"
_EVEN = Splits(train=(2, 40), test=(42, 500), step=2)
_ODD = Splits(train=(1, 39), test=(41, 499), step=2)

BLANK = 2


@task(
    "missing-duplicate",
    "which symbol is missing in a repeated string?",
    reference="Delétang et al. (2023), appendix A",
    theory=replace(
        Theory.least(
            "solvable",
            "as it is asked, of strings said twice alone: the symbol left out makes the number of "
            "ones even; context-sensitive in Delétang et al. (2023), Table 1",
        ),
        # Of these strings, what tells them apart need not be regular.
        c_rasp=None,
        c_rasp_last=None,
        star_free=None,
    ),
    keywords=("missing duplicate string",),
)
class MissingDuplicate(Language):
    """Bits are said twice, and one of them is left out: which was it?

    ``01_001100`` is no such string, ``01100_10`` is: class 1. Bits and the place left out are
    uniform, but for the classes being as many.

    Only even lengths have strings. Its reference has odd ones as well, with a symbol of padding
    at the end, and a dummy string of length 1.

    Its reference calls it context-sensitive, as finding the partner of a place takes more than an
    automaton. The answer does not take it: a string said twice has an even number of ones, so what
    is left out is the parity of the ones in sight, which two states tell.

    Reference: Delétang et al. (2023), appendix A, "missing duplicate".
    """

    alphabet = ("0", "1", "_")

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of an even length, as many of each class up to one, (count, length)."""
        check_length(length)
        half, rows_B = length // 2, np.arange(count)
        labels_B = balanced(stream, count)
        once_BH = stream.integers(2, (count, half))
        missing_B = stream.integers(2 * half, count)
        once_BH[rows_B, missing_B % half] = labels_B
        strings_BN = np.concatenate((once_BH, once_BH), axis=1)
        strings_BN[rows_B, missing_B] = BLANK
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the symbol left out of each string, (B,); -1 outside the domain."""
        inside_B = self.in_domain(strings_BN)
        classes_B = np.full(len(strings_BN), -1, dtype=np.int64)
        if not inside_B.any():
            return classes_B
        right_BN, length = strings_BN[inside_B], strings_BN.shape[1]
        partners_B = ((right_BN == BLANK).argmax(axis=1) + length // 2) % length
        classes_B[inside_B] = right_BN[np.arange(len(right_BN)), partners_B]
        return classes_B

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which strings are bits twice with one symbol left out, (B,)."""
        half, odd = divmod(strings_BN.shape[1], 2)
        if odd or not half:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        once_BH, again_BH = strings_BN[:, :half], strings_BN[:, half:]
        blank_BH = (once_BH == BLANK) | (again_BH == BLANK)
        one_blank_B = (strings_BN == BLANK).sum(axis=1) == 1
        inside: Mask = one_blank_B & (blank_BH | (once_BH == again_BH)).all(axis=1)
        return inside

    def round_length(self, length: int) -> int:
        """Shorten an odd length by one."""
        return length - length % 2

    def has_length(self, length: int) -> bool:
        """Return whether the length is even and not 0."""
        return length > 0 and length % 2 == 0

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each symbol."""
        check_length(length)
        return (0.5, 0.5) if self.has_length(length) else (0.0, 0.0)

    def oracle(self, string: Sequence[int]) -> int:
        """Fill the blank with each bit, and see which one makes the string a bit string twice."""
        half = len(string) // 2
        for bit in (0, 1):
            filled = [bit if symbol == BLANK else symbol for symbol in string]
            if filled[:half] == filled[half:]:
                return bit
        raise ValueError("neither bit makes it a string said twice")


Answer = Callable[[Symbols], Symbols]
"""What the second half is, (B, H) -> (B, H)."""

MARKER = "#"


class Halves(Following):
    """A first half and what becomes of it, with or without a marker between.

    Members are uniform. Three quarters of the non-members have a first half and a marker as members
    have, and as many of each symbol in both halves: the second half of a member is rearranged.

    Args:
        digits: how many symbols halves are made of.
        answer: what the second half is.
        obvious: the same for one list of symbols, slowly; for the oracle.
        marked: whether ``#`` stands between the halves.
    """

    def __init__(
        self,
        digits: int,
        answer: Answer,
        obvious: Callable[[list[int]], list[int]],
        marked: bool,
    ) -> None:
        self.digits = digits
        self.marked = marked
        self.alphabet = (*map(str, range(digits)), *([MARKER] if marked else ()))
        self._answer = answer
        self._obvious = obvious
        self.ways = self._changes()

    def oracle(self, string: Sequence[int]) -> int:
        """Cut the string in two, and see what becomes of the first half."""
        symbols = list(string)
        if self.marked:
            if symbols.count(self.digits) != 1:
                return 0
            place = symbols.index(self.digits)
            first, second = symbols[:place], symbols[place + 1 :]
        else:
            first, second = symbols[: len(symbols) // 2], symbols[len(symbols) // 2 :]
        return int(self._obvious(first) == second)

    def following(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix that begins a member, (B, N+1, S+1)."""
        count, length = strings_BN.shape
        allowed = np.ones((count, length + 1, len(self.alphabet) + 1), dtype=np.bool_)
        if self.marked:
            self._follow_marked(strings_BN, allowed)
            return allowed
        allowed[:, :, -1] = False
        for half in range(length // 2 + 1):
            same_BH = self._answer(strings_BN[:, :half]) == strings_BN[:, half : 2 * half]
            allowed[:, 2 * half, -1] = same_BH.all(axis=1)
        return allowed

    def _follow_marked(self, strings_BN: Symbols, allowed: Mask) -> None:
        """Behind a marker there is one thing to say, and then it ends."""
        allowed[:, :, -1] = False
        length = strings_BN.shape[1]
        sentinel_B1 = np.ones((len(strings_BN), 1), dtype=np.bool_)
        places_B = np.concatenate((strings_BN == self.digits, sentinel_B1), axis=1).argmax(axis=1)
        for place in np.unique(places_B[places_B < length]).tolist():
            rows = np.flatnonzero(places_B == place)
            allowed[rows, place + 1 :] = False
            second_AH = self._answer(strings_BN[rows, :place])[:, : length - place]
            at_H = place + 1 + np.arange(second_AH.shape[1])
            allowed[rows[:, None], at_H, second_AH] = True
            if 2 * place + 1 <= length:
                allowed[rows, 2 * place + 1, -1] = True

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        length = strings_BN.shape[1]
        if not self.has_members(length):
            return np.zeros(len(strings_BN), dtype=np.int64)
        half = length // 2
        first_BH = strings_BN[:, :half]
        inside_B: Mask = np.logical_and.reduce(first_BH < self.digits, axis=1)
        if self.marked:
            inside_B &= strings_BN[:, half] == self.digits
        digits_BH = np.minimum(first_BH, self.digits - 1)
        second_BH = strings_BN[:, length - half :]
        same_BH: Mask = self._answer(digits_BH) == second_BH
        inside_B &= np.logical_and.reduce(same_BH, axis=1)
        return inside_B.astype(np.int64)

    def has_members(self, length: int) -> bool:
        """Return whether the length has a middle: odd if it is marked, else even."""
        return length >= 0 and length % 2 == int(self.marked)

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        first_BH = stream.integers(self.digits, (count, length // 2))
        return self._joined(first_BH, self._answer(first_BH))

    def _joined(self, first_BH: Symbols, second_BH: Symbols) -> Symbols:
        middle = np.full((len(first_BH), int(self.marked)), self.digits)
        return np.concatenate((first_BH, middle, second_BH), axis=1)

    def _changes(self) -> tuple[Change, Change]:
        """Return how members are rearranged."""
        return self._second(exchange_parts), self._second(shuffle_inside)

    def _second(self, how: Change) -> Change:
        """Return what rearranges the second half."""

        def change(stream: Stream, strings_AN: Symbols) -> Symbols:
            half = strings_AN.shape[1] // 2
            first_AH, second_AH = strings_AN[:, :half], strings_AN[:, -half:]
            return self._joined(first_AH, how(stream, second_AH))

        return change


@task(
    "marked-reversal",
    "w#wᴿ: a string and its reversal, # between",
    objectives=("classify", "tag", "next-symbols"),
    splits=_ODD,
    reference=f"{_DUSELL}; {BUTOI}",
    theory=FREE,
    keywords=("reversal", "palindrome", "marked palindrome", "mirror"),
)
def marked_reversal() -> Halves:
    """Return w#w^R.

    Reference: Suzgun et al. (2019); DuSell & Chiang (2020), section 5; Butoi et al. (2025).
    """
    return Halves(2, _mirrored, lambda half: half[::-1], marked=True)


@task(
    "unmarked-reversal",
    "wwᴿ: palindromes of even length",
    objectives=("classify", "tag", "next-symbols"),
    splits=_EVEN,
    reference=f"{_DUSELL}; {BUTOI}",
    theory=replace(FREE, note=f"not {FREE.note}"),
    keywords=("reversal", "palindrome", "palindromes", "mirror"),
)
def unmarked_reversal() -> Halves:
    """Return ww^R, palindromes of even length.

    Reference: DuSell & Chiang (2020), section 5; Butoi et al. (2025).
    """
    return Halves(2, _mirrored, lambda half: half[::-1], marked=False)


@task(
    "marked-copy",
    "w#w: a string twice, # between",
    objectives=("classify", "tag", "next-symbols"),
    splits=_ODD,
    reference=f"DuSell and Chiang (2023); {BUTOI}",
    theory=SENSITIVE,
    keywords=("copy", "copying", "copy language"),
)
def marked_copy() -> Halves:
    """Return w#w.

    Reference: DuSell & Chiang (2023), section 6; Butoi et al. (2025).
    """
    return Halves(2, _same, list, marked=True)


@task(
    "unmarked-copy",
    "ww: a string twice",
    objectives=("classify", "tag", "next-symbols"),
    splits=_EVEN,
    reference="DuSell and Chiang (2023)",
    theory=SENSITIVE,
    keywords=("copy", "copying", "copy language", "squares"),
)
def unmarked_copy() -> Halves:
    """Return ww.

    Reference: DuSell & Chiang (2023), section 6.
    """
    return Halves(2, _same, list, marked=False)


@task(
    "odds-first-check",
    "w#v: is v the symbols of w at odd positions, then those at even positions?",
    objectives=("classify", "tag", "next-symbols"),
    splits=_ODD,
    reference=BUTOI,
    theory=SENSITIVE,
    keywords=("odds first",),
)
def odds_first() -> Halves:
    """Return w#o e, with the 1st, 3rd, … symbol of w in o and the 2nd, 4th, … in e.

    Reference: Butoi et al. (2025), appendix A, "odds first".
    """
    return Halves(2, _odds_first, lambda half: half[0::2] + half[1::2], marked=True)


@task(
    "bucket-sort-check",
    "w#v: is v the sorted w?",
    objectives=("classify", "tag", "next-symbols"),
    splits=_ODD,
    reference=BUTOI,
    theory=Theory(
        "counter",
        c_rasp=True,
        context_free=False,
        note="counts of five symbols and their order; no grammar, as for aⁿbⁿcⁿ",
    ),
    keywords=("bucket sort", "sort", "sorting", "counting"),
)
def bucket_sort() -> Sorted:
    """Return w#v with the symbols of w in order in v.

    Reference: Butoi et al. (2025), appendix A, "bucket sort"; its symbols are called 1 to 5.
    """
    return Sorted(5, _sorted, _by_counting, marked=True)


class Sorted(Halves):
    """Halves whose second one is in order.

    Half of the non-members have a second half in order as well, of a first half with some symbols
    changed; a quarter have two of its symbols exchanged.
    """

    def _changes(self) -> tuple[Change, Change]:
        return self._others_in_order, self._second(_exchange_two)

    def _others_in_order(self, stream: Stream, strings_AN: Symbols) -> Symbols:
        """Change one symbol in eight of the first half (at least one), and put these in order."""
        first_AH = strings_AN[:, : strings_AN.shape[1] // 2]
        count, half = first_AH.shape
        rows_A1 = np.arange(count)[:, None]
        places_AC = stream.integers(half, (count, 1 + half // 8))
        changed_AH = first_AH.copy()
        changed_AH[rows_A1, places_AC] = stream.integers(self.digits, places_AC.shape)
        return self._joined(first_AH, self._answer(changed_AH))


def _exchange_two(stream: Stream, halves_AH: Symbols) -> Symbols:
    return exchange_two(stream, halves_AH, np.ones(halves_AH.shape, dtype=np.bool_))


def _mirrored(first_BH: Symbols) -> Symbols:
    return first_BH[:, ::-1]


def _same(first_BH: Symbols) -> Symbols:
    return first_BH


def _odds_first(first_BH: Symbols) -> Symbols:
    return np.concatenate((first_BH[:, 0::2], first_BH[:, 1::2]), axis=1)


def _sorted(first_BH: Symbols) -> Symbols:
    return np.sort(first_BH, axis=1)


def _by_counting(half: list[int]) -> list[int]:
    return [symbol for symbol in range(max(half, default=0) + 1) for _ in range(half.count(symbol))]


@task(
    "missing-duplicate-check",
    "is a 1 missing in a repeated string?",
    splits=_EVEN,
    reference=BUTOI,
    theory=SENSITIVE,
    keywords=("missing duplicate string",),
)
class MissingDuplicateCheck(Membership):
    """With a 1 for its only blank, the string is a bit string twice: ``01_011`` is in.

    Members are uniform. Half of the non-members lack a 0 instead, a quarter are members with two
    parts of the second half exchanged that begin alike and end alike. `MissingDuplicate` asks
    which bit is missing, and draws strings said twice only.

    Reference: Butoi et al. (2025), appendix A, after Delétang et al. (2023).
    """

    alphabet = ("0", "1", "_")

    def __init__(self) -> None:
        self.ways = (_lack_a_zero, _exchange_in_second)

    def oracle(self, string: Sequence[int]) -> int:
        """Fill the blank with a 1, and see whether the string is a bit string twice."""
        if list(string).count(BLANK) != 1:
            return 0
        filled = "".join(str(symbol) for symbol in string).replace(str(BLANK), "1")
        return int(filled == filled[: len(filled) // 2] * 2)

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        half, odd = divmod(strings_BN.shape[1], 2)
        blanks_BN = strings_BN == BLANK
        filled_BN = np.where(blanks_BN, 1, strings_BN)
        same_BH = filled_BN[:, :half] == filled_BN[:, half : 2 * half]
        inside_B: Mask = (blanks_BN.sum(axis=1) == 1) & same_BH.all(axis=1)
        return (inside_B & (not odd)).astype(np.int64)

    def has_members(self, length: int) -> bool:
        """Return whether the length is even and not 0."""
        return length > 0 and length % 2 == 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        rows_B, blanks_B = np.arange(count), stream.integers(length, count)
        once_BH = stream.integers(2, (count, length // 2))
        once_BH[rows_B, blanks_B % (length // 2)] = 1
        strings_BN = np.concatenate((once_BH, once_BH), axis=1)
        strings_BN[rows_B, blanks_B] = BLANK
        return strings_BN


def _lack_a_zero(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Make 0 of the 1 that stands in the other half where the blank does in its own."""
    count, length = strings_AN.shape
    partners_A = ((strings_AN == BLANK).argmax(axis=1) + length // 2) % length
    lacking_AN = strings_AN.copy()
    lacking_AN[np.arange(count), partners_A] = 0
    return lacking_AN


def _exchange_in_second(stream: Stream, strings_AN: Symbols) -> Symbols:
    half = strings_AN.shape[1] // 2
    second_AH = exchange_parts(stream, strings_AN[:, half:])
    return np.concatenate((strings_AN[:, :half], second_AH), axis=1)
