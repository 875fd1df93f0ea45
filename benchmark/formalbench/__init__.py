"""formalbench: which formal languages can a sequence model express, learn and extrapolate on?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from formalbench.contracts.hooks import hookimpl

if TYPE_CHECKING:
    from formalbench.api import run

__version__ = "0.2.0"
__all__ = ["__version__", "hookimpl", "run"]


def __getattr__(name: str) -> Any:
    # `run` needs pandas and torch; importing formalbench does not.
    if name == "run":
        from formalbench.api import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
