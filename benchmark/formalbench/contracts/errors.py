"""Errors that users see in one line; nearest names; packages that are not installed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TypeVar

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
