"""The keys of a protocol, as ``--set protocol.key=value`` names them, and their types."""

from __future__ import annotations

from collections.abc import Iterable
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from formalbench.contracts.errors import RequestError, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel

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
