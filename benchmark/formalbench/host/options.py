"""Options: parse `--set key=value` and `name[key=value]` into a plugin's `Config`; sweeps.

Every option is a field of a pydantic model, which parses and validates it. Text (``"32"`` from the
command line) and Python values (``32``) are treated alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args, get_origin

from formalbench.contracts.errors import BrokenPluginError, RequestError, one_line, unknown
from formalbench.contracts.specs import show_value

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

MAX_TEXT = 200
"""Maximum characters of a text option."""

SCOPES = ("model", "task", "protocol", "executor", "tracker")
"""Prefixes of ``--set``, as in ``--set model.width=32``."""

ABOUT_NO_RUN = ("executor", "tracker")
"""Scopes that affect no run's id: they need the prefix, and a list is not a sweep."""


# Settings.


class Setting(NamedTuple):
    """One ``--set``.

    Attributes:
        scope: one of `SCOPES`; empty if there was no prefix.
        key: the option's key; in a protocol it may have dots, as in ``test.strings``.
        value: text or a Python value; a list is a sweep.
    """

    scope: str
    key: str
    value: Any

    def __str__(self) -> str:
        name = f"{self.scope}.{self.key}" if self.scope else self.key
        return f"--set {name}={show_value(self.value)}"


Settings = tuple[Setting, ...]
"""All settings of the user."""


def parse_settings(texts: Sequence[str], scopes: Sequence[str] = SCOPES) -> Settings:
    """Parse ``model.chunk=3``, ``protocol.test.strings=64`` and bare ``chunk=3``."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise _not_a_setting(text, scopes)
        pairs.append((name.strip(), value.strip()))
    return settings_of(pairs, scopes)


def settings_of(pairs: Sequence[tuple[str, Any]], scopes: Sequence[str] = SCOPES) -> Settings:
    """Return settings from a mapping such as ``{"model.chunk": 3}``; see `parse_settings`."""
    settings: list[Setting] = []
    for name, value in pairs:
        scope, dot, key = name.partition(".")
        scope, key = (scope, key) if dot else ("", scope)
        if not key or (dot and scope not in scopes):
            raise _not_a_setting(f"{name}={show_value(value)}", scopes)
        setting = Setting(scope, key, value)
        if any(_same_option(setting, other) for other in settings):
            raise RequestError(f"{setting}: {key} is set twice")
        settings.append(setting)
    return tuple(settings)


def _not_a_setting(text: str, scopes: Sequence[str]) -> RequestError:
    ways = ", ".join(f"{scope}.key=value" for scope in scopes)
    return RequestError(f"--set {text}: write {ways} or key=value")


def _same_option(one: Setting, other: Setting) -> bool:
    scopes = {one.scope, other.scope}
    bare = "" in scopes and scopes <= {"", "model", "task"}  # only one of them could apply
    return one.key == other.key and (len(scopes) == 1 or bare)


def changes_of(settings: Settings) -> dict[str, Any]:
    """Return the changes of the protocol by dotted key."""
    return {setting.key: setting.value for setting in settings if setting.scope == "protocol"}


def parse_instance(text: str) -> tuple[str, dict[str, str]]:
    """Split a name from its options in brackets.

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
    """Split at commas outside brackets.

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
    return [part.strip() for part in parts]


# From a spec to its config.


class OptionFacts(TypedDict):
    """Description of an option in `formalbench show`."""

    default: Any
    help: str
    choices: tuple[Any, ...]
    minimum: float | None
    maximum: float | None


OptionTable = Mapping[str, OptionFacts]
"""Options by key."""


def config_of(spec: Configured) -> type[Config] | None:
    """Return the config class of a spec (imported if lazy); None if it has no options."""
    if spec.config is None:
        return None
    from formalbench.contracts.config import Config

    config: Any = spec.config
    if isinstance(config, str):
        module, _, attribute = config.partition(":")
        try:
            config = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            problem = f"the config of {spec.name} cannot be loaded: {error}"
            raise BrokenPluginError(problem) from None
    if not (isinstance(config, type) and issubclass(config, Config)):
        raise BrokenPluginError(f"the config of {spec.name} is no formalbench.Config: {config!r}")
    for key, field in config.model_fields.items():
        if field.is_required():
            raise BrokenPluginError(
                f"the config of {spec.name}: {key} has no default: use option(…)"
            )
    for key in _defaults(spec):
        if key not in config.model_fields:
            raise BrokenPluginError(f"{spec.name} has a default for {key!r}, which is no option")
    return config


def _defaults(spec: Configured) -> Mapping[str, Value]:
    return getattr(spec, "defaults", {})


def make_config(
    spec: Configured, options: Mapping[str, Any] | None = None, name: str = ""
) -> Config | None:
    """Build the config of a model, a task or another plugin object.

    Args:
        spec: has the config class and the defaults.
        options: set options, as text or Python values.
        name: name in error messages; the spec's if empty.

    Returns:
        None if there are no options.

    Raises:
        RequestError: one line that names the invalid option.
    """
    from pydantic import ValidationError

    options, name = options or {}, name or spec.name
    config = config_of(spec)
    known = {} if config is None else config.model_fields
    for key in options:
        if key not in known:
            raise unknown(f"option of {name}", key, known)
    if config is None:
        return None
    parsed = {key: _as_field(known[key].annotation, key, value) for key, value in options.items()}
    try:
        return config.model_validate({**_defaults(spec), **parsed}, strict=False)
    except ValidationError as error:
        raise RequestError(f"{name}: {one_line(error, values=True)}") from None


def _as_field(kind: Any, key: str, value: Any) -> Any:
    """Convert a value for pydantic: split the text of a tuple, match a `Literal`."""
    if not isinstance(value, str):
        as_text = kind is str or (isinstance(value, bool) and kind is not bool)
        return show_value(value) if as_text else value
    if get_origin(kind) is tuple:
        return value.strip("[]() ").split(",")
    if len(value) > MAX_TEXT or not value.isprintable():
        raise RequestError(f"{key}={value[:60]}…: must be at most {MAX_TEXT} printable characters")
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return next((choice for choice in choices if show_value(choice) == value), value)


def changed_options(spec: Configured, config: Config | None) -> dict[str, Value]:
    """Return the options that differ from the spec's defaults, as stored in records."""
    if config is None:
        return {}
    default = make_config(spec)
    return {key: value for key, value in config if value != getattr(default, key)}


