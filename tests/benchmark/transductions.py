"""Functions from strings to strings that tests share, each knowing more or less of its answers."""

import numpy as np
from formalbench import Transduction


class BitFunction(Transduction):
    """A function of bit strings."""

    alphabet = ("0", "1")
    outputs = ("a", "b")

    def sample(self, stream, length, count):
        return stream.integers(2, (count, length))

    def transduce(self, strings_BN):
        answers = [self.oracle(string) for string in strings_BN.tolist()]
        lengths = np.array([len(answer) for answer in answers], dtype=np.int64)
        wide = np.zeros((len(answers), int(lengths.max(initial=0))), dtype=np.int64)
        for row, answer in zip(wide, answers, strict=True):
            row[: len(answer)] = answer
        return wide, lengths


class Reversed(BitFunction):
    """The string from its end."""

    def transduce(self, strings_BN):
        return strings_BN[:, ::-1], np.full(len(strings_BN), strings_BN.shape[1])

    def oracle(self, string):
        return list(reversed(string))

    def answer_length(self, length):
        return length


class Doubled(BitFunction):
    """Every 1 twice, every 0 once: at most twice as long as the string."""

    def oracle(self, string):
        return [symbol for symbol in string for _ in range(symbol + 1)]

    def answer_length(self, length):
        return 2 * length


class OnlyOnes(BitFunction):
    """The string without its 0s, whose length is not stated."""

    def oracle(self, string):
        return [symbol for symbol in string if symbol == 1]
