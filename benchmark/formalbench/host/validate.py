"""Is a spec what it says it is? Checked when it is announced, so nothing trips over it later."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formalbench.contracts.specs import (
    ModelSpec,
    Option,
    ProtocolSpec,
    Splits,
    SuiteSpec,
    TaskSpec,
)
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
        if isinstance(spec, TaskSpec | ModelSpec):
            _check_text(spec, "reference")
            _demand(callable(spec.factory) or _is_lazy(spec.factory), "factory")
            _check_names(spec.objectives, "objectives")
            _check_options(spec.options)
        if isinstance(spec, TaskSpec | ModelSpec | SuiteSpec):
            _demand(_is_whole(spec.version) and spec.version >= 0, "version: a number, 0 or more")
        if isinstance(spec, TaskSpec):
            _check_splits(spec.splits)
        if isinstance(spec, ModelSpec):
            _demand(spec.kind in ("learned", "exact"), "kind: learned or exact")
            _check_text(spec, "task")
        if isinstance(spec, SuiteSpec):
            _check_names(spec.tasks, "tasks")
            _check_text(spec, "protocol")
        if isinstance(spec, ProtocolSpec):
            _demand(isinstance(spec.path, Path), "path: a pathlib.Path")
            _demand(spec.device in ("cpu", "cuda", ""), "device: cpu, cuda or empty")
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


def _check_splits(splits: Any) -> None:
    _demand(isinstance(splits, Splits), "splits: a Splits")
    for window in (splits.train, splits.test):
        pair = isinstance(window, tuple) and len(window) == 2 and all(map(_is_whole, window))
        _demand(pair, "splits: two pairs of lengths")
        _demand(0 <= window[0] <= window[1] <= LONGEST, f"splits: {window[0]} to {window[1]}")
    _demand(_is_whole(splits.step) and splits.step >= 1, "splits: step: a number, 1 or more")


def _check_options(options: Any) -> None:
    _demand(isinstance(options, Mapping), "options: a mapping of names to Option")
    for name, option in options.items():
        _demand(isinstance(name, str) and name.isidentifier(), f"option name {name!r}")
        _demand(isinstance(option, Option), f"option {name}: an Option")
        _demand(isinstance(option.default, bool | int | float | str), f"option {name}: default")
        for end in (option.minimum, option.maximum):
            _demand(end is None or math.isfinite(end), f"option {name}: minimum or maximum")
