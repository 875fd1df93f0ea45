"""What a paper's folder announces: light, for a listing imports it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from formalbench.contracts.specs import ProtocolSpec


def protocols(folder: Path, summaries: Mapping[str, str]) -> tuple[ProtocolSpec, ...]:
    """Return the protocols of a folder.

    Args:
        folder: where the file of each lies, ``NAME.yaml``.
        summaries: of each, by its name.
    """
    return tuple(
        ProtocolSpec(name, summary, folder / f"{name}.yaml") for name, summary in summaries.items()
    )
