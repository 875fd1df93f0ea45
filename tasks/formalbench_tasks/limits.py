"""How large things may get, so that a slip is one line and not an hour or all of the memory."""

from __future__ import annotations

from formalbench.contracts.errors import RequestError

MOST_SYMBOLS = 500
"""Of an alphabet in a file."""

MOST_STATES = 10_000
"""Of an automaton in a file, or of the minimal one of a regular expression."""

MOST_TRANSITIONS = 1_000_000
"""States times symbols, of an automaton in a file of its own."""

MOST_BYTES = 50_000_000
"""Of such a file."""

MOST_CHARACTERS = 10_000
"""Of a regular expression."""

LONGEST_SPLIT = 100_000
"""The longest string that a YAML file may train or test on."""

LONGEST = 10_000_000
"""The longest string that is drawn or counted."""


def check_length(length: int) -> None:
    """Refuse strings that nobody can wait for.

    Raises:
        RequestError: if they are longer than `LONGEST`.
    """
    if length > LONGEST:
        raise RequestError(f"strings of length {length} are too long: at most {LONGEST}")
