"""Texts and their translations from files, as tokens.

Legend: B texts, N tokens of each, M tokens of the longest translation, D pairs of a split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from formalbench import (
    HasFixedStrings,
    HasParts,
    Labels,
    Mask,
    PairedCorpus,
    RequestError,
    Split,
    Splits,
    Stream,
    Symbols,
    read_yaml,
)

from formalbench_text.description import SIDES, SPLITS, PairDescription, PairOptions
from formalbench_text.tokenisers import Tokeniser, names_of, opened
from formalbench_text.tokens import PartTokens, shared_texts, tokens_of

MOST_TOKENS = 1000
"""Maximum tokens of a training text or translation."""


class TextPairs(PairedCorpus, HasParts):
    """All of them. Texts that are drawn are trained on; those of other lengths are tested on.

    Args:
        described: the files.
        options: how much of them to train on, and in which parts to test them.
    """

    def __init__(self, described: PairDescription, options: PairOptions) -> None:
        self.described, self.options = described, options
        self.tokens = tokens_of(described)
        self.tokeniser: Tokeniser = opened(described.tokeniser, self.tokens.tokeniser)
        self.alphabet = self.outputs = names_of(described.tokeniser, self.tokens.size)
        self.tokenised = described.contents.tokenised
        self._parts = {split: PairPart(self, split) for split in SPLITS}
        self._parts["train"].together = False

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw texts, each pair as often as the others."""
        return self._of_length(length).sample(stream, length, count)

    def translate(self, strings_BN: Symbols, stream: Stream) -> tuple[Symbols, Labels]:
        """Look the translations of such texts up."""
        return self._of_length(strings_BN.shape[1]).translate(strings_BN, stream)

    def words(self, outputs: Sequence[int]) -> str:
        """Return what tokens say."""
        return self.tokeniser.decode([outputs])[0]

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which texts may be drawn."""
        return self._of_length(strings_BN.shape[1]).in_domain(strings_BN)

    def has_length(self, length: int) -> bool:
        """Return whether a training or test text has this many tokens."""
        return any(self._parts[split].has_length(length) for split in ("train", "test"))

    def splits(self, objective: str) -> Splits:
        """Return the lengths that there are."""
        train, test = (sorted(self._parts[split].by_length) for split in ("train", "test"))
        return Splits((train[0], train[-1]), (test[0], test[-1]))

    def part(self, split: Split) -> PairPart:
        """Return the pairs that are for a split."""
        return self._parts[split]

    def _of_length(self, length: int) -> PairPart:
        return self._parts["train" if self._parts["train"].has_length(length) else "test"]

    def overlap(self) -> str:
        """Return how many texts to translate are in another split, too."""
        return shared_texts(self.described, {split: f"{split}.source" for split in SPLITS})


class PairPart(PairedCorpus, HasFixedStrings):
    """The pairs that are for one split; those of a test are in two parts, by the words of the text.

    Args:
        whole: all of them.
        split: which.

    Attributes:
        by_length: indices of pairs by number of tokens of the text.
    """

    together = True

    def __init__(self, whole: TextPairs, split: Split) -> None:
        self.alphabet, self.outputs = whole.alphabet, whole.outputs
        self.tokenised, self.split, self._whole = whole.tokenised, split, whole
        self.source, self.target = (_Side(whole.tokens.parts[f"{split}.{side}"]) for side in SIDES)
        pairs_D = self._indices()
        lengths_D = self.source.lengths[pairs_D]
        self.by_length: dict[int, Labels] = {
            length: pairs_D[lengths_D == length] for length in np.unique(lengths_D).tolist()
        }
        if not self.by_length:
            raise RequestError(
                f"{whole.described.path}: no {split} text has at most {whole.options.longest} "
                "words (task.longest)"
            )
        if split == "test" and not whole.options.whole:
            self.groups = tuple(
                group for group in self._names if group in set(self._names_of_pairs)
            )

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw texts, each pair as often as the others."""
        rows = self.by_length[length]
        return self.source.of(rows[stream.integers(len(rows), count)])[0]

    def fixed(self, length: int, group: str) -> Symbols:
        """Return the texts with this many tokens in a group, (B, N)."""
        rows = self.by_length.get(length, np.zeros(0, dtype=np.int64))
        if group:
            rows = rows[self._names_of_pairs[rows] == group]
        return self.source.of(rows)[0].reshape(len(rows), length)

    def number(self, length: int) -> int:
        """Return the number of texts with this many tokens."""
        return len(self.by_length.get(length, ()))

    def has_length(self, length: int) -> bool:
        """Return whether any text has this many tokens."""
        return length in self.by_length

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which texts are among these."""
        texts = self.rows_of(strings_BN.shape[1])
        return np.array([string.tobytes() in texts for string in strings_BN], dtype=np.bool_)

    def translate(self, strings_BN: Symbols, stream: Stream) -> tuple[Symbols, Labels]:
        """Look translations up; those of one text take turns."""
        by_text, first_B = self.rows_of(strings_BN.shape[1]), stream.uniform(len(strings_BN))
        turns: Counter[bytes] = Counter()
        rows = []
        for string, first in zip(strings_BN, first_B.tolist(), strict=True):
            text = string.tobytes()
            own = by_text[text]
            if text not in turns:
                turns[text] = int(first * len(own))
            rows.append(own[turns[text] % len(own)])
            turns[text] += 1
        return self.target.of(np.array(rows, dtype=np.int64))

    def words(self, outputs: Sequence[int]) -> str:
        """Return what tokens say."""
        return self._whole.words(outputs)

    def rows_of(self, length: int) -> dict[bytes, list[int]]:
        """Return the pairs of each text with this many tokens, by the bytes of its ids."""
        if length not in self._rows:
            rows = self.by_length.get(length, np.zeros(0, dtype=np.int64))
            by_text = self._rows.setdefault(length, {})
            for row, string in zip(rows.tolist(), self.source.of(rows)[0], strict=True):
                by_text.setdefault(string.tobytes(), []).append(row)
        return self._rows[length]

    @cached_property
    def _rows(self) -> dict[int, dict[bytes, list[int]]]:
        return {}

    @property
    def _names(self) -> tuple[str, str]:
        short = self._whole.described.contents.short
        return f"up-to-{short}", f"over-{short}"

    @cached_property
    def _names_of_pairs(self) -> npt.NDArray[np.str_]:
        """Return which group each pair is of, (D,)."""
        long_D = self._words() > self._whole.described.contents.short
        return np.array(self._names)[long_D.astype(np.int64)]

    def _indices(self) -> Labels:
        """Return the numbers of the pairs that are trained or tested on, (B,)."""
        every_D = np.arange(len(self.source.lengths))
        if self.split == "train":
            fits_D = np.maximum(self.source.lengths, self.target.lengths) <= MOST_TOKENS
            every_D = every_D[fits_D]
        if self.split != "test" and self._whole.options.longest:
            every_D = every_D[self._words()[every_D] <= self._whole.options.longest]
        return every_D

    def _words(self) -> Labels:
        """Return how many words and marks the texts have, (D,)."""
        texts = self._whole.tokeniser.decode(list(self.source.texts()))
        count = self._whole.described.words
        return np.array([count(text) for text in texts], dtype=np.int64)


class _Side:
    """The texts of a split, or their translations.

    Attributes:
        lengths: in tokens, (D,).
    """

    def __init__(self, tokens: PartTokens) -> None:
        self._ids = tokens.ids
        self._starts = np.concatenate([[0], tokens.ends[:-1]]).astype(np.int64)
        self.lengths: Labels = tokens.ends - self._starts - 1  # an end stands behind each

    def texts(self) -> Iterable[list[int]]:
        """Return the tokens of each."""
        for start, length in zip(self._starts.tolist(), self.lengths.tolist(), strict=True):
            yield self._ids[start : start + length].tolist()

    def of(self, rows_B: Labels) -> tuple[Symbols, Labels]:
        """Return the tokens of some, (B, M), 0 behind the end of each, and their lengths, (B,)."""
        lengths_B = self.lengths[rows_B]
        at_M = np.arange(int(lengths_B.max(initial=0)))
        inside_BM = at_M < lengths_B[:, None]
        places_BM = self._starts[rows_B][:, None] + at_M
        tokens_BM = np.zeros(inside_BM.shape, dtype=np.int64)
        tokens_BM[inside_BM] = self._ids[places_BM[inside_BM]]
        return tokens_BM, lengths_B


def build_tiny(options: PairOptions) -> TextPairs:
    """Return numbers in two languages, to try translation out on."""
    path = Path(__file__).parent / "tiny" / "pairs.yaml"
    return TextPairs(PairDescription.of(path, read_yaml(path)), options)
