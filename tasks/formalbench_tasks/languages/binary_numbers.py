"""Sums, products and square roots of binary numbers, as functions and as equations.

Numbers are Python's whole numbers, exact at every length; no float is involved.

Legend: B strings, N symbols or positions, M symbols of the longest answer, K numbers of an
equation, A strings to corrupt.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import zip_longest
from math import isqrt

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Mask, Stream, Symbols, Transduction
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length
from formalbench_tasks.membership import BUTOI, SENSITIVE, Membership
from formalbench_tasks.near_misses import behind, exchange_parts, exchange_two

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
        """Return which strings are two numbers of a bit or more with one sign between, (B,)."""
        if strings_BN.shape[1] < 3:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        signs_BN = strings_BN == SIGN
        inside: Mask = (signs_BN.sum(axis=1) == 1) & ~signs_BN[:, 0] & ~signs_BN[:, -1]
        return inside

    def has_length(self, length: int) -> bool:
        """Return whether two bits and a sign fit in."""
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


@task(
    "binary-addition",
    "the sum of two binary numbers, least significant bit first",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-sensitive", "Delétang et al. (2023), Table 1"),
    keywords=("addition", "arithmetic"),
)
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


@task(
    "binary-multiplication",
    "the product of two binary numbers, least significant bit first",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-sensitive", "Delétang et al. (2023), Table 1"),
    keywords=("multiplication", "arithmetic"),
)
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


@task(
    "square-root",
    "the square root, rounded down, of a binary number, most significant bit first",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-sensitive", "Delétang et al. (2023), Table 1"),
    keywords=("compute sqrt", "sqrt", "arithmetic"),
)
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
    """Return where the number before the sign or the one behind it is 0, (B,)."""
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


class Equation(Membership):
    """Operands and their result, least significant bit first, separated; each may end in zeros.

    Members are not uniform. How many bits each number has is uniform (so are the shares that
    `weights` says, rounded down); the first operand is uniform up to what these bits and those of
    the result have room for, then the second one; two operands are exchanged by a coin. Half of the
    non-members are members with two parts exchanged that begin alike and end alike, a quarter
    members with two different bits of the result exchanged.

    Attributes:
        weights: of the numbers' lengths, the result's last.

    Reference: Butoi et al. (2025), appendix A.
    """

    weights: tuple[int, ...]

    def __init__(self) -> None:
        self._separators = range(2, len(self.alphabet))
        self.ways = (exchange_parts, self._exchange_bits)

    @abstractmethod
    def _result(self, operands: Sequence[int]) -> int:
        """Return what is right."""

    @abstractmethod
    def _most(self, before: Sequence[int], result: int) -> int:
        """Return the greatest next operand whose result is not above one, given those before."""

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        classes_B = np.zeros(len(strings_BN), dtype=np.int64)
        rows, places_AK = self._well_formed(strings_BN)
        right_AN = strings_BN[rows]
        wholes = numbers(np.where(right_AN < 2, right_AN, 0))
        for row, whole, places in zip(rows.tolist(), wholes, places_AK.tolist(), strict=True):
            begins = [0, *(place + 1 for place in places)]
            read = [
                (whole >> begin) & ((1 << place - begin) - 1)
                for begin, place in zip(begins, places, strict=False)
            ]
            classes_B[row] = self._result(read) == whole >> begins[-1]
        return classes_B

    def _well_formed(self, strings_BN: Symbols) -> tuple[Ints, Ints]:
        """Find the strings that have numbers of a bit or more, and their separators between.

        Returns:
            (A,) which strings, and (A, K-1) where the separators stand.
        """
        marks = np.array(self._separators)
        rows = np.flatnonzero((strings_BN >= 2).sum(axis=1) == len(marks))
        places_AK = np.nonzero(strings_BN[rows] >= 2)[1].reshape(len(rows), len(marks))
        in_order_A = (strings_BN[rows[:, None], places_AK] == marks).all(axis=1)
        gaps = np.diff(places_AK, axis=1, prepend=-1, append=strings_BN.shape[1])
        right_A = in_order_A & (gaps > 1).all(axis=1)
        return rows[right_A], places_AK[right_A]

    def has_members(self, length: int) -> bool:
        """Return whether there is room for a bit of each number."""
        return length >= 2 * len(self.weights) - 1

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        sizes_BK = self._sizes(stream, length, count)
        most = [(1 << size) - 1 for size in sizes_BK[:, -1].tolist()]
        operands: list[list[int]] = [[] for _ in range(count)]
        for sizes_B in sizes_BK.T[:-1]:
            limits = [
                min((1 << size) - 1, self._most(before, result))
                for size, before, result in zip(sizes_B.tolist(), operands, most, strict=True)
            ]
            for before, operand in zip(operands, _below(stream, limits), strict=True):
                before.append(operand)
        turned_B = stream.integers(2, count) == 1
        sizes_BK[turned_B, :-1] = sizes_BK[turned_B, -2::-1]
        rows = zip(operands, turned_B.tolist(), strict=True)
        written = [each[::-1] if turned else each for each, turned in rows]
        return self._written([[*each, self._result(each)] for each in written], sizes_BK, length)

    def _sizes(self, stream: Stream, length: int, count: int) -> Ints:
        """Draw how many bits the numbers have, no operand more than the next one; (count, K)."""
        room = length - 2 * len(self.weights) + 1
        cuts = np.sort(stream.integers(room + 1, (count, sum(self.weights) - 1)), axis=1)
        ends_BK = np.full((count, len(self.weights)), room)
        ends_BK[:, :-1] = cuts[:, np.cumsum(self.weights)[:-1] - 1]
        sizes_BK = 1 + np.diff(ends_BK, axis=1, prepend=0)
        sizes_BK[:, :-1].sort(axis=1)
        return sizes_BK

    def _written(self, equations: list[list[int]], sizes_BK: Ints, length: int) -> Symbols:
        """Write numbers one behind the other, with the separators between, (B, N)."""
        begins_BK = np.zeros_like(sizes_BK)
        np.cumsum(sizes_BK[:, :-1] + 1, axis=1, out=begins_BK[:, 1:])
        rows = zip(equations, begins_BK.tolist(), strict=True)
        wholes = [sum(n << b for n, b in zip(each, at, strict=True)) for each, at in rows]
        strings_BN = bits(wholes, length)
        for at, mark in enumerate(self._separators):
            strings_BN[np.arange(len(strings_BN)), begins_BK[:, at + 1] - 1] = mark
        return strings_BN

    def _exchange_bits(self, stream: Stream, strings_AN: Symbols) -> Symbols:
        equals = self._separators[-1]
        return exchange_two(stream, strings_AN, behind(strings_AN, equals))

    def _read(self, string: Sequence[int]) -> list[list[int]] | None:
        """Return the bits of all numbers for the oracle; None if the string is no equation."""
        parts: list[list[int]] = [[]]
        for symbol in string:
            if symbol < 2:
                parts[-1].append(symbol)
            elif symbol == len(parts) + 1:
                parts.append([])
            else:
                return None
        return parts if len(parts) == len(self.weights) and all(parts) else None


@task(
    "binary-addition-check",
    "x+y=z: is the sum right? least significant bit first",
    splits=Splits(train=(5, 40)),
    reference=BUTOI,
    theory=SENSITIVE,
    keywords=("addition", "arithmetic", "sum"),
)
class AdditionCheck(Equation):
    """Is a sum right? ``10+010=110`` (1 + 2 = 3) is in."""

    alphabet = ("0", "1", "+", "=")
    weights = (1, 1, 1)

    def oracle(self, string: Sequence[int]) -> int:
        """Add bit by bit, with a carry."""
        parts = self._read(string)
        if parts is None:
            return 0
        carry = 0
        for left, right, total in zip_longest(*parts, fillvalue=0):
            carry, bit = divmod(left + right + carry, 2)
            if bit != total:
                return 0
        return int(carry == 0)

    def _result(self, operands: Sequence[int]) -> int:
        return sum(operands)

    def _most(self, before: Sequence[int], result: int) -> int:
        return result - sum(before)


@task(
    "binary-multiplication-check",
    "x*y=z: is the product right? least significant bit first",
    splits=Splits(train=(5, 40)),
    reference=BUTOI,
    theory=SENSITIVE,
    keywords=("multiplication", "arithmetic", "product"),
)
class MultiplicationCheck(Equation):
    """Is a product right? ``01*11=0110`` (2 · 3 = 6) is in."""

    alphabet = ("0", "1", "*", "=")
    weights = (1, 1, 2)

    def oracle(self, string: Sequence[int]) -> int:
        """Multiply as at school, column by column."""
        parts = self._read(string)
        if parts is None:
            return 0
        left, right, product = parts
        carry = 0
        for column in range(max(len(left) + len(right), len(product))):
            places = range(max(0, column - len(right) + 1), min(column + 1, len(left)))
            carry += sum(left[place] * right[column - place] for place in places)
            carry, bit = divmod(carry, 2)
            if bit != (product[column] if column < len(product) else 0):
                return 0
        return int(carry == 0)

    def _result(self, operands: Sequence[int]) -> int:
        return operands[0] * operands[1]

    def _most(self, before: Sequence[int], result: int) -> int:
        return result // before[0] if before and before[0] else result


@task(
    "square-root-check",
    "x=z: is the square root, rounded down, right? least significant bit first",
    splits=Splits(train=(3, 40)),
    reference=BUTOI,
    theory=SENSITIVE,
    keywords=("compute sqrt", "sqrt", "arithmetic"),
)
class SquareRootCheck(Equation):
    """Is a square root, rounded down, right? ``101001=011`` (37, 6) is in.

    The code of its reference takes roots of floats, and so is wrong where they are large.
    """

    alphabet = ("0", "1", "=")
    weights = (2, 1)

    def oracle(self, string: Sequence[int]) -> int:
        """Square the root and the next number, and see whether the number lies between."""
        parts = self._read(string)
        if parts is None:
            return 0
        number, root = (sum(bit << place for place, bit in enumerate(part)) for part in parts)
        return int(root**2 <= number < (root + 1) ** 2)

    def _result(self, operands: Sequence[int]) -> int:
        return isqrt(operands[0])

    def _most(self, before: Sequence[int], result: int) -> int:
        return (result + 1) ** 2 - 1


def _below(stream: Stream, limits: Sequence[int]) -> list[int]:
    """Draw for each limit a whole number from 0 up to it, uniformly."""
    words = max((limit.bit_length() for limit in limits), default=0) // 64 + 1
    numbers, pending = [0] * len(limits), list(range(len(limits)))
    while pending:
        rows = stream.raw(len(pending) * words).astype("<u8").reshape(len(pending), words)
        for at, row in zip(pending, rows, strict=True):
            mask = (1 << limits[at].bit_length()) - 1
            numbers[at] = int.from_bytes(row.tobytes(), "little") & mask
        pending = [at for at in pending if numbers[at] > limits[at]]
    return numbers
