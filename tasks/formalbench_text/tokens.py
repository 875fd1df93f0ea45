"""What is made of a corpus once and cached: its tokens on disk, memory-mapped; repeated texts.

A folder of the cache holds, for each part (a split), the ids of all tokens (``train.ids``; the
greatest says that a text ends) and where each text ends (``train.ends``), the tokeniser if it is a
learned one, and a file with the SHA-256 of each.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from formalbench import RequestError
from formalbench.cache import cached, place_of, temporary_folder
from formalbench.contracts.source import Split

from formalbench_text.description import SPLITS, TextDescription
from formalbench_text.reading import Pieces, batched, digest_of
from formalbench_text.tokenisers import Ids, Tokeniser, tokeniser_of

SEAL = "seal.json"
SAVED = "tokeniser.json"


@dataclass(frozen=True)
class PartTokens:
    """The tokens of a part, as of a split.

    Attributes:
        ids: (T,) of all texts, one after another, each with the end of a text behind it.
        ends: (D,) where each text ends: one past its end's id.
    """

    ids: Ids
    ends: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tokens:
    """The tokens of a corpus.

    Attributes:
        size: how many tokens the tokeniser has; the end of a text is the next id.
        parts: by the names that the description has for them.
        tokeniser: the file that it is saved in, if it is a learned one.
    """

    size: int
    parts: dict[str, PartTokens]
    tokeniser: Path


@lru_cache(maxsize=4)
def tokens_of(described: TextDescription) -> Tokens:
    """Return the tokens of a corpus: from the cache, or made of its files.

    Raises:
        RequestError: one line, if a file is invalid; nothing is cached then.
    """
    key = described.key
    place = place_of("corpora", key)
    if (tokens := _opened(place, key, described.parts)) is not None:
        return tokens
    room = temporary_folder("corpora-being-made")
    whole = Path(room.name) / "whole"
    try:
        _make(described, whole, key)
        place = _moved(whole, place, partial(_opened, place, key, described.parts))
        tokens = _opened(place, key, described.parts)
    except OSError as error:
        raise RequestError(f"{described.path}: cannot save its tokens: {error.strerror}") from None
    finally:
        if place == whole:  # it stays while this process needs it
            atexit.register(room.cleanup)
        else:
            room.cleanup()
    if tokens is None:
        raise RequestError(
            f"{place}: the tokens of {described.path} changed while they were written"
        )
    return tokens


def _moved(whole: Path, place: Path, opened: Callable[[], Tokens | None]) -> Path:
    """Move a folder into the cache, unless a faster process has written the same one there.

    Returns:
        Where the folder is, also if the cache cannot be written to.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and opened() is None:
            shutil.rmtree(place)
        return whole.rename(place)  # fails if a faster process was there
    except OSError:
        return whole if opened() is None else place


def _make(described: TextDescription, whole: Path, key: str) -> None:
    whole.mkdir()
    tokeniser = tokeniser_of(described)
    dtype = np.min_scalar_type(tokeniser.size)
    for part in described.parts:
        with (whole / f"{part}.ids").open("wb") as file:
            ends = _write(described.pieces(part), tokeniser, dtype, file)
        np.array(ends, dtype="<i8").tofile(whole / f"{part}.ends")
    (whole / SAVED).write_text(tokeniser.saved, encoding="utf-8")
    files = {file.name: digest_of(file) for file in sorted(whole.iterdir())}
    facts = {"key": _hash(key), "size": tokeniser.size, "dtype": dtype.str, "files": files}
    (whole / SEAL).write_text(json.dumps(facts, sort_keys=True), encoding="utf-8")


def _write(
    pieces: Pieces, tokeniser: Tokeniser, dtype: np.dtype[Any], file: BinaryIO
) -> array[int]:
    """Write the ids of texts; return where each text ends."""
    ends, written = array("q"), 0
    end = np.array([tokeniser.size], dtype=dtype)
    for some in batched(pieces):
        encoded = iter(tokeniser.encode([piece for piece in some if piece is not None]))
        for piece in some:
            ids = end if piece is None else next(encoded).astype(dtype)
            file.write(ids.tobytes())
            written += len(ids)
            if piece is None:
                ends.append(written)
    return ends


def _opened(folder: Path, key: str, names: Sequence[str]) -> Tokens | None:
    """Return what a folder holds; None if it is not there, or not what was written."""
    try:
        facts = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        if facts["key"] != _hash(key):
            return None
        if any(digest_of(folder / name) != sha256 for name, sha256 in facts["files"].items()):
            return None
        parts = {name: _mapped(folder, name, facts["dtype"]) for name in names}
        return Tokens(int(facts["size"]), parts, folder / SAVED)
    except (OSError, RequestError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _mapped(folder: Path, name: str, dtype: str) -> PartTokens:
    ids = np.memmap(folder / f"{name}.ids", dtype=dtype, mode="r")
    return PartTokens(ids, np.fromfile(folder / f"{name}.ends", dtype="<i8"))


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


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
