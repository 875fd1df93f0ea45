"""Protocols: from a name and ``--set protocol.key=value`` to a checked `Protocol`.

1. Read the protocol's YAML file and the file of every protocol that it extends; nearer files win.
2. Put the values of ``--set`` on top.
3. Check the result with pydantic: unknown keys, types, bounds.
4. Write out the default options of the optimiser, the schedule and the sampler, so that stating a
   default changes neither the protocol nor the id of a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from formalbench.contracts.errors import RequestError, each, nearest, problems_of, unknown
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.specs import show_value
from formalbench.files import read_yaml
from formalbench.host.options import config_of, make_config

if TYPE_CHECKING:
    from pathlib import Path

    from formalbench.contracts.config import Config
    from formalbench.contracts.specs import PenaltySpec, ProtocolSpec
    from formalbench.host.registry import Registry

Tree = dict[str, Any]
"""A protocol as nested mappings, as in YAML."""

ABOUT_THE_FILE = ("schema_version", "name", "version", "summary", "extends", "draws", "changed")
"""Keys that describe a file; they are neither inherited nor set with ``--set``."""

CHOICES = {"optimiser": "name", "schedule": "name", "curriculum": "kind"}
"""Keys whose value chooses a plugin object with options, and the key of its name."""


class ProtocolLoader(NamedTuple):
    """Loads protocols by name.

    Attributes:
        protocols: their specs.
        penalties: those that they may name.
        choices: the registry of each of `CHOICES`.
    """

    protocols: Registry[ProtocolSpec]
    penalties: Registry[PenaltySpec]
    choices: Mapping[str, Registry[Any]]

    def load(
        self, name: str, changes: Mapping[str, Any] | None = None, version: int | None = None
    ) -> Protocol:
        """Return a protocol.

        Args:
            name: of the protocol.
            changes: changed values by dotted key, as text or value: ``{"test.strings": "64"}``.
            version: an earlier version; the newest if it is None or has no file.

        Raises:
            RequestError: one line that names the file or the setting, and the key.
        """
        tree, protocol = self._read(name, (), version)
        return self._change(protocol, tree, changes) if changes else protocol

    def chain(self, name: str) -> tuple[str, ...]:
        """Return the name of a protocol and those of the protocols that it extends."""
        names: list[str] = []
        base: Any = name
        while isinstance(base, str) and base not in names:
            names.append(base)
            base = read_yaml(self.protocols.get(base)[0].spec.path).get("extends")
        return tuple(names)

    def takes_list(self, key: str) -> bool:
        """Return whether a key may hold several values; a comma then does not start a sweep."""
        choice, _, option = key.partition(".")
        if choice in CHOICES and option not in _fields(choice):
            configs = (config_of(entry.spec) for entry in self.choices[choice].all())
            fields = [config.model_fields.get(option) for config in configs if config]
            return any(field and get_origin(field.annotation) is tuple for field in fields)
        return any(get_origin(kind) is tuple for kind in _union(dict(_leaves(Protocol)).get(key)))

    def _read(
        self, name: str, extended_by: tuple[str, ...], version: int | None = None
    ) -> tuple[Tree, Protocol]:
        """Return a protocol's merged tree, and the validated protocol.

        `extended_by` are the protocols that extend this one, to detect a circle.
        """
        spec = self.protocols.get(name)[0].spec
        path, tree = spec.path, read_yaml(spec.path)
        if version is not None and tree.get("version") != version:
            files = {earlier: read_yaml(earlier) for earlier in spec.earlier}
            matches = [item for item in files.items() if item[1].get("version") == version]
            path, tree = matches[0] if matches else (path, tree)
        where = f"{path}: not a valid protocol"
        if "changed" in tree:
            raise RequestError(f"{where}: changed is for --set, not for files")
        base_name = tree.pop("extends", None)
        if base_name is None:
            return tree, self._complete(tree, where)
        if not isinstance(base_name, str):
            raise RequestError(f"{where}: extends must be a protocol's name")
        names = (*extended_by, name)
        if base_name in names:
            raise RequestError(f"{where}: {' extends '.join((*names, base_name))}")
        try:
            self.protocols.get(base_name)
        except RequestError as error:
            raise RequestError(f"{where}: {error}") from None
        base_tree, base = self._read(base_name, names)
        inherited = {key: value for key, value in base_tree.items() if key not in ABOUT_THE_FILE}
        tree = _merge(inherited, tree)
        protocol = self._complete(tree, where)
        if protocol.draws is None and _training(protocol) == _training(base):
            # It trains like its base, so it uses the same strings and gets the same weights.
            protocol = protocol.model_copy(update={"draws": base.key})
        return tree, protocol

    def _change(self, protocol: Protocol, tree: Tree, changes: Mapping[str, Any]) -> Protocol:
        settings = " ".join(
            f"--set protocol.{key}={show_value(value)}" for key, value in changes.items()
        )
        where = f"{settings}: not a valid protocol"
        names = {f"{choice}.{name}" for choice, name in CHOICES.items()}

        def set_key(key: str) -> None:
            nonlocal tree
            value = self._parse(tree, key, changes[key])
            for part in reversed(key.split(".")):
                value = {part: value}
            tree = _merge(tree, value)

        def complete() -> Protocol:
            shorter = "steps" in changes and "decay.steps" not in changes
            return self._complete(
                _with_shorter_decay(tree, protocol.decay.steps) if shorter else tree, where
            )

        ordered = sorted(changes, key=lambda key: key not in names)  # names before their options
        steps: list[Callable[[], Any]] = [*(partial(set_key, key) for key in ordered), complete]
        result: Protocol = each(lambda step: step(), steps)[-1]
        new = {key: _at(result, key) for key in changes if _at(result, key) != _at(protocol, key)}
        if not new:
            return protocol
        changed = {key: "none" if value is None else value for key, value in new.items()}
        return _check({**result.model_dump(), "changed": changed, "draws": protocol.draws}, where)

    def _parse(self, tree: Tree, key: str, value: Any) -> Any:
        """Convert a setting to a YAML value; pydantic converts the rest."""
        where = f"--set protocol.{key}={show_value(value)}"
        leaves = dict(_leaves(Protocol))
        choice, _, option = key.partition(".")
        if key in leaves:
            return _as_yaml(leaves[key], value)
        if choice == "penalties" and option:
            self.penalties.get(option)
        elif choice in CHOICES and option:
            name = _name(tree, choice)
            config = config_of(self.choices[choice].get(name)[0].spec)
            fields = config.model_fields if config else {}
            if option not in fields:
                others = set(_fields(choice)) - {CHOICES[choice]}
                raise unknown(f"option of {name}", option, [*fields, *others])
        else:
            raise _unknown_key(f"{where}: ", key, leaves)
        return value

    def _complete(self, tree: Mapping[str, Any], where: str) -> Protocol:
        """Validate a tree, and fill in the options of its choices."""
        protocol = _check(tree, where)

        def with_defaults(choice: str) -> tuple[str, Tree]:
            chosen = getattr(protocol, choice)
            name = getattr(chosen, CHOICES[choice])
            config: Config | None = make_config(
                self.choices[choice].get(name)[0].spec, chosen.options
            )
            own = {key: getattr(chosen, key) for key in _fields(choice)}
            return choice, {**own, **(config.model_dump() if config else {})}

        try:
            choices = dict(each(with_defaults, CHOICES))
            each(self.penalties.get, protocol.penalties or ())
        except RequestError as error:
            raise RequestError(f"{where}: {error}") from None
        return _check({**protocol.model_dump(), **choices}, where)


def check_contents(path: Path, tree: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and summary of a protocol's file after checking it alone."""
    where = f"{path}: not a valid protocol"
    if "extends" not in tree:
        _check(tree, where)
    name, summary = tree.get("name"), tree.get("summary", "")
    if not isinstance(name, str) or not isinstance(summary, str):
        raise RequestError(f"{where}: name and summary must be text")
    return name, summary


