"""Limits of sizes, so that a mistake is an error instead of an hour or all of the memory."""

from __future__ import annotations

from formalbench.contracts.errors import RequestError

MOST_SYMBOLS = 500
"""Maximum symbols of an alphabet in a file."""

MOST_STATES = 10_000
"""Maximum states of an automaton in a file or of a regular expression's minimal automaton."""

MOST_TRANSITIONS = 1_000_000
"""Maximum states times symbols of an automaton in a separate file."""

MOST_BYTES = 50_000_000
"""Maximum bytes of such a file."""

MOST_CHARACTERS = 10_000
"""Maximum characters of a regular expression."""

LONGEST_SPLIT = 100_000
"""Maximum string length in a YAML file's splits."""

LONGEST = 10_000_000
"""Maximum length of strings that are sampled or counted."""


def check_length(length: int) -> None:
    """Check that strings are not too long.

    Raises:
        RequestError: if they are longer than `LONGEST`.
    """
    if length > LONGEST:
        raise RequestError(f"strings of length {length} are too long: at most {LONGEST}")
