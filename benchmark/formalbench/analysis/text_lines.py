"""Texts over the length of what is read, or part by part: perplexity or BLEU with its seeds.

Legend: S seeds, P places: lengths or named parts of a test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formalbench.analysis.results import Result
from formalbench.analysis.statistics import Draws


@dataclass(frozen=True, slots=True)
class TextLine:
    """How a model did at each place, in its measure's own units; (P,) each.

    Attributes:
        length: of the texts; empty if the places are named parts.
        names: of the parts, the one with the shortest texts first; empty if they are lengths.
        mean: over the seeds that finished.
        low, high: of the seed with the least, and of the one with the most.
        seeds: each of them, (S, P).
    """

    length: tuple[int, ...]
    names: tuple[str, ...]
    mean: Draws
    low: Draws
    high: Draws
    seeds: Draws


def text_line(result: Result) -> TextLine | None:
    """Return how a model did; None if no run finished, or they differ in their places."""
    found = [dict(run.places) for run in result.runs if run.places]
    if not found or any(seed.keys() != found[0].keys() for seed in found):
        return None
    names = parts if set(parts := _parts(result)) == found[0].keys() else ()
    length = () if names else tuple(map(int, found[0]))
    values_SP = np.array([[seed[place] for place in names or seed] for seed in found])
    ends = values_SP.min(axis=0), values_SP.max(axis=0)
    return TextLine(length, names, values_SP.mean(axis=0), *ends, values_SP)


def _parts(result: Result) -> tuple[str, ...]:
    """Return the named parts of a test, by their shortest texts; nothing if it has none."""
    tested = (run.cells for run in result.runs if run.cells is not None)
    return next((tuple(dict.fromkeys(cells.group or ())) for cells in tested), ())
