"""The value of an option: what is known of it, and how its text is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict

from formalbench.contracts.errors import RequestError

MAX_TEXT = 200
"""Characters of an option's text; a record keeps it."""


class OptionFacts(TypedDict):
    """What `formalbench show` tells of an option."""

    default: Any
    help: str
    choices: tuple[Any, ...]
    minimum: float | None
    maximum: float | None


OptionTable = Mapping[str, OptionFacts]
"""The options of something, by key."""


def parse_value(where: str, text: str, option: OptionFacts) -> Any:
    """Parse an option's value by the type of its default.

    Raises:
        RequestError: if it has another type or is not allowed.
    """
    default = option["default"]
    value: Any
    try:
        if isinstance(default, bool):
            value = {"true": True, "false": False}[text.lower()]
        elif isinstance(default, int):
            value = int(text)
        elif isinstance(default, float):
            value = _finite(text)
        elif isinstance(default, tuple):
            value = tuple(_finite(part) for part in text.strip("[]() ").split(","))
        else:
            value = _text(where, text)
    except (ValueError, KeyError):
        kinds = {
            bool: "true or false",
            int: "a whole number",
            float: "a number",
            tuple: "numbers with commas between them",
        }
        raise RequestError(f"{where}: must be {kinds[type(default)]}") from None
    _check_allowed(where, value, option)
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _text(where: str, text: str) -> str:
    if len(text) > MAX_TEXT or not text.isprintable():
        raise RequestError(f"{where[:80]}…: must be at most {MAX_TEXT} printable characters")
    return text


def _check_allowed(where: str, value: Any, option: OptionFacts) -> None:
    if option["choices"] and value not in option["choices"]:
        raise RequestError(f"{where}: must be one of {', '.join(map(str, option['choices']))}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        least, most = option["minimum"], option["maximum"]
        if least is not None and value < least:
            raise RequestError(f"{where}: must be at least {least:g}")
        if most is not None and value > most:
            raise RequestError(f"{where}: must be at most {most:g}")
