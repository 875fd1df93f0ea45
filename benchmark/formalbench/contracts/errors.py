"""Errors that users see in one line; nearest names; packages that are not installed."""

from __future__ import annotations

import difflib
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
    """A file that cannot be written here; another machine may have room."""


class MissingPackageError(RequestError):
    """A package that an extra of the distribution installs, and that is not installed."""


class BrokenPluginError(FormalbenchError):
    """A Python plugin that the command names cannot be used (exit 3)."""

    exit_code = 3


class ReaderLeftError(BrokenPipeError):
    """Nobody reads standard output any more (``| head``), which is no fault of who writes to it."""


PLUGIN_FAILURES = (Exception, SystemExit)
"""Exceptions of a plugin's code that do not end the program.

`SystemExit` is one of them, so ``sys.exit`` in a plugin does not end the command.
"""

MOST_SHOWN = 60
"""Characters of a wrong value in an error."""

PLAIN = {
    "Input should be": "must be",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid tuple": "a list",
}
"""Words of pydantic, and shorter ones."""

MOST_NAMED = 12
"""Right names in an error, where a command shows them as well."""


def nearest(word: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """Return the names of `known` that look most like `word`, best first; case is ignored."""
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
    """Build the error for a name that nobody registered, naming the nearest right ones.

    Args:
        kind: what the name is of, as ``task``.
        word: the name.
        known: the right ones.
        listing: a command that shows them, where they may be many.
        called: those of them that people also call by this word.
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
    """Apply a function to each item; all errors are raised as one.

    Raises:
        RequestError: one line.
    """
    answers: list[T] = []
    problems: dict[str, None] = {}
    for one in asked:
        try:
            answers.append(ask(one))
        except RequestError as error:
            problems.setdefault(str(error))
    if problems:
        raise RequestError("; ".join(problems))
    return answers


def one_line(error: ValidationError, *, values: bool = False) -> str:
    """Return the first problem that pydantic found as one line: where it is, and what is wrong.

    Args:
        error: with all problems.
        values: whether the wrong value is shown, if it is short.
    """
    problem = error.errors(include_url=False, include_context=False)[0]
    place, value = ".".join(map(str, problem["loc"])), problem["input"]
    if place and values and isinstance(value, bool | int | float | str):
        place += f"={value}" if len(str(value)) <= MOST_SHOWN else f"={value!s:.{MOST_SHOWN}}…"
    told = problem["msg"].removeprefix("Value error, ")
    if values:
        told = plainer(told)
    more = error.error_count() - 1
    text = f"{place}: {told}" if place else told
    return " ".join(text.split()) + (f" (and {more} more)" if more else "")


def plainer(message: str) -> str:
    """Return what pydantic says in shorter words."""
    message = message.partition(", unable to ")[0]
    for words, plain in PLAIN.items():
        message = message.replace(words, plain)
    return message


def need_package(asked: str, package: str, extra: str) -> None:
    """Raise an error if an optional package is not installed.

    Args:
        asked: the option that needs it, as the user wrote it: ``--tracker wandb``.
        package: the name it is imported by.
        extra: what installs it.

    Raises:
        MissingPackageError: saying what to install.
    """
    if find_spec(package) is None:
        raise MissingPackageError(
            f"{asked} needs the package {package}: pip install 'formalbench[{extra}]'"
        )
