"""From text to tokens: bytes, or what the library `tokenizers` makes of text.

Text is encoded line by line, so that no text is too long to be held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from formalbench import RequestError
from formalbench.cache import place_of, read_sealed, write_sealed

from formalbench_text.description import TextDescription, TokeniserChoice
from formalbench_text.reading import batched
from formalbench_text.reading import opened as opened_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN = "<unk>"

CACHED = "tokenisers"
"""Their folder in the cache."""

MOST_UNKNOWN = 0.1
"""The share of tokens that a tokeniser from a file may not know."""

Ids = npt.NDArray[Any]


class Bytes:
    """Every byte of UTF-8 is a token.

    Attributes:
        size: how many tokens there are.
        saved: it as text; empty, since it needs none.
    """

    size = 256
    saved = ""

    def encode(self, lines: Sequence[str]) -> list[Ids]:
        """Return the ids of the tokens of each line."""
        return [np.frombuffer(line.encode(), dtype=np.uint8) for line in lines]

    def decode(self, lines: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each line; what is no text is shown as U+FFFD."""
        return [bytes(map(int, line)).decode(errors="replace") for line in lines]


class LibraryTokeniser:
    """A tokeniser of the library."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.size = tokenizer.get_vocab_size()
        self.saved = tokenizer.to_str()
        model = tokenizer.model
        self.unknown = tokenizer.token_to_id(getattr(model, "unk_token", None) or UNKNOWN)

    def encode(self, lines: Sequence[str]) -> list[Ids]:
        """Return the ids of the tokens of each line."""
        encodings = self._tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)
        return [np.array(one.ids, dtype=np.uint32) for one in encodings]

    def decode(self, lines: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each line."""
        texts = self._tokenizer.decode_batch([list(map(int, line)) for line in lines])
        return [str(text) for text in texts]


Tokeniser = Bytes | LibraryTokeniser


def tokeniser_of(described: TextDescription) -> Tokeniser:
    """Return the tokeniser of a corpus, trained on its training part if it is not from a file.

    Raises:
        RequestError: one line, if it is not the one that the description names.
    """
    choice = described.tokeniser
    if choice.kind == "bytes":
        return Bytes()
    if choice.kind == "file":
        assert choice.file
        return _from_file(described.path.parent / choice.file, choice.sha256, described)
    tokeniser = _cached(described) or _trained(described)
    digest = hash_of(tokeniser)
    if choice.sha256 not in (None, digest):
        raise RequestError(
            f"{described.path}: tokeniser: a tokeniser of another corpus, or of another version of "
            f"tokenizers: trained on these texts it is {digest}, and not {choice.sha256}"
        )
    return tokeniser


def keep(described: TextDescription, made: Tokeniser) -> None:
    """Cache a tokeniser for later use with the same texts.

    Args:
        described: names all checksums, and so the texts that it was trained on.
        made: it.
    """
    write_sealed(place_of(CACHED, described.key), described.key, made.saved.encode())


def _cached(described: TextDescription) -> LibraryTokeniser | None:
    """Return the tokeniser that was kept for a description; None if none was."""
    contents = read_sealed(place_of(CACHED, described.key), described.key)
    return (
        None if contents is None else LibraryTokeniser(_library().Tokenizer.from_buffer(contents))
    )


def opened(choice: TokeniserChoice, saved: Path) -> Tokeniser:
    """Return a tokeniser that was saved as it is here.

    Args:
        choice: its kind.
        saved: the file that holds it, if it is a learned one.
    """
    if choice.kind == "bytes":
        return Bytes()
    return LibraryTokeniser(_library().Tokenizer.from_file(str(saved)))


def names_of(choice: TokeniserChoice, size: int) -> tuple[str, ...]:
    """Return tokens as they are shown: bytes as they are, others by their numbers.

    Words of a text must not be displayed, and learned tokens consist of them.
    """
    if choice.kind != "bytes":
        return tuple(map(str, range(size)))
    return tuple(chr(b) if 0x20 < b < 0x7F else f"x{b:02x}" for b in range(size))


def hash_of(tokeniser: Tokeniser) -> str:
    """Return the SHA-256 of a tokeniser as text."""
    return hashlib.sha256(tokeniser.saved.encode()).hexdigest()


def _trained(described: TextDescription) -> LibraryTokeniser:
    library = _library()
    choice = described.tokeniser
    options = {"vocab_size": choice.vocabulary, "show_progress": False}
    if choice.kind == "bpe":
        byte_level = library.pre_tokenizers.ByteLevel
        tokenizer = library.Tokenizer(library.models.BPE())
        tokenizer.pre_tokenizer = byte_level(add_prefix_space=False)
        tokenizer.decoder = library.decoders.ByteLevel()
        every = sorted(byte_level.alphabet())
        trainer = library.trainers.BpeTrainer(initial_alphabet=every, **options)
    else:
        tokenizer = library.Tokenizer(library.models.WordLevel(unk_token=UNKNOWN))
        tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
        trainer = library.trainers.WordLevelTrainer(special_tokens=[UNKNOWN], **options)
    tokenizer.train_from_iterator(in_batches(described), trainer)
    return LibraryTokeniser(tokenizer)


def in_batches(described: TextDescription) -> Iterator[list[str]]:
    """Return the lines of the training part, many at a time."""
    for some in batched(chain.from_iterable(map(described.pieces, described.trained))):
        yield [piece for piece in some if piece is not None]


def _from_file(path: Path, sha256: str | None, described: TextDescription) -> LibraryTokeniser:
    library = _library()
    with opened_file(path, sha256) as file:
        contents = file.read()
    try:
        tokeniser = LibraryTokeniser(library.Tokenizer.from_buffer(contents))
    except Exception as error:  # noqa: BLE001  # the library raises this and nothing narrower
        line = " ".join(str(error).split())
        raise RequestError(f"{path}: no tokeniser of the library tokenizers: {line}") from None
    _check_known(path, tokeniser, described)
    return tokeniser


def _check_known(path: Path, tokeniser: LibraryTokeniser, described: TextDescription) -> None:
    """Refuse a tokeniser that does not know the language of the texts."""
    ids = np.concatenate(tokeniser.encode(next(in_batches(described))))
    unknown = 0.0 if tokeniser.unknown is None else float((ids == tokeniser.unknown).mean())
    if not len(ids) or unknown > MOST_UNKNOWN:
        raise RequestError(
            f"{path}: a tokeniser of another corpus: it does not know {unknown:.0%} of the tokens "
            f"of {described.path}"
        )


def _library() -> Any:
    try:
        import tokenizers
        import tokenizers.decoders
        import tokenizers.models
        import tokenizers.pre_tokenizers
        import tokenizers.trainers
    except ImportError:
        raise RequestError(
            "tokenisers other than bytes need the library tokenizers: "
            "pip install 'formalbench[text]'"
        ) from None
    return tokenizers
