"""A corpus of texts from files: windows of its tokens.

Legend: B windows, N tokens of each, T tokens in all, D texts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from formalbench import (
    Corpus,
    HasFixedStrings,
    HasParts,
    RequestError,
    Split,
    Splits,
    Stream,
    Symbols,
    read_yaml,
)
from formalbench.contracts.source import Labels

from formalbench_text.description import SPLITS, CorpusDescription, fitted, splits_of
from formalbench_text.tokenisers import names_of
from formalbench_text.tokens import PartTokens, shared_texts, tokens_of

END = "<end>"
"""Display name of the token after a text."""


class TextCorpus(Corpus, HasParts):
    """All of it. Windows that are drawn are of the training part.

    Args:
        described: the corpus.
    """

    def __init__(self, described: CorpusDescription) -> None:
        self.described = described
        self.tokens = tokens_of(described)
        self.alphabet = (*names_of(described.tokeniser, self.tokens.size), END)
        contents = described.contents
        ends = {split: part.ends for split, part in self.tokens.parts.items()}
        longest = {split: int(ends[split][-1]) for split in SPLITS}
        if contents.within:
            held_out: tuple[Split, ...] = ("validation", "test")
            longest |= {split: int(np.diff(ends[split], prepend=0).max()) for split in held_out}
        self.window_lengths = lengths = fitted(contents.lengths, longest)
        trained = (lengths.train,)
        self._parts: dict[Split, TextPart] = {
            "train": TextPart(self, "train", trained),
            "validation": FixedWindows(self, "validation", trained),
            "test": FixedWindows(self, "test", tuple({*lengths.tested, *trained})),
        }

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw windows, each as often as the others."""
        return self.part("train").sample(stream, length, count)

    def has_length(self, length: int) -> bool:
        """Return whether windows of this length are trained or tested on."""
        return self._parts["train"].has_length(length) or self._parts["test"].has_length(length)

    def splits(self, objective: str) -> Splits:
        """Return the lengths there are; hidden tokens are asked for at the length of training."""
        lengths = splits_of(self.window_lengths)
        return Splits(lengths.train, lengths.train) if objective == "masked-lm" else lengths

    def part(self, split: Split) -> TextPart:
        """Return the windows that are for a split."""
        return self._parts[split]

    def overlap(self) -> str:
        """Return how many texts of a split are in another one."""
        return shared_texts(self.described, {split: split for split in SPLITS})


class TextPart(Corpus):
    """What is for one split.

    Args:
        whole: the corpus.
        split: which.
        lengths: of its windows.
    """

    def __init__(self, whole: TextCorpus, split: Split, lengths: tuple[int, ...]) -> None:
        self.alphabet, self.described = whole.alphabet, whole.described
        self.split, self.lengths = split, lengths
        self.own: PartTokens = whole.tokens.parts[split]
        if max(lengths) > len(self.own.ids):
            raise RequestError(
                f"{self.described.path}: the {split} texts have {len(self.own.ids)} tokens, and "
                f"windows of {max(lengths)} are asked for (lengths)"
            )

    def has_length(self, length: int) -> bool:
        """Return whether its windows have this length."""
        return length in self.lengths

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw windows uniformly, also across texts."""
        # Not by integers, which are below 2^32: there are corpora with more tokens.
        places = len(self.own.ids) - length + 1
        return self._windows((stream.uniform(count) * places).astype(np.int64) + length, length)

    def _windows(self, ends_B: Labels, length: int) -> Symbols:
        """Return the windows that end before these places, (B, N)."""
        windows_BN: Symbols = self.own.ids[(ends_B - length)[:, None] + np.arange(length)].astype(
            np.int64
        )
        return windows_BN


class FixedWindows(TextPart, HasFixedStrings):
    """Test windows, which end with the same tokens at every length."""

    def __init__(self, whole: TextCorpus, split: Split, lengths: tuple[int, ...]) -> None:
        super().__init__(whole, split, lengths)
        self.last_only = split == "test"
        self._ends = self._places()

    def fixed(self, length: int, group: str) -> Symbols:
        """Return the windows of a length, (B, N)."""
        return self._windows(self._ends, length)

    def number(self, length: int) -> int:
        """Return how many windows there are."""
        return len(self._ends)

    def _places(self) -> Labels:
        """Return one past the last token of each window, spread evenly over all there are, (B,).

        Raises:
            RequestError: if none may reach across the end of a text, and all texts are shorter.
        """
        longest, contents = max(self.lengths), self.described.contents
        ends_D = self.own.ends if contents.within else self.own.ends[-1:]
        starts_D = np.concatenate([[0], ends_D[:-1]])
        places_D = np.maximum(ends_D - starts_D - longest + 1, 0)
        every = int(places_D.sum())
        if not every:
            raise RequestError(
                f"{self.described.path}: no {self.split} text has {longest} tokens, and windows "
                "are within one (lengths, within)"
            )
        count = min(contents.windows, every)
        nth_B = np.arange(count) * every // count
        text_B = np.searchsorted(np.cumsum(places_D), nth_B, side="right")
        first_B = (np.cumsum(places_D) - places_D)[text_B]
        ends_B: Labels = starts_D[text_B] + longest + nth_B - first_B
        return ends_B


def build_tiny() -> TextCorpus:
    """Return a corpus of a few pages, our own, to try things out on."""
    path = Path(__file__).parent / "tiny" / "tiny.yaml"
    return TextCorpus(CorpusDescription.of(path, read_yaml(path)))
