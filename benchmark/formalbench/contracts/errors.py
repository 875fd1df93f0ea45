"""Errors that are shown as one line; suggestions of names; missing packages."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

A = TypeVar("A")

T = TypeVar("T")


class FormalbenchError(Exception):
    """An error that is shown as one line, never as a traceback."""

    exit_code = 1


class RequestError(FormalbenchError):
    """A bad request: a name, an option or a file that cannot be used (exit 2)."""

    exit_code = 2


class UnwritableError(RequestError):
    """A file cannot be written on this machine."""


class MissingPackageError(RequestError):
    """A package of an optional extra is not installed."""


class BrokenPluginError(FormalbenchError):
    """A Python plugin named by the command cannot be used (exit 3)."""

    exit_code = 3


class ReaderLeftError(BrokenPipeError):
    """The reader of standard output has closed it (``| head``)."""


PLUGIN_FAILURES = (Exception, SystemExit)
"""Exceptions of a plugin's code that do not end the program.

`SystemExit` is one of them, so ``sys.exit`` in a plugin does not end the command.
"""

MOST_SHOWN = 60
"""Maximum characters of a wrong value in an error message."""

PLAIN = {
    "Field required": "is missing",
    "Input should be": "must be",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid tuple": "a list",
}
"""pydantic's wording and a shorter one."""

MOST_NAMED = 12
"""Maximum number of valid names in an error message, if a command can list them."""


def nearest(word: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """Return the names in `known` that are most similar to `word`, ignoring case, best first."""
    lower = word.casefold()
    names = {name.casefold(): name for name in sorted(set(known), reverse=True)}
    if lower in names:
        return [names[lower]]
    close = difflib.get_close_matches(lower, sorted(names), n=count, cutoff=0.5)
    return [names[name] for name in close]


def unknown(
    kind: str,
    word: str,
    known: Iterable[str],
    listing: str = "",
    called: Sequence[str] = (),
) -> RequestError:
    """Build the error for an unknown name, with the nearest valid names.

    Args:
        kind: kind of the named thing, such as ``task``.
        word: the unknown name.
        known: valid names.
        listing: a command that lists them, if there may be many.
        called: valid names that have `word` as a keyword.
    """
    names = sorted(set(known))
    close = list(called) or nearest(word, names)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    elif listing and len(names) > MOST_NAMED:
        hint = f"`{listing}` lists all {len(names)}"
    else:
        hint = f"known: {', '.join(names)}" if names else "there is none"
    return RequestError(f"unknown {kind} {word!r}: {hint}")


def each(ask: Callable[[A], T], asked: Iterable[A]) -> list[T]:
    """Apply a function to each item and raise all `RequestError`s as one."""
    answers: list[T] = []
    problems: dict[str, None] = {}
    for item in asked:
        try:
            answers.append(ask(item))
        except RequestError as error:
            problems.setdefault(str(error))
    if problems:
        raise RequestError("; ".join(problems))
    return answers


def check_text(argument: str, value: object) -> None:
    """Check that an argument, which callers in Python can pass anything for, is text."""
    if not isinstance(value, str):
        raise RequestError(f"{argument} is of type {type(value).__name__}: pass a name")


def one_line(error: ValidationError, *, values: bool = False) -> str:
    """Return pydantic's first problem as one line: place and message.

    Args:
        error: pydantic's error.
        values: whether to show the wrong value, cut to `MOST_SHOWN` characters.
    """
    problem = error.errors(include_url=False)[0]
    place, value = ".".join(map(str, problem["loc"])), problem["input"]
    if place and values and isinstance(value, bool | int | float | str):
        place += f"={value}" if len(str(value)) <= MOST_SHOWN else f"={value!s:.{MOST_SHOWN}}…"
    message = plainer(problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "literal_error":
        choices = re.findall("'([^']*)'", problem["ctx"]["expected"])
        close = nearest(str(value)[:MOST_SHOWN], choices) if len(choices) > MOST_NAMED else []
        message = f"did you mean {' or '.join(close)}?" if close else message
    more = error.error_count() - 1
    text = f"{place}: {message}" if place else message
    return " ".join(text.split()) + (f" (and {more} more)" if more else "")


def plainer(message: str) -> str:
    """Return pydantic's message in shorter words."""
    message = message.partition(", unable to ")[0]
    for words, plain in PLAIN.items():
        message = message.replace(words, plain)
    return message


def need_package(asked: str, package: str, extra: str) -> None:
    """Raise an error if an optional package is not installed.

    Args:
        asked: the option that needs it, as the user wrote it, such as ``--tracker wandb``.
        package: import name.
        extra: the extra that installs it.

    Raises:
        MissingPackageError: saying what to install.
    """
    if find_spec(package) is None:
        raise MissingPackageError(
            f"{asked} needs the package {package}: pip install 'formalbench[{extra}]'"
        )
