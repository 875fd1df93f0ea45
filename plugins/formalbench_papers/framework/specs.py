"""What the light files that announce experiments share; no torch, no numpy."""

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


RULE = (
    "A cell holds if the paper's average, and its maximum where there is one, are no more than 2 "
    "points from ours. It differs if the paper's average is further away than that and outside "
    "our 95 % interval (over seeds and test strings), whichever is better; or, where the average "
    "tells nothing, if the maxima are 10 points apart. Otherwise, or while planned seeds have not "
    "been run, our seeds cannot tell."
)
