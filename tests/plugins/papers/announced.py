"""The reproductions that the papers' plugin announces, and their claims on made-up runs."""

from dataclasses import replace

import numpy as np
from built_records import build_record
from formalbench_papers import plugin
from formalbench_papers.framework import bench as framework
from formalbench_papers.framework.runs import CellRecords

SPECS = {spec.name: spec for spec in plugin.formalbench_reproductions()}

SEEDS = 3

LENGTHS, STRINGS = 12, 1000
"""Of a made-up test: 41, 51, … 151, and as many strings of each."""


def carry_out(name, bench):
    """Return what one finds."""
    return framework.carry_out(bench, SPECS[name])


def made_up(runs_of, scale):
    """Return a bench that trains nothing.

    Args:
        runs_of: gives the records of a cell's seeds, given its plan; none if it was not run.
        scale: of the experiment.
    """

    class MadeUp(framework.Bench):
        def train(self, wanted, now=lambda one: True):
            return [cell(one, runs_of(one)) if now(one) else None for one in wanted]

    def cell(one, runs):
        return CellRecords(replace(one, seeds=len(runs)), runs) if runs else None

    return MadeUp(None, scale, lambda line: None)


def claims_on(name, found):
    """Return a page's claims on made-up runs.

    Args:
        name: of the reproduction.
        found: by a part of a cell's name ("row, column"), the first that fits: the accuracy on
            longer strings, or a list with that of each seed; as the second of a pair if the first
            is the accuracy on the training lengths. Other cells were not run.
    """

    def runs_of(one):
        place = f"{one.row}, {one.column}"
        shares = next((shares for part, shares in found.items() if part in place), None)
        if shares is None:
            return None
        near, far = shares if isinstance(shares, tuple) else (1.0, shares)
        rights = [[round(STRINGS * share)] * LENGTHS for share in np.broadcast_to(far, SEEDS)]
        return [
            build_record(one.model, seed=seed, validation=near, accuracy=right, strings=STRINGS)
            for seed, right in enumerate(rights)
        ]

    return carry_out(name, made_up(runs_of, "paper")).claims
