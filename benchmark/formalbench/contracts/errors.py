"""Errors that are shown as one line; suggestions of names; problems that pydantic finds."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar, get_args

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

A = TypeVar("A")

T = TypeVar("T")

M = TypeVar("M", bound="BaseModel")


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

MOST_PROBLEMS = 20
"""Maximum number of problems of a file in an error message."""

PLAIN = {
    r", unable to .*": "",
    r"^(Dictionary|Input|Keys|List|String|Tuple) should": "must",
    r"^Field required": "is missing",
    r"match pattern .*\(-\[a-z0-9\].*": "be lower-case letters, digits and single hyphens",
    r"match pattern '\^\[0-9a-f\]\{40\}.*": "be the 40 hexadecimal digits of a commit",
    r"greater than or equal to": "at least",
    r"less than or equal to": "at most",
    r"a valid integer": "a whole number",
    r"a valid number": "a number",
    r"a valid boolean": "true or false",
    r"a valid string": "text",
    r"a valid tuple": "a list",
    r"a valid dictionary( or instance of \w+)?": "a mapping",
    r" after validation": "",
}
"""pydantic's wording, as regular expressions, and a shorter one."""

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
        values: whether to show the wrong value.
    """
    more = error.error_count() - 1
    text = _problem_text(error.errors(include_url=False)[0], values)
    return text + (f" (and {more} more)" if more else "")


def validate(kind: type[M], data: Mapping[str, Any], place: object, context: Any = None) -> M:
    """Return the contents of a file as a class of pydantic.

    Args:
        kind: the class.
        data: the contents.
        place: the file, for messages.
        context: the context of the validation.

    Raises:
        RequestError: one line with all problems.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate(data, context=context)
    except ValidationError as error:
        raise RequestError(f"{place}: {'; '.join(problems_of(error, kind))}") from None


def problems_of(
    error: ValidationError, kind: type[BaseModel] | None = None, more_keys: Iterable[str] = ()
) -> list[str]:
    """Return all of pydantic's problems as one line each, unknown keys first.

    Args:
        error: pydantic's error.
        kind: the class of the contents, to name the nearest keys for an unknown one.
        more_keys: keys that the file may also have.
    """
    problems = error.errors(include_url=False)
    inside = {problem["loc"][:-1] for problem in problems}
    unknown_keys, others = [], []
    for problem in problems:
        if kind and problem["type"] == "extra_forbidden":
            unknown_keys.append(str(_unknown_key(problem["loc"], kind, more_keys)))
        # A list is no shorter for what is wrong with a part of it.
        elif problem["type"] != "too_short" or problem["loc"] not in inside:
            others.append(_problem_text(problem))
    texts = list(dict.fromkeys(unknown_keys + others))
    more = len(texts) - MOST_PROBLEMS
    return texts[:MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])


def plainer(message: str) -> str:
    """Return pydantic's message in shorter words."""
    for words, plain in PLAIN.items():
        message = re.sub(words, plain, message)
    return message


def _problem_text(problem: ErrorDetails, values: bool = True) -> str:
    """Return a problem as one line: ``test.strings=0: must be at least 1``."""
    value, fault = problem["input"], problem["type"]
    place = ".".join(str(part) for part in problem["loc"] if part != "[key]")
    message = plainer(problem["msg"].removeprefix("Value error, "))
    if fault == "literal_error":
        choices = re.findall("'([^']*)'", problem["ctx"]["expected"])
        close = nearest(str(value)[:MOST_SHOWN], choices) if len(choices) > MOST_NAMED else []
        message = f"did you mean {' or '.join(close)}?" if close else message
    elif fault == "string_type" and isinstance(value, bool | int | float):
        message += ": put it in quotes"
    if place and values and isinstance(value, bool | int | float | str):
        place += f"={_shown(value)}"
    return " ".join((f"{place}: {message}" if place else message).split())


def _shown(value: bool | float | str) -> str:
    """Format a wrong value, cut to `MOST_SHOWN` characters."""
    try:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    except ValueError:  # Python refuses to write a number of thousands of digits
        return "(a huge number)"
    text = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
    return text if text and text.isprintable() else repr(text)


def _unknown_key(
    place: Sequence[int | str], kind: type[BaseModel], more_keys: Iterable[str]
) -> RequestError:
    """Build the error for an unknown key, with keys of its name elsewhere or the nearest here."""
    *outer, last = map(str, place)
    part = kind
    for key in outer:
        if key in part.model_fields:
            part = next(_models(part.model_fields[key].annotation), part)
    known = [*part.model_fields, *(() if outer else more_keys)]
    here = [".".join((*outer, key)) for key in nearest(last, known, count=1)]
    elsewhere = [key for key in _keys(kind) if key.rpartition(".")[2] == last]
    return unknown("key", ".".join((*outer, last)), known, called=elsewhere or here)


def _keys(kind: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of a class's keys and of the keys of its parts."""
    for name, field in kind.model_fields.items():
        yield prefix + name
        for part in _models(field.annotation):
            yield from _keys(part, f"{prefix}{name}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the classes of pydantic in an annotation."""
    if hasattr(annotation, "model_fields"):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


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
