"""Data sets of labelled strings and of pairs of strings, as tasks.

The different answers are the classes of the table, as they are written; here they are taken apart.

Legend: B strings, N symbols each, M symbols of the longest answer, A different answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from formalbench.cache import place_of, read_sealed, write_sealed
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import (
    HasFixedStrings,
    HasParts,
    Labels,
    Language,
    Mask,
    Split,
    Stream,
    Symbols,
    Transduction,
)
from formalbench.contracts.specs import Splits

from formalbench_tasks.datasets.description import READER, Description, FilePart
from formalbench_tasks.datasets.reading import (
    Ints,
    Names,
    StringTable,
    lines_of,
    ordered,
    read_table,
    words_of,
    written,
)

TRAIN, VALIDATION, TEST = range(3)


class Data(Language):
    """Strings from files, some of all parts."""

    def __init__(self, described: Description, table: StringTable) -> None:
        self.described, self.table = described, table
        self.alphabet = table.alphabet
        self.num_classes = len(table.classes)
        self.theory = described.file.known_theory
        self._rows: dict[int, Labels] = {}

    def chosen(self, length: int) -> Mask:
        """Return which strings of a length are drawn, (B,) of the table's."""
        raise NotImplementedError

    def has_length(self, length: int) -> bool:
        """Return whether any string that is drawn has this length."""
        return len(self.rows(length)) > 0

    def rows(self, length: int) -> Labels:
        """Return where the strings of a length that are drawn stand in the table."""
        if length not in self._rows:
            self._rows[length] = np.flatnonzero(self.chosen(length))
        return self._rows[length]

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings, each as often as the others."""
        rows = self.rows(length)
        if not len(rows):
            raise RequestError(f"{self.described.path}: no string of length {length} to draw")
        drawn = rows[stream.integers(len(rows), count)]
        strings_BN: Symbols = self.table.block(length).symbols[drawn].astype(np.int64)
        return strings_BN

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Count the classes of the strings that are drawn."""
        labels = self.table.block(length).labels[self.rows(length)]
        counts = np.bincount(labels, minlength=self.num_classes)
        return tuple((counts / max(len(labels), 1)).tolist())

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which strings are in any part of the data."""
        return self.table.find(strings_BN)[1]

    def classify(self, strings_BN: Symbols) -> Labels:
        """Look the labels up.

        Raises:
            RequestError: for a string that is not in the data.
        """
        rows_B, found_B = self.table.find(strings_BN)
        if not found_B.all():
            raise RequestError(f"{self.described.path}: a string that is not in the data")
        labels_B: Labels = self.table.block(strings_BN.shape[1]).labels[rows_B].astype(np.int64)
        return labels_B

    def oracle(self, string: Sequence[int]) -> int:
        """Read the files line by line until the string comes."""
        words = [self.alphabet[symbol] for symbol in string]
        for part in self.described.parts:
            for text, label in _pairs(part):
                if list(words_of(text, self.described.file.separated)) == words:
                    return self.table.classes.index(written(label))
        raise RequestError(f"{self.described.path}: a string that is not in the data")


class DataPart(Data, HasFixedStrings):
    """What is for one split.

    Args:
        described: the data set.
        table: all its strings.
        groups: by name, the numbers of the table's parts.
    """

    def __init__(self, described: Description, table: StringTable, groups: dict[str, int]) -> None:
        super().__init__(described, table)
        self.groups = tuple(groups)
        self._numbers = groups

    def chosen(self, length: int) -> Mask:
        """Return which strings are of this split."""
        inside: Mask = np.isin(self.table.block(length).parts, list(self._numbers.values()))
        return inside

    def fixed(self, length: int, group: str) -> Symbols:
        """Return the strings of a length that are in a group, (B, N)."""
        block = self.table.block(length)
        strings_BN: Symbols = block.symbols[block.parts == self._numbers[group]].astype(np.int64)
        return strings_BN

    def number(self, length: int) -> int:
        """Return how many strings of a length there are."""
        return len(self.rows(length))


class DataSet(Data, HasParts):
    """All of it. Drawn are strings of the test, where it has any of a length, or else others."""

    def chosen(self, length: int) -> Mask:
        """Return which strings are of the test; all, if it has none of this length."""
        tested: Mask = self.table.block(length).parts >= TEST
        return tested if tested.any() else ~tested

    def splits(self, objective: str) -> Splits:
        """Return the lengths that there are."""
        return Splits(self._window("train"), self._window("test"))

    def part(self, split: Split) -> DataPart:
        """Return the strings that are for a split."""
        return self._parts[split]

    def overlap(self) -> str:
        """Return how many strings of the test are trained on."""
        if not self.table.shared:
            return ""
        tested = int((self.table.parts >= TEST).sum())
        return f"{self.table.shared:,} of {tested:,} test strings are training strings, too"

    @cached_property
    def _parts(self) -> dict[Split, DataPart]:
        tests = {group: TEST + index for index, group in enumerate(self.table.groups)}
        numbers: dict[Split, dict[str, int]] = {
            "train": {"": TRAIN},
            "validation": {"": VALIDATION},
            "test": tests,
        }
        return {
            split: DataPart(self.described, self.table, groups) for split, groups in numbers.items()
        }

    def _window(self, split: Split) -> tuple[int, int]:
        own = [n for n in self.table.lengths.tolist() if self._parts[split].has_length(n)]
        return own[0], own[-1]


def _pairs(part: FilePart) -> Iterator[tuple[str, str]]:
    """Return the strings of a part as they are written, each with its label."""
    if part.labels is not None:
        yield from zip(lines_of(part.strings), lines_of(part.labels), strict=True)
        return
    for line in lines_of(part.strings):
        text, _, label = line.rpartition("\t")
        yield text, label


@lru_cache(maxsize=4)
def data_set(described: Description) -> DataSet:
    """Return a data set: from the cache, or of its files."""
    key = f"data set {READER} {described.digest}"
    path = place_of("data-sets", key)
    cached = read_sealed(path, key)
    table = None if cached is None else StringTable.unpack(cached)
    if table is None:
        table = read_table(described)
        write_sealed(path, key, table.pack())
    return DataSet(described, table)


def facts_of(described: Description) -> dict[str, Any]:
    """Read a data set once, cache it, and return a summary."""
    table = read_table(described)
    key = f"data set {READER} {described.digest}"
    write_sealed(place_of("data-sets", key), key, table.pack())
    splits = DataSet(described, table).splits("classify")
    trained, tested = int((table.parts == 0).sum()), int((table.parts > 1).sum())
    summary = f"{trained:,} strings from files to train on, {tested:,} to be tested on"
    return {"summary": summary, "train": splits.train, "test": splits.test}


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
        self.outputs, ranks = ordered(names)
        self.lengths: Labels = np.array([len(answer) for answer in words], dtype=np.int64)
        flat = np.fromiter((id_ for answer in words for id_ in answer), dtype=np.int64)
        self._symbols: Ints = ranks[flat]
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
        """Return which strings are in the data."""
        return self.data.in_domain(strings_BN)

    def has_length(self, length: int) -> bool:
        """Return whether any string that is drawn has this length."""
        return self.data.has_length(length)

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Look the answers up."""
        return self.answers.of(self.data.classify(strings_BN))

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Read the files line by line until the string comes."""
        text = self.data.table.classes[self.data.oracle(string)]
        return [
            self.outputs.index(word) for word in words_of(text, self.data.described.file.separated)
        ]

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
        super().__init__(data, Answers(data.table.classes, data.described.file.separated))
        self._whole = data

    def splits(self, objective: str) -> Splits:
        """Return the lengths that there are."""
        return self._whole.splits(objective)

    def part(self, split: Split) -> FunctionPart:
        """Return the strings that are for a split."""
        return self._parts[split]

    def overlap(self) -> str:
        """Return how many strings of the test are trained on."""
        return self._whole.overlap()

    @cached_property
    def _parts(self) -> dict[Split, FunctionPart]:
        splits: tuple[Split, ...] = ("train", "validation", "test")
        return {split: FunctionPart(self._whole.part(split), self.answers) for split in splits}
