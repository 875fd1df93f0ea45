"""Functions from strings to strings: one that keeps the length, and one that does not."""

import numpy as np
import torch
from formalbench import Config, ModelSpec, Splits, TaskSpec, Transduction, hookimpl, option
from torch import nn


class Backwards(Transduction):
    """The string from its end to its beginning, in capitals."""

    alphabet = ("a", "b")
    outputs = ("A", "B")

    def sample(self, stream, length, count):
        return stream.integers(2, (count, length))

    def transduce(self, strings):
        return strings[:, ::-1].copy(), np.full(len(strings), strings.shape[1])

    def oracle(self, string):
        return list(reversed(string))

    def answer_length(self, length):
        return length


class WithoutZeros(Transduction):
    """Leaves the 0s out, and does not say how many there are."""

    alphabet = ("0", "1", "2")
    outputs = ("1", "2")

    def sample(self, stream, length, count):
        return stream.integers(3, (count, length))

    def transduce(self, strings):
        order = np.argsort(strings == 0, axis=1, kind="stable")
        kept = np.take_along_axis(strings, order, axis=1)
        return np.maximum(kept - 1, 0), (strings > 0).sum(1)

    def oracle(self, string):
        return [symbol - 1 for symbol in string if symbol]


class TurnConfig(Config):
    wrong_at: str = option("-", "a string whose last symbol is answered wrong")


class Turn(nn.Module):
    """Answers each blank with the symbol that stands as far from the middle, on the other side."""

    def __init__(self, task, config):
        super().__init__()
        self.size = nn.Parameter(torch.tensor(4.0, dtype=torch.float64))
        self.wrong = [task.source.alphabet.index(symbol) for symbol in config.wrong_at.strip("-")]

    def forward(self, batch):
        turned_BN = batch.symbols.flip(1).clamp(max=1)
        for row, string in enumerate(batch.symbols.tolist()):
            if self.wrong and string[: len(string) // 2] == self.wrong:
                turned_BN[row, -1] = 1 - turned_BN[row, -1]
        return self.size * nn.functional.one_hot(turned_BN, 3)


@hookimpl
def formalbench_models():
    spec = ("turn", 1, "for tests", Turn, TurnConfig)
    yield ModelSpec(*spec, kind="exact", objectives=("transduce",), task="backwards")


@hookimpl
def formalbench_tasks():
    short = Splits(train=(1, 8), test=(9, 20))
    yield TaskSpec("backwards", 1, "for tests", Backwards, ("transduce",), short)
    yield TaskSpec("without-zeros", 1, "for tests", WithoutZeros, ("decode",), short)
