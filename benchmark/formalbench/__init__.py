"""formalbench: which formal languages can a sequence model express, learn and extrapolate on?

Everything that plugin authors and notebooks need can be imported from here: ``docs/library.md``
shows how to use data and score answers, ``docs/plugins.md`` explains the other names. Names are
imported on first use, so importing formalbench is fast.
"""

from __future__ import annotations

import ast
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.4.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULES = {
    alias.name: node.module
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
"""Module of each exported name."""

__all__ = sorted([*_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "Workplace":
        warnings.warn("formalbench.Workplace is now Resources", DeprecationWarning, stacklevel=2)
        name = "Resources"
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