def option_facts(spec: Configured) -> dict[str, OptionFacts]:
    """Return descriptions of all options of a spec."""
    config = config_of(spec)
    if config is None:
        return {}
    default = make_config(spec)

    def bound(field: Any, end: str) -> float | None:
        values = (getattr(item, end) for item in field.metadata if hasattr(item, end))
        return next(filter(math.isfinite, values), None)

    return {
        key: OptionFacts(
            default=getattr(default, key),
            help=field.description or "",
            choices=get_args(field.annotation) if get_origin(field.annotation) is Literal else (),
            minimum=bound(field, "ge"),
            maximum=bound(field, "le"),
        )
        for key, field in config.model_fields.items()
    }


# Scopes of settings.


def settings_for(scope: str, settings: Settings, options: Container[str]) -> dict[str, Any]:
    """Return the settings that apply to one model, task, executor or tracker."""
    scopes = (scope,) if scope in ABOUT_NO_RUN else ("", scope)
    return {s.key: s.value for s in settings if s.scope in scopes and s.key in options}


def check_settings(
    settings: Settings, models: Mapping[str, OptionTable], tasks: Mapping[str, OptionTable]
) -> None:
    """Check that every setting applies to a requested model or task.

    Settings of protocol, executor and tracker are checked when these are built.
    """
    for setting in settings:
        scope, key, _ = setting
        if scope not in ("", "model", "task"):
            continue
        tables = {"model": [models], "task": [tasks], "": [models, tasks]}[scope]
        matches = [[name for name, table in group.items() if key in table] for group in tables]
        names = [name for group in matches for name in group]
        if not names:
            known = {option for group in tables for table in group.values() for option in table}
            raise unknown(f"{scope} option".strip(), key, known)
        if len([group for group in matches if group]) > 1:
            raise RequestError(
                f"{setting}: both model and task have {key}: write model.{key}= or task.{key}="
            )
        if all(key in parse_instance(name)[1] for name in names):
            raise RequestError(f"{setting}: {key} is set twice, also in {' and '.join(names)}")


def sweep(
    settings: Settings,
    models: Sequence[OptionTable],
    tasks: Sequence[OptionTable],
    takes_list: Callable[[str], bool],
) -> list[Settings]:
    """Return the settings of each group of runs: all combinations of listed values.

    Args:
        settings: settings; a value may be a comma list, unless the option itself is a text or a
            list.
        models: the options of each requested model.
        tasks: the options of each requested task.
        takes_list: returns whether a key of a protocol may hold several values.
    """
    tables = {"model": models, "task": tasks, "": [*models, *tasks]}

    def takes_commas(scope: str, key: str) -> bool:
        if scope in ABOUT_NO_RUN or scope == "protocol":
            return scope != "protocol" or takes_list(key)
        facts = [table[key] for table in tables[scope] if key in table]
        kinds = [(type(option["default"]), bool(option["choices"])) for option in facts]
        return (str, False) in kinds or (tuple, False) in kinds

    def values(setting: Setting) -> list[Any]:
        scope, key, value = setting
        is_list = "," in value if isinstance(value, str) else isinstance(value, Sequence)
        if not is_list or takes_commas(scope, key):
            return [value]
        items = map(str.strip, value.split(",")) if isinstance(value, str) else value
        return list(dict.fromkeys(items)) or [value]

    return list(product(*([s._replace(value=v) for v in values(s)] for s in settings)))
