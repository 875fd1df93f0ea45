"""Options from `--set` and `name[key=value]`, and sweeps over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args, get_origin

from formalbench.contracts.errors import BrokenPluginError, RequestError, unknown

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


if TYPE_CHECKING:
    from formalbench.contracts.config import Config, Value
    from formalbench.contracts.specs import (
        ExecutorSpec,
        ModelSpec,
        OptimiserSpec,
        SamplerSpec,
        ScheduleSpec,
        TaskSpec,
        TrackerSpec,
    )

    Configured = (
        TaskSpec
        | ModelSpec
        | OptimiserSpec
        | ScheduleSpec
        | SamplerSpec
        | ExecutorSpec
        | TrackerSpec
    )


SCOPES = ("model", "task", "protocol", "executor", "tracker")
"""What `--set` can mean."""


ABOUT_NO_RUN = ("executor", "tracker")
"""Those that say nothing of what is run: a bare key never means one, nor is a list a sweep."""


class Setting(NamedTuple):
    """One ``--set``.

    Attributes:
        scope: one of `SCOPES`; empty if only the key was written.
        key: of the option; of a protocol it may have dots, as in ``test.strings``.
        text: its value, not parsed yet.
    """

    scope: str
    key: str
    text: str


Settings = tuple[Setting, ...]
"""What the user set."""


def parse_settings(texts: Sequence[str], scopes: Sequence[str] = SCOPES) -> Settings:
    """Parse ``model.chunk=3``, ``protocol.test.strings=64`` and bare ``chunk=3``.

    Args:
        texts: what was given with ``--set``.
        scopes: those that the command knows.

    Raises:
        RequestError: for anything else, or a key set twice.
    """
    settings: list[Setting] = []
    for text in texts:
        name, equals, value = text.partition("=")
        scope, dot, key = name.strip().partition(".")
        scope, key = (scope, key) if dot else ("", scope)
        if not equals or not key or (dot and scope not in scopes):
            ways = ", ".join(f"{one}.key=value" for one in scopes)
            raise RequestError(f"--set {text}: write {ways} or key=value")
        setting = Setting(scope, key, value.strip())
        if any(_meet(setting, other) for other in settings):
            raise RequestError(f"--set {text}: {key} is set twice")
        settings.append(setting)
    return tuple(settings)


def _meet(one: Setting, other: Setting) -> bool:
    # A bare key and a scoped one could mean the same option, and one of them would lose.
    bare = "" in (one.scope, other.scope) and {one.scope, other.scope} <= {"", "model", "task"}
    return one.key == other.key and (one.scope == other.scope or bare)


def check_settings(
    settings: Settings, models: Sequence[OptionTable], tasks: Sequence[OptionTable]
) -> None:
    """Refuse a setting that no requested model or task has, or that a bare key leaves open.

    Those of a protocol, an executor or a tracker are checked where these are made.

    Args:
        settings: what the user set.
        models: the options of each requested model.
        tasks: the options of each requested task.
    """
    in_models = {key for options in models for key in options}
    in_tasks = {key for options in tasks for key in options}
    for scope, key, text in settings:
        if scope not in ("", "model", "task"):
            continue
        known = {"model": in_models, "task": in_tasks, "": in_models | in_tasks}[scope]
        if key not in known:
            raise unknown(f"{scope} option".strip(), key, known)
        if not scope and key in in_models and key in in_tasks:
            raise RequestError(
                f"--set {key}={text}: both model and task have {key}: "
                f"write model.{key}= or task.{key}="
            )


def check_set_once(
    settings: Settings, models: Mapping[str, OptionTable], tasks: Mapping[str, OptionTable]
) -> None:
    """Refuse a setting that could change nothing: whatever has the option has it in brackets.

    Args:
        settings: what the user set.
        models: the options of each requested model, by its name with what is in brackets.
        tasks: the options of each requested task, by its name.
    """
    for scope, key, text in settings:
        asked = {"model": [models], "task": [tasks], "": [models, tasks]}.get(scope, [])
        having = [name for tables in asked for name, table in tables.items() if key in table]
        if having and all(key in parse_instance(name)[1] for name in having):
            given = f"{scope}.{key}" if scope else key
            places = " and ".join(having)
            raise RequestError(f"--set {given}={text}: {key} is set twice, as well in {places}")


def chosen_options(
    scope: str, name: str, settings: Settings, options: OptionTable
) -> dict[str, Value]:
    """Return the options set for one model or task that differ from their defaults.

    Args:
        scope: ``model``, ``task``, ``executor`` or ``tracker``.
        name: of the model or task, for errors.
        settings: what the user set; keys it does not have are for others.
        options: the options it has.
    """
    owners = (scope,) if scope in ABOUT_NO_RUN else ("", scope)
    texts = {key: text for owner, key, text in settings if owner in owners and key in options}
    parsed = {
        key: parse_value(f"{name}: --set {key}={text}", text, options[key])
        for key, text in texts.items()
    }
    return _not_default(parsed, options)


def instance_options(name: str, texts: Mapping[str, str], options: OptionTable) -> dict[str, Value]:
    """Return the options written behind a name that differ from their defaults.

    Args:
        name: of the model or task, for errors.
        texts: as `parse_instance` gives them.
        options: the options it has.

    Raises:
        RequestError: for an option it does not have, or a value that is not allowed.
    """
    for key in texts:
        if key not in options:
            raise unknown(f"option of {name}", key, options)
    parsed = {
        key: parse_value(f"{name}[{key}={text}]", text, options[key]) for key, text in texts.items()
    }
    return _not_default(parsed, options)


def _not_default(values: Mapping[str, Value], options: OptionTable) -> dict[str, Value]:
    return {key: value for key, value in values.items() if value != options[key]["default"]}


def parse_instance(text: str) -> tuple[str, dict[str, str]]:
    """Split a name from the options written behind it.

    Raises:
        RequestError: if the brackets are not those of ``name[key=value,key=value]``.

    Example:
        >>> parse_instance("mine[width=32,layers=2]")
        ('mine', {'width': '32', 'layers': '2'})
    """
    name, bracket, inside = text.partition("[")
    if not bracket:
        return name.strip(), {}
    options: dict[str, str] = {}
    for pair in inside.removesuffix("]").split(","):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and inside.endswith("]") and equals and key) or "[" in pair:
            raise RequestError(f"{text!r}: write name[key=value,key=value]")
        if key in options:
            raise RequestError(f"{text!r}: {key} is set twice")
        options[key] = value
    return name.strip(), options


def split_list(text: str) -> list[str]:
    """Split at the commas that are outside brackets; what is empty is left out.

    Example:
        >>> split_list("a[x=1,y=2],b")
        ['a[x=1,y=2]', 'b']
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


