"""Arithmetic on binary numbers of any size: sums, products, square roots.

Numbers are Python's whole numbers, exact at every length; no float is involved.

Legend: B strings, N symbols, M symbols of the longest answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import zip_longest
from math import isqrt

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Mask, Symbols, Transduction
from formalbench.contracts.stream import Stream

from formalbench_tasks.limits import check_length

Ints = npt.NDArray[np.int64]

BITS = ("0", "1")
SIGN = 2


class BinaryOperation(Transduction):
    """A function of two binary numbers with a sign between them, least significant bit first.

    Numbers may end in zeros; answers do not, except for 0 itself, which is ``0``. Where the sign
    stands is uniform, and the numbers are uniform from 1 up to what has room.

    Every answer ends with END: there is a blank for it (see `answer_length`), as its reference
    has it. That also gives dummy strings for the lengths 1 and 2; here they have no strings.

    Reference: Delétang et al. (2023), appendix A.
    """

    outputs = BITS

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw two numbers and a sign between them, (count, length).

        Raises:
            ValueError: if they do not fit in.
        """
        check_length(length)
        if not self.has_length(length):
            raise ValueError(f"two numbers and a sign do not fit into {length} symbols")
        strings_BN = stream.integers(2, (count, length))
        signs_B = 1 + stream.integers(length - 2, count)
        strings_BN[np.arange(count), signs_B] = SIGN
        while (zero := np.flatnonzero(_any_zero(strings_BN, signs_B))).size:
            again_ZN = stream.integers(2, (zero.size, length))
            again_ZN[np.arange(zero.size), signs_B[zero]] = SIGN
            strings_BN[zero] = again_ZN
        return strings_BN

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings are two numbers of a bit or more with one sign between, (B,)."""
        if strings_BN.shape[1] < 3:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        signs_BN = strings_BN == SIGN
        inside: Mask = (signs_BN.sum(axis=1) == 1) & ~signs_BN[:, 0] & ~signs_BN[:, -1]
        return inside

    def has_length(self, length: int) -> bool:
        """Say whether two bits and a sign fit in."""
        return length >= 3

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return the results, least significant bit first, (B, M), and their lengths."""
        signs_B = np.nonzero(strings_BN == SIGN)[1].tolist()  # one each
        both_B = numbers(strings_BN % SIGN)  # the sign as a zero between the two
        results = [
            self._result(both & ((1 << sign) - 1), both >> (sign + 1))
            for both, sign in zip(both_B, signs_B, strict=True)
        ]
        sizes = [max(result.bit_length(), 1) for result in results]
        return bits(results, max(sizes, default=0)), np.array(sizes, dtype=np.int64)

    @abstractmethod
    def _result(self, left: int, right: int) -> int:
        """Return the result of two numbers."""


class BinaryAddition(BinaryOperation):
    """The sum: ``001+01101`` (4 + 22) becomes ``01011`` (26).

    Context-sensitive in its reference's hierarchy.
    """

    alphabet = (*BITS, "+")

    def answer_length(self, length: int) -> int:
        """Return one more than the string has symbols, as its reference has it."""
        return length + 1

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Add bit by bit, with a carry."""
        left, right = _operands(string)
        total, carry = [], 0
        for one, other in zip_longest(left, right, fillvalue=0):
            total.append((one + other + carry) % 2)
            carry = (one + other + carry) // 2
        return _shortest([*total, carry])

    def _result(self, left: int, right: int) -> int:
        return left + right


class BinaryMultiplication(BinaryOperation):
    """The product: ``001*01101`` (4 · 22) becomes ``0001101`` (88).

    Context-sensitive in its reference's hierarchy.
    """

    alphabet = (*BITS, "*")

    def answer_length(self, length: int) -> int:
        """Return the string's length: a product has at most as many bits as both numbers."""
        return length

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Multiply as at school: add the first number up, moved by each 1 of the second."""
        left, right = _operands(string)
        columns = [0] * (len(left) + len(right) + 1)
        for moved, bit in enumerate(right):
            if bit:
                for place, digit in enumerate(left):
                    columns[moved + place] += digit
        for place in range(len(columns) - 1):
            columns[place + 1] += columns[place] // 2
            columns[place] %= 2
        return _shortest(columns)

    def _result(self, left: int, right: int) -> int:
        return left * right


class SquareRoot(Transduction):
    """The square root of a number, rounded down, most significant bit first; ceil(N/2) bits.

    ``100101`` (37) becomes ``110`` (6). Numbers are uniform from 1 up to what has room. Its
    reference's examples show some other answers than its code gives; the code is right.
    Context-sensitive in its reference's hierarchy.

    Reference: Delétang et al. (2023), appendix A, "compute sqrt".
    """

    alphabet = outputs = BITS

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform strings that are not all zeros, (count, length)."""
        check_length(length)
        strings_BN = stream.integers(2, (count, length))
        while length and (zero := np.flatnonzero(~strings_BN.any(axis=1))).size:
            strings_BN[zero] = stream.integers(2, (zero.size, length))
        return strings_BN

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return the roots, (B, M), all of one length."""
        room = self.answer_length(strings_BN.shape[1])
        roots_BM = bits([isqrt(number) for number in numbers(strings_BN[:, ::-1])], room)
        return roots_BM[:, ::-1], np.full(len(strings_BN), room, dtype=np.int64)

    def answer_length(self, length: int) -> int:
        """Return half the length, rounded up."""
        return (length + 1) // 2

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Try a 1 at every place, the greatest first, and keep it unless the square is too big."""
        number = 0
        for bit in string:
            number = 2 * number + bit
        root, answer = 0, []
        for place in reversed(range((len(string) + 1) // 2)):
            fits = (root + 2**place) ** 2 <= number
            root += fits * 2**place
            answer.append(int(fits))
        return answer


def numbers(bits_BN: Ints) -> list[int]:
    """Return the numbers that bits stand for, the least significant one first."""
    packed = np.packbits(bits_BN.astype(np.uint8), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def bits(values: Sequence[int], width: int) -> Ints:
    """Return the bits of numbers, the least significant one first, (B, width); it must fit."""
    size = (width + 7) // 8
    joined = b"".join(value.to_bytes(size, "little") for value in values)
    packed = np.frombuffer(joined, dtype=np.uint8).reshape(len(values), size)
    return np.unpackbits(packed, axis=1, bitorder="little")[:, :width].astype(np.int64)


def _any_zero(strings_BN: Symbols, signs_B: Ints) -> Mask:
    """Say where the number before the sign or the one behind it is 0, (B,)."""
    ones_BN = strings_BN == 1
    before_BN = np.arange(strings_BN.shape[1]) < signs_B[:, None]
    zero: Mask = ~(ones_BN & before_BN).any(axis=1) | ~(ones_BN & ~before_BN).any(axis=1)
    return zero


def _operands(string: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    sign = list(string).index(SIGN)
    return string[:sign], string[sign + 1 :]


def _shortest(number: list[int]) -> list[int]:
    """Return a number without zeros at its end, but for its first bit."""
    while len(number) > 1 and number[-1] == 0:
        number = number[:-1]
    return number
