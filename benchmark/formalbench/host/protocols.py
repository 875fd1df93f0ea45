"""Protocol files, and `--set protocol.key=value`.

The mapping of a protocol's file is laid over that of the protocol it extends, and what
``--set protocol.key=value`` changes over both. The options of its optimiser, schedule and sampler
that nobody named are written out, so that to state a default changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Union, get_args, get_origin

from formalbench.contracts.errors import RequestError, each, nearest, unknown
from formalbench.files import read_yaml
from formalbench.host.options import OptionTable, make_config, option_facts, parse_value

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.specs import (
        OptimiserSpec,
        PenaltySpec,
        ProtocolSpec,
        SamplerSpec,
        ScheduleSpec,
    )
    from formalbench.host.registry import Registry


OWN = ("schema_version", "name", "version", "summary", "extends", "draws", "changed")
"""What a protocol's file says of itself alone; none of it is set or handed on."""


def settable(model: type[BaseModel], prefix: str = "") -> dict[str, Any]:
    """Return the type of every key that holds no parts itself, by its dotted name."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if not prefix and name in OWN:
            continue
        part = _part(field.annotation)
        if part is None:
            found[prefix + name] = field.annotation
        else:
            found |= settable(part, f"{prefix}{name}.")
    return found


def as_written(annotation: Any, text: str) -> Any:
    """Return a text as a YAML file would have it: None, a list of texts, or itself."""
    members = _members(annotation)
    lists = [get_origin(one) is tuple for one in members if one is not type(None)]
    if text.lower() == "none" and type(None) in members:
        return None
    if all(lists) or (any(lists) and "," in text):
        return [one.strip() for one in text.strip("[]() ").split(",")]
    return text


def is_list(annotation: Any) -> bool:
    """Say whether a key of this type may hold several values."""
    return any(get_origin(one) is tuple for one in _members(annotation))


def unknown_key(before: str, key: str, known: Iterable[str]) -> RequestError:
    """Build the error for a key that a protocol does not have.

    Args:
        before: how the line begins.
        key: with dots.
        known: all there are.
    """
    names = list(known)
    inside = [name for name in names if name.startswith(f"{key}.")]
    if inside:
        return RequestError(f"{before}{key} has parts: name one of them, as {inside[0]}")
    last = key.rpartition(".")[2]
    # A part is as good an answer as a whole key: ``optimizer`` means ``optimiser``.
    parts = {name.rpartition(".")[0] for name in names} - {""}
    close = nearest(key, [*names, *parts], count=1) or [
        name for name in names if name.rpartition(".")[2] == last
    ]
    hint = f": did you mean {' or '.join(close)}?" if close else ""
    return RequestError(f"{before}unknown key {key!r}{hint}")


def _part(annotation: Any) -> type[BaseModel] | None:
    """Return the part of a protocol that an annotation stands for, if it is one."""
    from pydantic import BaseModel

    for one in _members(annotation):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return None


def _members(annotation: Any) -> list[Any]:
    """Return what a union is of, annotations taken off; of no union, itself."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [inner for one in get_args(annotation) for inner in _members(one)]
    return [annotation]


Contents = dict[str, Any]
"""A protocol as its file has it, with what it extends."""


CHOICES = {"optimiser": "name", "schedule": "name", "curriculum": "kind"}
"""The parts that name something with options of its own, and the key with the name."""


ONE_OF = {"test.lengths": "must be how many, at least 1, or all, or which, as 50,100"}
"""What is allowed of the keys that hold values of several kinds."""


class Registries(NamedTuple):
    """Where a protocol's names are looked up."""

    protocols: Registry[ProtocolSpec]
    optimiser: Registry[OptimiserSpec]
    schedule: Registry[ScheduleSpec]
    curriculum: Registry[SamplerSpec]
    penalties: Registry[PenaltySpec]

    def options(self, contents: Mapping[str, Any], part: str) -> OptionTable:
        """Return the options of the optimiser, schedule or sampler that contents choose."""
        registry: Registry[Any] = getattr(self, part)
        return option_facts(registry.get(_named(contents, part))[0].spec)


def resolve(
    known: Registries,
    name: str,
    changes: Mapping[str, str] | None = None,
    version: int | None = None,
) -> Protocol:
    """Return the contents of a protocol.

    Args:
        known: where names are looked up.
        name: of the protocol.
        changes: texts by dotted key, as ``{"test.strings": "64"}``.
        version: an earlier one. The newest is returned if it is None, or no file has it.

    Raises:
        RequestError: one line that names the file and the key.
    """
    contents, own = _read(known, name, (), version)
    return _changed(known, own, contents, changes) if changes else own


