"""Is a spec what it says it is? Checked when it is announced, so nothing trips over it later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formalbench.contracts.specs import (
    MetricSpec,
    ModelSpec,
    ObjectiveSpec,
    ProtocolSpec,
    ReproductionSpec,
    Splits,
    SuiteSpec,
    TableSpec,
    TaskSpec,
)
from formalbench.contracts.theory import Theory
from formalbench.host.names import check_name

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
