"""Specs by name: what is refused, patterns, clashes, nearest names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.names import check_name, field_names, fill_fields, match_name
from formalbench.contracts.specs import (
    MetricSpec,
    ModelSpec,
    ObjectiveSpec,
    ProtocolSpec,
    ReproductionSpec,
    Spec,
    Splits,
    SuiteSpec,
    TableSpec,
    TaskSpec,
)
from formalbench.contracts.theory import Theory
from formalbench.host.plugin import Plugin

LONGEST = 10_000_000
"""The longest string a split may ask for."""


def check_spec(spec: Any) -> None:
    """Refuse a spec with a field that cannot be used.

    Raises:
        ValueError: one line that names the spec and the field.
    """
    check_name(spec.name)
    try:
        _check_text(spec, "summary")
        if hasattr(spec, "reference"):
            _check_text(spec, "reference")
        if hasattr(spec, "factory"):
            _demand(callable(spec.factory) or _is_lazy(spec.factory), "factory")
        if hasattr(spec, "config"):
            _check_config(spec.config, getattr(spec, "defaults", {}))
        if hasattr(spec, "version"):
            _demand(_is_whole(spec.version) and spec.version >= 0, "version: a number, 0 or more")
        unnamed = isinstance(spec, MetricSpec) and spec.named_by == ()
        if unnamed or isinstance(spec, TaskSpec) or getattr(spec, "objectives", ()) != ():
            _check_names(spec.objectives, "objectives")
        if isinstance(spec, MetricSpec) and not unnamed:
            _check_names(spec.named_by, "named_by")
        if isinstance(spec, ObjectiveSpec) and spec.metrics != ():
            _check_names(spec.metrics, "metrics")
        if isinstance(spec, TaskSpec):
            _check_splits(spec.splits)
            right = spec.theory is None or isinstance(spec.theory, Theory)
            _demand(right, "theory: a formalbench.Theory")
            _check_keywords(spec.keywords)
        if isinstance(spec, ModelSpec):
            _demand(spec.kind in ("learned", "exact"), "kind: learned or exact")
            _check_text(spec, "task")
        if isinstance(spec, SuiteSpec):
            _check_names(spec.tasks, "tasks")
            _check_text(spec, "protocol")
        if isinstance(spec, ProtocolSpec | TableSpec):
            _demand(isinstance(spec.path, Path), "path: a pathlib.Path")
        if isinstance(spec, ReproductionSpec):
            for field in ("about", "reduced"):
                _check_text(spec, field)
            hours = spec.core_hours
            right = isinstance(hours, tuple) and len(hours) == 2
            _demand(right, "core_hours: two numbers, of the scales quick and paper")
        if isinstance(spec, ProtocolSpec):
            files = isinstance(spec.earlier, tuple) and all(
                isinstance(p, Path) for p in spec.earlier
            )
            _demand(files, "earlier: a tuple of pathlib.Path")
    except ValueError as error:
        raise ValueError(f"{type(spec).__name__} {spec.name!r}: bad {error}") from None


def _demand(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_lazy(factory: Any) -> bool:
    if not isinstance(factory, str):
        return False
    module, _, attribute = factory.partition(":")
    return attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _check_text(spec: Any, field: str) -> None:
    _demand(isinstance(getattr(spec, field), str), f"{field}: text")


def _check_names(names: Any, field: str) -> None:
    right = isinstance(names, tuple | list) and names and all(isinstance(n, str) for n in names)
    _demand(bool(right), f"{field}: a tuple of names, at least one")


def _check_keywords(keywords: Any) -> None:
    right = isinstance(keywords, tuple | list) and all(isinstance(k, str) and k for k in keywords)
    _demand(bool(right), "keywords: a tuple of words")


def _check_splits(splits: Any) -> None:
    _demand(isinstance(splits, Splits), "splits: a Splits")
    for window in (splits.train, splits.test):
        pair = isinstance(window, tuple) and len(window) == 2 and all(map(_is_whole, window))
        _demand(pair, "splits: two pairs of lengths")
        _demand(0 <= window[0] <= window[1] <= LONGEST, f"splits: {window[0]} to {window[1]}")
    _demand(_is_whole(splits.step) and splits.step >= 1, "splits: step: a number, 1 or more")


def _check_config(config: Any, defaults: Any) -> None:
    right = config is None or _is_lazy(config) or _is_config(config)
    _demand(right, "config: a subclass of formalbench.Config, or where to find it")
    _demand(isinstance(defaults, Mapping), "defaults: a mapping of option names to values")
    for name, value in defaults.items():
        _demand(isinstance(value, bool | int | float | str), f"defaults: {name}")
        known = name in config.model_fields if _is_config(config) else config is not None
        _demand(known, f"defaults: {name!r} is no option of the config")


def _is_config(config: Any) -> bool:
    # Whoever has made one has imported pydantic.
    names = (f"{base.__module__}.{base.__name__}" for base in getattr(config, "__mro__", ()))
    return "formalbench.contracts.config.Config" in names


S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, slots=True)
class Entry(Generic[S]):
    """A spec and the plugin that announced it."""

    spec: S
    plugin: Plugin


class Registry(Generic[S]):
    """The specs of one kind.

    Args:
        kind: what a spec of this registry is called in errors, as ``task``.
        spec_type: the class of its specs.
    """

    def __init__(self, kind: str, spec_type: type[S]) -> None:
        self.kind = kind
        self.spec_type = spec_type
        self._entries: dict[str, list[Entry[S]]] = {}

    @property
    def plural(self) -> str:
        """What several of its specs are called, as in ``formalbench list``."""
        return f"{self.kind[:-1]}ies" if self.kind.endswith("y") else f"{self.kind}s"

    def add(self, spec: S, plugin: Plugin) -> None:
        """Keep a spec; whether its name is taken is decided when the name is used."""
        check_spec(spec)
        self._entries.setdefault(spec.name, []).append(Entry(spec, plugin))

    def check_clashes(self, plugin: Plugin) -> None:
        """Refuse a plugin that announces a name somebody else announced."""
        for entries in self._entries.values():
            if any(entry.plugin is plugin for entry in entries):
                self._only(entries)

    def all(self) -> list[Entry[S]]:
        """Return all specs whose name is one plugin's alone, sorted by name."""
        names = sorted(self._entries, key=_natural)
        return [self._entries[name][0] for name in names if len(self._entries[name]) == 1]

    def every(self) -> list[Entry[S]]:
        """Return all specs, also those whose name several plugins announced."""
        return [entry for entries in self._entries.values() for entry in entries]

    def clashes(self) -> list[str]:
        """Return one line for each name that several plugins announced."""
        return [self._clash(entries) for _, entries in sorted(self._entries.items()) if entries[1:]]

    def get(self, name: str) -> tuple[Entry[S], dict[str, int]]:
        """Return the spec that `name` means and the fields in the name.

        Raises:
            RequestError: if there is none, or several plugins announced it.
        """
        found: list[Entry[S]] = []
        fields: dict[str, int] = {}
        for pattern, entries in self._entries.items():
            matched = match_name(pattern, name)
            if matched is not None:
                found += entries
                fields = matched
        if not found:
            if name in self._entries:
                raise _to_fill_in(self.kind, name)
            listing = f"formalbench list {self.plural}"
            raise unknown(self.kind, name, self._entries, listing, self._called(name))
        return self._only(found), fields

    def _called(self, word: str) -> list[str]:
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
        return f"{self.kind} {entries[-1].spec.name!r} is announced twice: by {sources}"


def _to_fill_in(kind: str, pattern: str) -> RequestError:
    """Build the error for a pattern, as listings show it, in the place of a name."""
    fields = " and ".join(field_names(pattern))
    example = fill_fields(pattern, 2)
    return RequestError(f"{kind} {pattern!r} is a pattern: fill in {fields}, as in {example}")


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    # d2 before d12
    import re

    parts = re.findall(r"\d+|\D+", name)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)