# From a spec to its config.


def config_of(spec: Configured) -> tuple[type[Config] | None, dict[str, Value]]:
    """Return the config class of a spec, imported if need be, and the spec's own defaults.

    Raises:
        BrokenPluginError: if it cannot be used.
    """
    defaults = dict(getattr(spec, "defaults", {}))
    if spec.config is None:
        return None, defaults
    from formalbench.contracts.config import Config

    found: Any = spec.config
    if isinstance(found, str):
        module, _, attribute = found.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            problem = f"the config of {spec.name} cannot be loaded: {error}"
            raise BrokenPluginError(problem) from None
    if not (isinstance(found, type) and issubclass(found, Config)):
        raise BrokenPluginError(f"the config of {spec.name} is no formalbench.Config: {found!r}")
    for key in defaults:
        if key not in found.model_fields:
            raise BrokenPluginError(f"{spec.name} has a default for {key!r}, which is no option")
    return found, defaults


def option_facts(spec: Configured) -> dict[str, OptionFacts]:
    """Return what there is to set of a model, a task or the like."""
    config, defaults = config_of(spec)
    if config is None:
        return {}
    return {
        key: _facts(spec.name, key, field, defaults) for key, field in config.model_fields.items()
    }


def _facts(owner: str, key: str, field: Any, defaults: Mapping[str, Value]) -> OptionFacts:
    if field.is_required():
        raise BrokenPluginError(f"the config of {owner}: {key} has no default: use option(…)")
    default = defaults.get(key, field.get_default(call_default_factory=True))
    if field.annotation is float and isinstance(default, int):
        default = float(default)
    parts = default if isinstance(default, tuple) else (default,)
    if not isinstance(default, bool | int | float | str | tuple) or not all(map(_plain, parts)):
        raise BrokenPluginError(
            f"the config of {owner}: {key} must be a bool, int, finite float, str or a Literal of "
            f"these, and its default is {default!r}"
        )
    ends = {
        name: next((getattr(m, end) for m in field.metadata if _is_bound(m, end)), None)
        for name, end in (("minimum", "ge"), ("maximum", "le"))
    }
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return OptionFacts(
        default=default,
        help=field.description or "",
        choices=choices,
        minimum=ends["minimum"],
        maximum=ends["maximum"],
    )


