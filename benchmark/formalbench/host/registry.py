"""Specs by name: validation, patterns, clashes, suggestions."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from formalbench.contracts.errors import RequestError, one_line, problems_of, unknown
from formalbench.contracts.specs import (
    Spec,
    SuiteSpec,
    check_name,
    field_names,
    fill_fields,
    match_name,
)
from formalbench.host.plugin import Plugin

S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, slots=True)
class Entry(Generic[S]):
    """A spec and the plugin that announced it."""

    spec: S
    plugin: Plugin


class Registry(Generic[S]):
    """The specs of one kind.

    Args:
        kind: kind of these specs in error messages, such as ``task``.
        spec_type: the class of its specs.
    """

    def __init__(self, kind: str, spec_type: type[S]) -> None:
        self.kind = kind
        self.spec_type = spec_type
        self._entries: dict[str, list[Entry[S]]] = {}

    @property
    def plural(self) -> str:
        """The plural kind, as in ``formalbench list``."""
        return f"{self.kind[:-1]}ies" if self.kind.endswith("y") else f"{self.kind}s"

    def add(self, spec: S, plugin: Plugin) -> None:
        """Add a spec; clashes are detected when the name is used."""
        self._entries.setdefault(spec.name, []).append(Entry(spec, plugin))

    def check_clashes(self, plugin: Plugin) -> None:
        """Check that a plugin's names are not announced by another plugin."""
        for entries in self._entries.values():
            if any(entry.plugin is plugin for entry in entries):
                self._only(entries)

    def all(self) -> list[Entry[S]]:
        """Return all specs whose name has no clash, sorted by name."""
        names = sorted(self._entries, key=_natural)
        return [self._entries[name][0] for name in names if len(self._entries[name]) == 1]

    def every(self) -> list[Entry[S]]:
        """Return all specs, including name clashes."""
        return [entry for entries in self._entries.values() for entry in entries]

    def clashes(self) -> list[str]:
        """Return one line for each name clash."""
        return [self._clash(entries) for _, entries in sorted(self._entries.items()) if entries[1:]]

    def get(self, name: str) -> tuple[Entry[S], dict[str, int]]:
        """Return the spec of a name and the integer fields in the name.

        Raises:
            RequestError: if it is unknown or announced by several plugins.
        """
        matches: list[Entry[S]] = []
        fields: dict[str, int] = {}
        for pattern, entries in self._entries.items():
            if (values := match_name(pattern, name)) is not None:
                matches += entries
                fields = values
        if not matches:
            if name in self._entries:
                raise _pattern_error(self.kind, name)
            listing = f"formalbench list {self.plural}"
            raise unknown(self.kind, name, self._entries, listing, self._with_keyword(name))
        return self._only(matches), fields

    def _with_keyword(self, word: str) -> list[str]:
        """Return the names of the specs that have a word among their keywords."""
        plain = word.replace("-", " ").lower()
        return [
            name
            for name, entries in self._entries.items()
            if any(plain in getattr(entry.spec, "keywords", ()) for entry in entries)
        ]

    def _only(self, entries: list[Entry[S]]) -> Entry[S]:
        if len(entries) > 1:
            raise RequestError(self._clash(entries))
        return entries[0]

    def _clash(self, entries: list[Entry[S]]) -> str:
        sources = " and ".join(f"{e.plugin.name} ({e.plugin.describe()})" for e in entries)
        return f"{self.kind} {entries[-1].spec.name!r} is defined twice: by {sources}"


def _pattern_error(kind: str, pattern: str) -> RequestError:
    """Build the error for a pattern that was used instead of a name."""
    fields = " and ".join(field_names(pattern))
    example = fill_fields(pattern, 2)
    return RequestError(f"{kind} {pattern!r} is a pattern: fill in {fields}, as in {example}")


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    # d2 before d12
    parts = re.findall(r"\d+|\D+", name)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def check_spec(spec: Any) -> None:
    """Validate the fields of a spec.

    Raises:
        ValueError: one line that names the spec and the field.
    """
    from pydantic import ValidationError

    check_name(spec.name)
    try:
        values = {field.name: getattr(spec, field.name) for field in fields(spec)}
        _adapter(spec.__class__).validate_python(values)
    except ValidationError as error:
        problem = one_line(error, values=True)
        raise ValueError(f"{type(spec).__name__} {spec.name!r}: bad {problem}") from None


def read_suite(path: Path, data: dict[str, Any]) -> SuiteSpec:
    """Validate a suite file's contents."""
    from pydantic import ValidationError

    names = [field.name for field in fields(SuiteSpec)]
    problems = [str(unknown("key", key, names)) for key in data if key not in names]
    try:
        suite: SuiteSpec = _adapter(SuiteSpec).validate_python(
            {"version": 1, "summary": "", **data}
        )
        check_name(suite.name)
    except ValidationError as error:
        problems += problems_of(error)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise RequestError(f"{path}: not a valid suite: {'; '.join(problems)}")
    return suite


@lru_cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
