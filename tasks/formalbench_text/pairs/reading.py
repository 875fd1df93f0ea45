"""Reading texts and translations, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from formalbench import RequestError

from formalbench_text.documents import lines_of

Place = tuple[Path, str | None]
"""A file, and the SHA-256 that it must have; None for any."""


def pairs_of(source: Place, target: Place, *, skip_empty: bool) -> Iterator[tuple[str, str]]:
    """Return texts and their translations, without the white space around them.

    Args:
        source: the texts, one a line.
        target: their translations.
        skip_empty: whether pairs of which one is empty are left out; else they are refused.

    Raises:
        RequestError: one line that names the file and the line in it.
    """
    count = 0
    for one, other in zip_longest(lines_of(*source), lines_of(*target)):
        if one is None or other is None:
            number = (one or other or (0, ""))[0]
            longer, shorter = (source, target) if other is None else (target, source)
            raise RequestError(
                f"{longer[0]}:{number}: it has no partner: {shorter[0]} ends with line {number - 1}"
            )
        (number, text), (_, translation) = one, other
        pair = text.strip(), translation.strip()
        if all(pair):
            count += 1
            yield pair
        elif not skip_empty:
            empty = target if pair[0] else source
            raise RequestError(f"{empty[0]}:{number}: an empty line, which cannot be tested on")
    if not count:
        raise RequestError(f"{source[0]}: no text in it")