def check_contents(path: Path, contents: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the summary of a protocol's file, as far as it can be checked alone.

    Raises:
        RequestError: one line that names the file and the key.
    """
    name, summary = contents.get("name"), contents.get("summary", "")
    if "extends" not in contents:
        checked = _valid(contents, str(path))
        name, summary = checked.name, checked.summary
    if not isinstance(name, str) or not isinstance(summary, str):
        raise RequestError(f"{path}: not a valid protocol: name and summary must be text")
    return name, summary


def chain(known: Registries, name: str) -> tuple[str, ...]:
    """Return the name of a protocol and those of the protocols that it extends."""
    names: list[str] = []
    base: Any = name
    while isinstance(base, str) and base not in names:
        names.append(base)
        base = read_yaml(known.protocols.get(base)[0].spec.path).get("extends")
    return tuple(names)


def takes_list(known: Registries, key: str) -> bool:
    """Say whether a protocol's key may hold several values: then a comma parts them."""
    from formalbench.contracts.protocol import Protocol

    part, _, option = key.partition(".")
    if part in CHOICES and option not in (CHOICES[part], *_beside(part)):
        registry: Any = getattr(known, part)
        tables = (option_facts(entry.spec) for entry in registry.all())
        return any(isinstance(t[option]["default"], tuple) for t in tables if option in t)
    return is_list(settable(Protocol).get(key))


# What a protocol extends.


def _read(
    known: Registries, name: str, above: tuple[str, ...], version: int | None = None
) -> tuple[Contents, Protocol]:
    """Return a protocol's contents, laid over what it extends, and what they mean."""
    spec = known.protocols.get(name)[0].spec
    path, data = spec.path, read_yaml(spec.path)
    if version is not None and data.get("version") != version:
        files = {earlier: read_yaml(earlier) for earlier in spec.earlier}
        found = [item for item in files.items() if item[1].get("version") == version]
        path, data = found[0] if found else (path, data)
    if "changed" in data:
        raise RequestError(f"{path}: not a valid protocol: changed is for --set, not for files")
    base_name = data.pop("extends", None)
    if base_name is None:
        return data, _completed(known, data, str(path))
    if not isinstance(base_name, str):
        raise RequestError(f"{path}: not a valid protocol: extends must be a protocol's name")
    so_far = (*above, name)
    if base_name in so_far:
        circle = " extends ".join((*so_far, base_name))
        raise RequestError(f"{path}: not a valid protocol: {circle}")
    contents, base = _read(known, base_name, so_far)
    inherited = {key: value for key, value in contents.items() if key not in OWN}
    merged = _laid_over(inherited, data)
    return merged, _drawing_as(base, _completed(known, merged, str(path)))


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Contents:
    """Merge mappings deeply; what is no mapping is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            if key in CHOICES and value.get(CHOICES[key], _named(below, key)) != (
                _named(below, key)
            ):
                old = {one: old[one] for one in _beside(key) if one in old}
            merged[key] = _laid_over(old, value)
        else:
            merged[key] = value
    return merged


def _named(contents: Mapping[str, Any], part: str) -> Any:
    """Return the name of the optimiser, the schedule or the sampler that contents choose."""
    chosen = contents.get(part)
    given = chosen.get(CHOICES[part]) if isinstance(chosen, Mapping) else None
    return _fields(part)[CHOICES[part]].default if given is None else given


def _beside(part: str) -> set[str]:
    """Return what stands beside the name whichever optimiser, schedule or sampler it is."""
    return set(_fields(part)) - {CHOICES[part]}


def _fields(part: str) -> dict[str, Any]:
    from formalbench.contracts.protocol import Protocol

    annotation: Any = Protocol.model_fields[part].annotation
    fields: dict[str, Any] = annotation.model_fields
    return fields


def _drawing_as(base: Protocol, own: Protocol) -> Protocol:
    """Let a protocol that trains as its base does draw its base's strings."""
    if own.draws is not None or _training(own) != _training(base):
        return own
    return own.model_copy(update={"draws": base.key})


def _training(protocol: Protocol) -> Contents:
    return {key: value for key, value in protocol.train_facts().items() if key != "draws"}


# What is set on the command line.


def _changed(
    known: Registries, own: Protocol, contents: Contents, changes: Mapping[str, str]
) -> Protocol:
    where = " ".join(f"--set protocol.{key}={text}" for key, text in changes.items())
    changed = contents
    names = {f"{part}.{name}" for part, name in CHOICES.items()}

    def lay_over(key: str) -> None:
        nonlocal changed
        changed = _laid_over(changed, _nested(key, _value(known, changed, key, changes[key])))

    def complete(where: str) -> Protocol:
        cut = "steps" in changes and "decay.steps" not in changes
        contents = _with_a_decay_that_fits(changed, own.decay.steps) if cut else changed
        return _completed(known, contents, where)

    ordered = sorted(changes, key=lambda key: key not in names)  # a name before its options

    def carry_out(part: Callable[[], Any]) -> Any:
        return part()

    parts: list[Callable[[], Any]] = [partial(lay_over, key) for key in ordered]
    parts.append(partial(complete, where))
    done: Protocol = each(carry_out, parts)[-1]
    new = {key: _at(done, key) for key in changes if _at(done, key) != _at(own, key)}
    if not new:
        return own
    noted = {key: "none" if value is None else value for key, value in new.items()}
    return _valid({**done.model_dump(), "changed": noted, "draws": own.draws}, where)


def _with_a_decay_that_fits(contents: Contents, decay: int) -> Contents:
    """Cut a decay to the steps there are, so that fewer can be asked for alone."""
    steps = contents["steps"]
    if not steps.isascii() or not steps.isdigit() or not 0 < int(steps) < decay:
        return contents
    return _laid_over(contents, {"decay": {"steps": int(steps)}})


def _value(known: Registries, contents: Contents, key: str, text: str) -> Any:
    """Return a text as a YAML file would have it."""
    from formalbench.contracts.protocol import Protocol

    where = f"--set protocol.{key}={text}"
    keys = settable(Protocol)
    if key in keys:
        return as_written(keys[key], text)
    part, _, option = key.partition(".")
    if part == "penalties" and option:
        known.penalties.get(option)
        return text
    if part in CHOICES and option:
        options = known.options(contents, part)
        if option not in options:
            raise unknown(f"option of {_named(contents, part)}", option, [*options, *_beside(part)])
        return parse_value(where, text, options[option])
    raise unknown_key(f"{where}: ", key, keys)


def _nested(key: str, value: Any) -> Contents:
    for part in reversed(key.split(".")):
        value = {part: value}
    nested: Contents = value
    return nested


def _at(protocol: Protocol, key: str) -> Any:
    value: Any = protocol
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value


# Checking, and what is default.


def _completed(known: Registries, contents: Mapping[str, Any], where: str) -> Protocol:
    """Check contents, and write out the options of the optimiser, the schedule and the sampler."""
    protocol = _valid(contents, where)

    def written_out(part: str) -> tuple[str, Contents]:
        registry: Registry[Any] = getattr(known, part)
        choice = getattr(protocol, part)
        name = getattr(choice, CHOICES[part])
        config = make_config(registry.get(name)[0].spec, choice.options)
        fixed = {key: getattr(choice, key) for key in _fields(part)}
        return part, {**fixed, **(config.model_dump() if config else {})}

    try:
        update = dict(each(written_out, (*CHOICES,)))
        each(known.penalties.get, protocol.penalties or ())
    except RequestError as error:
        raise RequestError(f"{where}: not a valid protocol: {error}") from None
    return _valid({**protocol.model_dump(), **update}, where)


def _valid(contents: Mapping[str, Any], where: str) -> Protocol:
    from pydantic import ValidationError

    from formalbench.contracts.protocol import Protocol

    begin = f"{where}: not a valid protocol: "
    try:
        return Protocol.model_validate(contents)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        inside = {problem["loc"][:-1] for problem in problems}
        problems = [  # a list is no shorter for what is wrong with a part of it
            problem
            for problem in problems
            if problem["type"] != "too_short" or problem["loc"] not in inside
        ]
        problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
        known = [*settable(Protocol), *OWN[:5]]
        told = [_told(problem, known) for problem in problems]
    # Keys are compared with each other only where all are valid: compare the valid ones.
    wrong = {str(problem["loc"][0]) for problem in problems if problem["loc"]}
    if wrong:
        try:
            Protocol.model_validate({k: v for k, v in contents.items() if k not in wrong})
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                parts = [] if problem["loc"] else _told(problem, known).split("; ")
                told += [one for one in parts if not wrong & {*re.findall(r"\w+", one)}]
    raise RequestError(begin + "; ".join(dict.fromkeys(told)))


def _told(problem: Mapping[str, Any], known: list[str]) -> str:
    """Return what is wrong with one key."""
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return str(unknown_key("", key, known))
    for one, allowed in ONE_OF.items():
        if key.startswith(f"{one}."):  # each kind of value says by itself why it is not the one
            return f"{one}: {allowed}"
    said = " ".join(str(problem["msg"]).removeprefix("Value error, ").split())
    return f"{key}: {said}" if key else said
