"""Shared by the tests of the tasks: languages by name, and all strings of a length."""

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formalbench.contracts.source import Language
from formalbench.contracts.specs import TaskSpec
from formalbench.host import PluginHost
from formalbench_tasks.plugin import formalbench_tasks

sys.path.insert(0, str(Path(__file__).parent))  # definitions that tests share

HOST = PluginHost.load()
PLAIN = [spec for spec in formalbench_tasks() if "{" not in spec.name]
SPECS = {spec.name: spec for spec in PLAIN if "classify" in spec.objectives}
MEMBERSHIP = sorted(name for name, spec in SPECS.items() if "next-symbols" in spec.objectives)
REGULAR = {name for name, spec in SPECS.items() if spec.theory.level == "regular"}
TAGGED = sorted(name for name in REGULAR if "tag" in SPECS[name].objectives)


@pytest.fixture(scope="session")
def make() -> Callable[..., Any]:
    """Build a language or a function by name, with options."""
    return lambda name, **options: HOST.task(name, options).source


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
def language(spec, make) -> Language:
    """The language of each task in turn, with its default options."""
    return make(spec.name)


@pytest.fixture(scope="session", params=MEMBERSHIP)
def membership(request, make) -> Language:
    """Each language in the narrow sense in turn."""
    return make(request.param)


@pytest.fixture(scope="session", params=[name for name in MEMBERSHIP if name in REGULAR])
def automaton_membership(request, make) -> Language:
    """Each language in the narrow sense that has an automaton in turn."""
    return make(request.param)


@pytest.fixture(scope="session", params=TAGGED)
def automaton_taggable(request, make) -> Language:
    """Each language that gives a class to every prefix, by an automaton, in turn."""
    return make(request.param)
