"""Shared by the tests of the tasks: languages by name, and all strings of a length."""

import importlib
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formalbench.contracts.source import Language, Transduction
from formalbench.contracts.specs import TaskSpec
from formalbench_tasks.plugin import formalbench_tasks

sys.path.insert(0, str(Path(__file__).parent))  # definitions that tests share

PLAIN = {spec.name: spec for spec in formalbench_tasks() if "{" not in spec.name}
SPECS = {name: spec for name, spec in PLAIN.items() if "classify" in spec.objectives}
FUNCTIONS = {name: spec for name, spec in PLAIN.items() if "transduce" in spec.objectives}


def find(place: object) -> Any:
    if callable(place):
        return place
    assert isinstance(place, str)
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


def build(spec: TaskSpec, **options: object) -> Any:
    config = [find(spec.config)(**options)] if spec.config else []
    source = find(spec.factory)(*config)
    assert isinstance(source, Transduction if "transduce" in spec.objectives else Language)
    return source


@pytest.fixture(scope="session")
def make() -> Callable[..., Any]:
    """Build a language or a function by name, with options."""
    return lambda name, **options: build(PLAIN[name], **options)


@pytest.fixture(scope="session", name="build")
def build_by_full_name(make: Callable[..., Any]) -> Callable[[str], Any]:
    """Build a language by its full name, a family's member among them."""
    from beyond_families import MEMBERS_OF_FAMILIES

    return lambda name: MEMBERS_OF_FAMILIES.get(name) or make(name)


@pytest.fixture(scope="session")
def every_string() -> Callable[[int, int], np.ndarray]:
    """Return all strings of one length over an alphabet of this size, (S^N, N)."""

    def strings(symbols: int, length: int) -> np.ndarray:
        assert symbols**length <= 1_000_000, "choose the length by `longest`"
        rows = list(product(range(symbols), repeat=length))
        return np.array(rows, dtype=np.int64).reshape(len(rows), length)

    return strings


@pytest.fixture(scope="session")
def longest() -> Callable[[int, int], int]:
    """Return the length up to which there are at most this many strings per length."""
    return lambda symbols, strings: next(
        (length for length in range(strings) if symbols ** (length + 1) > strings), strings
    )


@pytest.fixture(scope="session", params=sorted(SPECS))
def spec(request) -> TaskSpec:
    """Each task of the plugin in turn."""
    return SPECS[request.param]


@pytest.fixture(scope="session")
def language(spec) -> Language:
    """The language of each task in turn, with its default options."""
    return build(spec)


@pytest.fixture(scope="session", params=sorted(FUNCTIONS))
def function(request) -> Transduction:
    """Each function from strings to strings in turn."""
    return build(FUNCTIONS[request.param])


def _objective(name: str, *, regular: bool = False):
    names = sorted(
        task
        for task, spec in SPECS.items()
        if name in spec.objectives and (not regular or spec.theory.level == "regular")
    )
    return [pytest.param(task, id=task) for task in names]


@pytest.fixture(scope="session", params=_objective("next-symbols"))
def membership(request) -> Language:
    """Each language in the narrow sense in turn."""
    return build(SPECS[request.param])


@pytest.fixture(scope="session", params=_objective("tag"))
def taggable(request) -> Language:
    """Each language that gives a class to every prefix in turn."""
    return build(SPECS[request.param])


@pytest.fixture(scope="session", params=_objective("next-symbols", regular=True))
def automaton_membership(request) -> Language:
    """Each language in the narrow sense that has an automaton in turn."""
    return build(SPECS[request.param])


@pytest.fixture(scope="session", params=_objective("tag", regular=True))
def automaton_taggable(request) -> Language:
    """Each language that gives a class to every prefix, by an automaton, in turn."""
    return build(SPECS[request.param])