def _is_bound(constraint: Any, end: str) -> bool:
    return hasattr(constraint, end) and math.isfinite(getattr(constraint, end))


def _plain(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def make_config(
    spec: Configured, options: Mapping[str, Any] | None = None, name: str = ""
) -> Config | None:
    """Return the config of a model, a task or the like.

    Args:
        spec: says which class, and the defaults.
        options: what is set.
        name: what it is called in errors; the spec's own if empty.

    Returns:
        None if there is nothing to set.

    Raises:
        RequestError: one line that says which option cannot be as it is.
    """
    from pydantic import ValidationError

    options, name = options or {}, name or spec.name
    config, defaults = config_of(spec)
    known = {} if config is None else config.model_fields
    for key in options:
        if key not in known:
            raise unknown(f"option of {name}", key, known)
    if config is None:
        return None
    try:
        return config(**{**defaults, **options})
    except ValidationError as error:
        raise RequestError(f"{name}: {_first_problem(error)}") from None


def _first_problem(error: Any) -> str:
    problem = error.errors(include_url=False)[0]
    cause = problem.get("ctx", {}).get("error")
    if cause is not None:  # what a validator raised says it best itself
        return " ".join(str(cause).split())
    place = ".".join(str(part) for part in problem["loc"])
    value = f"={problem['input']}" if isinstance(problem["input"], bool | int | float | str) else ""
    return " ".join(f"{place}{value}: {problem['msg']}".split())[:400]


def sweep(
    settings: Settings,
    models: Sequence[OptionTable],
    tasks: Sequence[OptionTable],
    takes_list: Callable[[str], bool],
) -> list[Settings]:
    """Return the settings of each group of runs: every combination of the values listed.

    Args:
        settings: what was set; a value may be several with commas between them, unless the
            option takes a text or a list itself.
        models: the options of each requested model.
        tasks: the options of each requested task.
        takes_list: says whether a key of a protocol may hold several values.
    """
    tables = {"model": models, "task": tasks, "": [*models, *tasks]}
    ways = [
        [setting._replace(text=text) for text in _values(setting, tables, takes_list)]
        for setting in settings
    ]
    return list(product(*ways))


def _values(
    setting: Setting,
    tables: Mapping[str, Sequence[OptionTable]],
    takes_list: Callable[[str], bool],
) -> list[str]:
    whole = [setting.text]
    if setting.scope in ABOUT_NO_RUN or "," not in setting.text:
        return whole
    if setting.scope == "protocol":
        if takes_list(setting.key):
            return whole
    elif any(
        _takes_commas(table[setting.key]) for table in tables[setting.scope] if setting.key in table
    ):
        return whole
    return list(dict.fromkeys(part.strip() for part in setting.text.split(",")))


def _takes_commas(option: Mapping[str, Any]) -> bool:
    default = option["default"]
    return isinstance(default, tuple) or (isinstance(default, str) and not option["choices"])


def changes_of(settings: Settings) -> dict[str, str]:
    """Return what is changed of the protocol, by dotted key."""
    return {key: text for scope, key, text in settings if scope == "protocol"}