# Trees.


def _merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> Tree:
    """Merge nested mappings; `override` has precedence.

    If `override` names another optimiser, schedule or sampler, only keys that all of them have
    (`gradient_clip`) are inherited.
    """
    merged = dict(base)
    for key, value in override.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            if key in CHOICES and value.get(CHOICES[key], _name(base, key)) != _name(base, key):
                common = set(_fields(key)) - {CHOICES[key]}
                old = {name: old[name] for name in common if name in old}
            value = _merge(old, value)
        merged[key] = value
    return merged


def _name(tree: Mapping[str, Any], choice: str) -> Any:
    """Return the name of the chosen optimiser, schedule or sampler."""
    chosen = tree.get(choice)
    name = chosen.get(CHOICES[choice]) if isinstance(chosen, Mapping) else None
    return _fields(choice)[CHOICES[choice]].default if name is None else name


def _fields(choice: str) -> dict[str, Any]:
    """Return the keys that every optimiser, schedule or sampler has in a protocol."""
    annotation: Any = Protocol.model_fields[choice].annotation
    fields: dict[str, Any] = annotation.model_fields
    return fields


def _with_shorter_decay(tree: Tree, decay: int) -> Tree:
    """Shorten the decay to the number of steps, so that ``--set protocol.steps=100`` is enough."""
    steps = str(tree["steps"])
    short = steps.isascii() and steps.isdigit() and 0 < int(steps) < decay
    return _merge(tree, {"decay": {"steps": int(steps)}}) if short else tree


