"""What code a run was of: a digest of its source, and the packages that its plugins imported."""

from __future__ import annotations

import ast
import contextlib
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.host.loader import PROJECT

if TYPE_CHECKING:
    from torch import nn

    from formalbench.contracts.task import Task
    from formalbench.training.resolved_protocol import Recipe

MOST_PACKAGES = 32
"""Packages that a record names."""


def parts_of(task: Task, network: nn.Module, recipe: Recipe | None) -> list[object]:
    """Return the objects whose code decides a run's numbers.

    Args:
        task: what it trains on.
        network: what it trains.
        recipe: what its protocol names; None of a model that is not trained.
    """
    # A backbone stands inside a readout; the library's own layers are not anybody's code here.
    parts = [one for one in network.modules() if not type(one).__module__.startswith("torch.")]
    trains: list[object] = []
    if recipe:
        trains = [recipe.optimiser, recipe.schedule, recipe.sampler]
        trains += [one.penalty for one in recipe.penalties]
    return [task, task.source, task.objective, *trains, *parts]


def packages_of(parts: list[object]) -> dict[str, str]:
    """Return the versions of the packages that plugins imported, by distribution.

    Of a library whose network a plugin took whole, it is the library's own.

    Args:
        parts: `parts_of` a run; formalbench's own code among them does not count.
    """
    found: dict[str, str] = {}
    for package in sorted({type(one).__module__.partition(".")[0] for one in parts}):
        if package in _libraries():
            found |= {dist: metadata.version(dist) for dist in _distributions()[package]}
        elif package not in _own_packages():
            found |= _imported_by(package)
    return dict(sorted(found.items())[:MOST_PACKAGES])


def _imported_by(package: str) -> dict[str, str]:
    """Return the versions of what a package and its modules import, as far as it was imported."""
    names: set[str] = set()
    for key, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if key.partition(".")[0] == package and file is not None and file.endswith(".py"):
            with contextlib.suppress(OSError, SyntaxError):  # deleted or half saved since
                names |= _imports(file)
    used = (names & sys.modules.keys()) - {package, *_own_packages()}
    found = {dist for name in used for dist in _distributions().get(name, ())}
    return {dist: metadata.version(dist) for dist in found}


@lru_cache(maxsize=1024)
def _imports(file: str) -> frozenset[str]:
    """Return the top-level names that a Python file imports, anywhere in it.

    Raises:
        OSError: if it cannot be read.
        SyntaxError: if it is not Python.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


@lru_cache
def _own_packages() -> frozenset[str]:
    """Return formalbench's own packages; one installed for editing lists no others of its files."""
    entries = metadata.distribution(PROJECT).entry_points
    return frozenset(entry.value.partition(".")[0] for entry in entries)


@lru_cache
def _libraries() -> frozenset[str]:
    """Return the installed packages that are no plugins."""
    plugins = {point.value.partition(".")[0] for point in metadata.entry_points(group=PROJECT)}
    return frozenset(_distributions()) - plugins - _own_packages()


@lru_cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())
