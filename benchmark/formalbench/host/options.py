"""Options: from ``--set key=value`` to typed values that a factory can take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.specs import Option, Value

MAX_TEXT = 200
"""Characters of an option's text; a record keeps it."""

Settings = tuple[tuple[str, str, str], ...]
"""What the user set: (scope, key, text), scope being ``model``, ``task`` or empty."""


def parse_settings(texts: Sequence[str]) -> Settings:
    """Parse ``model.chunk=3``, ``task.p=0.3`` and bare ``chunk=3``.

    Raises:
        RequestError: for anything else, or a key set twice.
    """
    settings: list[tuple[str, str, str]] = []
    for text in texts:
        name, equals, value = text.partition("=")
        scope, dot, key = name.strip().rpartition(".")
        if not equals or not key or (dot and scope not in ("model", "task")):
            raise RequestError(f"--set {text}: write model.key=value, task.key=value or key=value")
        # A bare key and a scoped one could mean the same option, and one of them would lose.
        if any(
            (key == name and "" in (scope, other)) or (scope, key) == (other, name)
            for other, name, _ in settings
        ):
            raise RequestError(f"--set {text}: {key} is set twice")
        settings.append((scope, key, value.strip()))
    return tuple(settings)


def check_settings(
    settings: Settings,
    models: Sequence[Mapping[str, Option]],
    tasks: Sequence[Mapping[str, Option]],
) -> None:
    """Refuse a setting that no requested model or task has, or that a bare key leaves open.

    Args:
        settings: what the user set.
        models: the options of each requested model.
        tasks: the options of each requested task.
    """
    in_models = {key for options in models for key in options}
    in_tasks = {key for options in tasks for key in options}
    for scope, key, text in settings:
        known = {"model": in_models, "task": in_tasks, "": in_models | in_tasks}[scope]
        if key not in known:
            raise unknown(f"{scope} option".strip(), key, known)
        if not scope and key in in_models and key in in_tasks:
            raise RequestError(
                f"--set {key}={text}: both model and task have {key}: "
                f"write model.{key}= or task.{key}="
            )


def chosen_options(
    scope: str, name: str, settings: Settings, options: Mapping[str, Option]
) -> dict[str, Value]:
    """Return the options set for one model or task that differ from their defaults.

    Args:
        scope: ``model`` or ``task``.
        name: of the model or task, for errors.
        settings: what the user set; keys it does not have are for others.
        options: the options it has.
    """
    chosen: dict[str, Value] = {}
    for owner, key, text in settings:
        if owner in ("", scope) and key in options:
            value = parse_value(f"{name}: --set {key}={text}", text, options[key])
            if value != options[key].default:
                chosen[key] = value
    return chosen


def complete_options(
    chosen: Mapping[str, Value], options: Mapping[str, Option]
) -> dict[str, Value]:
    """Return every option's value, chosen or default."""
    return {key: chosen.get(key, option.default) for key, option in options.items()}


def parse_value(where: str, text: str, option: Option) -> Value:
    """Parse an option's value by the type of its default.

    Raises:
        RequestError: if it has another type or is not allowed.
    """
    value: Value
    default = option.default
    try:
        if isinstance(default, bool):
            value = {"true": True, "false": False}[text.lower()]
        elif isinstance(default, int):
            value = int(text)
        elif isinstance(default, float):
            value = float(text)
            if not math.isfinite(value):
                raise ValueError
        else:
            value = text
            if len(text) > MAX_TEXT or not text.isprintable():
                raise RequestError(
                    f"{where[:80]}…: must be at most {MAX_TEXT} printable characters"
                )
    except (ValueError, KeyError):
        kinds = {bool: "true or false", int: "a whole number", float: "a number"}
        raise RequestError(f"{where}: must be {kinds[type(default)]}") from None
    if option.choices and value not in option.choices:
        raise RequestError(f"{where}: must be one of {', '.join(map(str, option.choices))}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if option.minimum is not None and value < option.minimum:
            raise RequestError(f"{where}: must be at least {option.minimum:g}")
        if option.maximum is not None and value > option.maximum:
            raise RequestError(f"{where}: must be at most {option.maximum:g}")
    return value
