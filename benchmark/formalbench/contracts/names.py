"""Names and name patterns: ``parity``, ``dyck-{k}-{D}``, ``parity:tag``."""

from __future__ import annotations

import re
from functools import lru_cache

from formalbench.contracts.errors import RequestError

_FIELD = re.compile(r"\{([A-Za-z]\w*)\}")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_name(name: str) -> None:
    """Check that a spec's name is lower case with hyphens (and fields).

    Raises:
        ValueError: if it is not.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(_FIELD.sub("0", name)) or len(name) > 64:
        raise ValueError(f"bad name {name!r}: lower case letters, digits and hyphens only")
    fields = _FIELD.findall(name)
    if len(set(fields)) < len(fields):
        raise ValueError(f"bad name {name!r}: a field occurs twice")


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    parts = _FIELD.split(name)
    # split() gives text, field, text, field, …
    text = "".join(
        f"(?P<{part}>0|[1-9][0-9]{{0,5}})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    return re.compile(text)


def match_name(pattern: str, name: str) -> dict[str, int] | None:
    """Return the integer fields of `name` if it fits the pattern, else None.

    Example:
        >>> match_name("dyck-{k}-{D}", "dyck-2-3")
        {'k': 2, 'D': 3}
    """
    match = _pattern(pattern).fullmatch(name)
    return {key: int(value) for key, value in match.groupdict().items()} if match else None


def field_names(pattern: str) -> list[str]:
    """Return the names of a pattern's fields.

    Example:
        >>> field_names("dyck-{k}-{D}")
        ['k', 'D']
    """
    return _FIELD.findall(pattern)


def fill_fields(pattern: str, value: int) -> str:
    """Return the pattern's name in which every field is `value`.

    Example:
        >>> fill_fields("dyck-{k}-{D}", 2)
        'dyck-2-2'
    """
    return _FIELD.sub(str(value), pattern)


def split_task(name: str) -> tuple[str, str]:
    """Split ``language:objective``; the objective is empty if not given."""
    language, colon, objective = name.partition(":")
    if colon and not objective:
        raise RequestError(f"task {name!r} ends in a colon: name an objective, as in parity:tag")
    return language, objective
