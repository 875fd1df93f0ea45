"""Finds texts that occur in several splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from formalbench.cache import cached
from formalbench.contracts.source import Split

from formalbench_text.description import SPLITS, TextDescription

PAIRS: tuple[tuple[Split, Split], ...] = (
    ("test", "train"),
    ("test", "validation"),
    ("validation", "train"),
)
"""Splits that are compared: texts of the first must not stand in the second."""

NAMES = {"train": "training", "validation": "validation", "test": "test"}


def shared_texts(described: TextDescription, parts: Mapping[Split, str]) -> str:
    """Return how many texts of the test and the validation stand in another split.

    Texts that differ in white space only are the same. They are compared once and the counts
    are cached.

    Args:
        described: the corpus.
        parts: the part of it that has the texts of each split.

    Returns:
        One line; empty if all texts are in one split.
    """
    counts = cached(["shared texts", described.key], lambda: _counts(described, parts))
    return "; ".join(
        f"{shared:,} of {total:,} {NAMES[one]} texts are {NAMES[other]} texts, too"
        for (one, other), (shared, total) in zip(PAIRS, counts, strict=True)
        if shared
    )


def _counts(described: TextDescription, parts: Mapping[Split, str]) -> list[tuple[int, int]]:
    """Return of each of `PAIRS` the texts of the first that are in the second, and all."""
    held_out = {split: [*_digests(described, parts[split])] for split in SPLITS[1:]}
    wanted = {digest for digests in held_out.values() for digest in digests}
    trained = {digest for digest in _digests(described, parts["train"]) if digest in wanted}
    seen = {"train": trained, "validation": {*held_out["validation"]}}
    return [
        (sum(digest in seen[other] for digest in held_out[one]), len(held_out[one]))
        for one, other in PAIRS
    ]


def _digests(described: TextDescription, part: str) -> Iterator[bytes]:
    """Give a digest of the words of each text."""
    digest = hashlib.sha256()
    for piece in described.pieces(part):
        if piece is None:
            yield digest.digest()
            digest = hashlib.sha256()
        elif words := piece.split():
            digest.update((" ".join(words) + " ").encode())
