"""What the engine itself provides as a plugin: the protocols."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import ProtocolSpec

_FOLDER = Path(__file__).with_name("protocols")


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce the protocols of this package."""
    yield ProtocolSpec(
        "quick", "a CPU, minutes: 2,000 steps, 16 test lengths", _FOLDER / "quick.yaml", "cpu"
    )
    yield ProtocolSpec(
        "standard",
        "a GPU: 100,000 steps, three learning rates, every test length",
        _FOLDER / "standard.yaml",
        "cuda",
    )
