"""Which records an audit does again: drawn at random, so that nobody knows before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from formalbench.contracts.errors import RequestError
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.store import read_record


def how_many(text: str, option: str) -> int | None:
    """Return how many records ``N`` or ``all`` asks for; None for all.

    Raises:
        RequestError: for anything else.
    """
    if text == "all":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RequestError(f"{option} {text}: a number of records, or all")
    return int(text)


def drawn(
    files: Iterable[Path], seed: int, runs: int | None, verifications: int | None
) -> frozenset[Path]:
    """Draw the records to do again: each set of as many is as likely.

    Args:
        files: of records; what is none is left out.
        seed: the same one, the same draw.
        runs: how many learned models to train again; None for all.
        verifications: how many to carry out again; None for all.
    """
    learned, verified = [], []
    for file, record in read_drawn(sorted(files)).items():
        if isinstance(record, VerificationRecord):
            verified.append(file)
        elif record.model.kind == "learned":
            learned.append(file)
    chosen = (_some(learned, runs, (seed, 0)), _some(verified, verifications, (seed, 1)))
    return frozenset(chosen[0]).union(chosen[1])


def _some(files: Sequence[Path], wanted: int | None, seed: tuple[int, int]) -> list[Path]:
    import numpy as np

    if wanted is None or wanted >= len(files):
        return list(files)
    places = np.random.default_rng(seed).choice(len(files), size=wanted, replace=False)
    return [files[place] for place in sorted(places)]


def read_drawn(files: Iterable[Path]) -> dict[Path, AnyRecord]:
    """Read records that may be drawn; of what is none the audit itself says why."""
    found = {}
    for file in files:
        with contextlib.suppress(RequestError):
            found[file] = read_record(file)
    return found
