"""What a check demands of a plugin."""

from __future__ import annotations


class BrokenPromiseError(AssertionError):
    """A check found something wrong."""


def demand(holds: object, problem: str) -> None:
    """Raise `BrokenPromiseError` unless `holds`.

    Args:
        holds: anything with a truth.
        problem: one line that says what is wrong.
    """
    if not holds:
        raise BrokenPromiseError(problem)
