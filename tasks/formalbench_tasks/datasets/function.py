"""A data set whose answers are strings: a function that is known for the strings of its files.

The different answers are the classes of the table, as they are written; here they are taken apart.

Legend: B strings, N symbols each, M symbols of the longest answer, A different answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from formalbench.contracts.language import HasFixedStrings, HasParts, Split
from formalbench.contracts.source import Labels, Mask, Symbols, Transduction
from formalbench.contracts.specs import Splits
from formalbench.contracts.stream import Stream

from formalbench_tasks.datasets.reading import Names, in_order, words_of
from formalbench_tasks.datasets.source import Data, DataPart, DataSet
from formalbench_tasks.datasets.table import Ints


class Answers:
    """All different answers, one after another.

    Args:
        texts: as they are written, (A,).
        separated: whether their symbols are separated by spaces.

    Attributes:
        outputs: their symbols.
        lengths: (A,)
    """

    def __init__(self, texts: Sequence[str], separated: bool) -> None:
        names = Names()
        words = [[names[word] for word in words_of(text, separated)] for text in texts]
        self.outputs = tuple(sorted(names, key=in_order))
        ranks = np.array([self.outputs.index(name) for name in names], dtype=np.int64)
        self.lengths: Labels = np.array([len(answer) for answer in words], dtype=np.int64)
        flat = np.fromiter((id_ for answer in words for id_ in answer), dtype=np.int64)
        self._symbols: Ints = ranks[flat] if len(flat) else flat
        self._starts = np.cumsum(self.lengths) - self.lengths

    def of(self, labels_B: Labels) -> tuple[Symbols, Labels]:
        """Return some of them, (B, M), 0 behind the end of each, and how long they are, (B,)."""
        lengths_B = self.lengths[labels_B]
        at_M = np.arange(int(lengths_B.max(initial=0)))
        inside_BM = at_M < lengths_B[:, None]
        answers_BM = np.zeros(inside_BM.shape, dtype=np.int64)
        answers_BM[inside_BM] = self._symbols[(self._starts[labels_B][:, None] + at_M)[inside_BM]]
        return answers_BM, lengths_B


class DataFunction(Transduction):
    """Strings and answers from files.

    Args:
        data: the strings; the class of each is the number of its answer.
        answers: all different ones.
    """

    def __init__(self, data: Data, answers: Answers) -> None:
        self.data, self.answers = data, answers
        self.alphabet, self.outputs = data.alphabet, answers.outputs

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings, each as often as the others."""
        return self.data.sample(stream, length, count)

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings are in the data."""
        return self.data.in_domain(strings_BN)

    def has_length(self, length: int) -> bool:
        """Say whether any string that is drawn has this length."""
        return self.data.has_length(length)

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Look the answers up."""
        return self.answers.of(self.data.classify(strings_BN))

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Read the files line by line until the string comes."""
        text = self.data.table.classes[self.data.oracle(string)]
        return [self.outputs.index(word) for word in words_of(text, self.data.described.separated)]

    def answer_length(self, length: int) -> int:
        """Return how long the answers to all strings of a length are at most."""
        labels = self.data.table.block(length).labels
        return int(self.answers.lengths[labels].max(initial=0))


class FunctionPart(DataFunction, HasFixedStrings):
    """What is for one split."""

    def __init__(self, data: DataPart, answers: Answers) -> None:
        super().__init__(data, answers)
        self.groups = data.groups
        self._part = data

    def fixed(self, length: int, group: str) -> Symbols:
        """Return the strings of a length that are in a group, (B, N)."""
        return self._part.fixed(length, group)

    def number(self, length: int) -> int:
        """Return how many strings of a length there are."""
        return self._part.number(length)


class FunctionSet(DataFunction, HasParts):
    """All of it."""

    def __init__(self, data: DataSet) -> None:
        super().__init__(data, Answers(data.table.classes, data.described.separated))
        self._whole = data

    def splits(self, objective: str) -> Splits:
        """Return the lengths that there are."""
        return self._whole.splits(objective)

    def part(self, split: Split) -> FunctionPart:
        """Return the strings that are for a split."""
        return self._parts[split]

    def overlap(self) -> str:
        """Say how many strings of the test are trained on."""
        return self._whole.overlap()

    @cached_property
    def _parts(self) -> dict[Split, FunctionPart]:
        splits: tuple[Split, ...] = ("train", "validation", "test")
        return {split: FunctionPart(self._whole.part(split), self.answers) for split in splits}