def _training(protocol: Protocol) -> Tree:
    return {key: value for key, value in protocol.train_facts().items() if key != "draws"}


def _at(protocol: Protocol, key: str) -> Any:
    value: Any = protocol
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted name and annotation of every key that can be set."""
    for name, field in model.model_fields.items():
        if not prefix and name in ABOUT_THE_FILE:
            continue
        kinds = _union(field.annotation)
        parts = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if parts:
            yield from _leaves(parts[0], f"{prefix}{name}.")
        else:
            yield prefix + name, field.annotation


def _union(annotation: Any) -> list[Any]:
    """Return the members of a union, without `Annotated`."""
    if get_origin(annotation) is Annotated:
        return _union(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [inner for member in get_args(annotation) for inner in _union(member)]
    return [annotation]


def _as_yaml(annotation: Any, value: Any) -> Any:
    """Convert text to a YAML value: None, a list or the text.

    A single number becomes a list of one if a list is expected.
    """
    kinds = _union(annotation)
    lists = [get_origin(kind) is tuple for kind in kinds if kind is not type(None)]
    if not isinstance(value, str):
        single = all(lists) and isinstance(value, int | float) and not isinstance(value, bool)
        return [value] if single else value
    if value.lower() == "none" and type(None) in kinds:
        return None
    if all(lists) or (any(lists) and "," in value):
        return [item.strip() for item in value.strip("[]() ").split(",")]
    return value


# Checking.


def _check(tree: Mapping[str, Any], where: str) -> Protocol:
    try:
        return Protocol.model_validate(tree)
    except ValidationError as error:
        texts = problems_of(error, Protocol, ("extends",))
        wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    # Keys are compared with each other only if all are valid: compare the valid ones.
    try:
        Protocol.model_validate({key: tree[key] for key in tree if key not in wrong})
    except ValidationError as error:
        compared = [text for text in problems_of(error) for text in text.split("; ")]
        texts += [text for text in compared if not wrong & {*re.findall(r"\w+", text)}]
    raise RequestError(f"{where}: {'; '.join(dict.fromkeys(texts))}")


def _unknown_key(prefix: str, key: str, known: Iterable[str]) -> RequestError:
    """Build the error for a key that a protocol does not have."""
    names = list(known)
    inside = [name for name in names if name.startswith(f"{key}.")]
    if inside:
        return RequestError(f"{prefix}{key} has parts: name one of them, as {inside[0]}")
    last = key.rpartition(".")[2]
    # A part of a key is a possible suggestion, too: ``optimizer`` means ``optimiser``.
    parts = {name.rpartition(".")[0] for name in names} - {""}
    close = nearest(key, [*names, *parts], count=1) or [
        name for name in names if name.rpartition(".")[2] == last
    ]
    hint = f": did you mean {' or '.join(close)}?" if close else ""
    return RequestError(f"{prefix}unknown key {key!r}{hint}")
