"""Records as tables: a row per run, a row per test length.

A record is scored by the mean over its cells. At some lengths an answer is uninformative: no string
of odd length is in D_n, so rejecting all strings is always right.

`RUN_COLUMNS` and `CELL_COLUMNS` describe the columns. A run that did not finish has no cells: in
the second table it has one row without a length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from formalbench.contracts.objective import MUTUAL_INFORMATION
from formalbench.contracts.record import Record
from formalbench.statistics.aggregate import selected_rate
from formalbench.statistics.records import (
    Chances,
    has_learned,
    model_key,
    title_of,
    validation_of,
)

RUN_COLUMNS = {
    "model": "the model, with the options set",
    "source": "the distribution or file that it came from",
    "kind": "learned, or exact (not trained)",
    "parameters": "number of parameters of the network",
    "task": "the task, with its options; without an objective it is classify",
    "metric": "the primary metric; empty if the run did not finish",
    "protocol": "the protocol's name, with the settings that were changed",
    "version": "version of the protocol",
    "budget": "largest number of optimiser steps of a run",
    "learning_rate": "learning rate; empty for an exact model",
    "selected_rate": "whether validation selects this rate for the model on the task",
    "seed": "seed of the run",
    "status": "finished, diverged, out-of-memory, error or timeout",
    "steps": "optimiser steps taken",
    "ended": "what ended training: mastered, budget, capped or stopped",
    "seconds": "wall time of training",
    "validation": "accuracy on held-out strings of the training lengths",
    "learned": "whether validation is at least 99 % after training; always true for exact models",
    "chance": "accuracy of the best length-only answer, averaged over the cells",
    "chance_constant": "accuracy of the best constant answer, over the same strings",
    "mean_accuracy": "accuracy averaged over the cells with equal weights",
    "train_id": "hash of everything that determines the weights",
    "test_id": "hash of that and of everything that determines the test",
    "fingerprint": "SHA-256 of all test strings and targets",
    "device": "kind of device",
    "hardware": "name of the device",
    "date": "UTC, ISO 8601",
}
"""The meaning of each column of `runs_frame`."""

_CELLS = {
    "length": ("Int64", "length of the strings; the largest if the cell is a window of lengths"),
    "first": ("Int64", "the smallest length of the cell"),
    "group": ("object", "the named part of the test that the cell belongs to, if it has parts"),
    "strings": ("Int64", "number of tested strings"),
    "answers": ("Int64", "number of answers"),
    "correct": ("float64", "number of correct answers"),
    "accuracy": ("float64", "correct / answers"),
    "chance_at": (
        "float64",
        "accuracy of the best answer that depends only on the length, at this length; if known",
    ),
    "finite": (
        "boolean",
        "whether every logit was finite; if not, `correct` is the chance level",
    ),
    "mutual_information": (
        "float64",
        "mutual information of answer and target in bits; the mean over combined cells",
    ),
}

CELL_COLUMNS = {name: meaning for name, (_, meaning) in _CELLS.items()}
"""The meaning of the additional columns of `cells_frame`."""

_GROUP = ["model", "source", "task", "protocol", "version"]


def runs_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return a table of runs, one row per record, in order; see `RUN_COLUMNS`."""
    records = list(records)
    runs = pd.DataFrame([_run(record) for record in records], columns=list(RUN_COLUMNS))
    chosen = np.zeros(len(records), dtype=bool)
    for places in runs.groupby(_GROUP, sort=False).indices.values():
        rate = selected_rate([records[place] for place in places])
        chosen[places] = [records[place].learning_rate == rate for place in places]
    runs["selected_rate"] = chosen
    return runs


def cells_frame(
    records: Iterable[Record],
    chances: Chances = lambda record: None,
) -> pd.DataFrame:
    """Return a table of cells, one row per cell of a record; see `RUN_COLUMNS`, `CELL_COLUMNS`.

    Args:
        records: records of runs.
        chances: returns the chance level in each cell of a record, if it is known
            (`formalbench.statistics.frame`).
    """
    records = list(records)
    runs = runs_frame(records)
    counts = [len(record.test.cells.length) if record.test else 1 for record in records]
    cells = runs.loc[runs.index.repeat(counts)].reset_index(drop=True)
    parts = [_cells(record, chances(record)) for record in records]
    for place, (name, (kind, _)) in enumerate(_CELLS.items()):
        cells[name] = pd.Series([value for part in parts for value in part[place]], dtype=kind)
    return cells


def _run(record: Record) -> dict[str, object]:
    model, source = model_key(record)
    training, test = record.training, record.test
    return {
        "model": model,
        "source": source,
        "kind": record.model.kind,
        "parameters": record.model.parameters,
        "task": title_of(record),
        "metric": test.metric if test else None,
        "protocol": record.protocol.title,
        "version": record.protocol.version,
        "budget": record.protocol.steps,
        "learning_rate": record.learning_rate,
        "seed": record.seed,
        "status": record.status,
        "steps": training.steps if training else 0,
        "ended": training.ended if training else None,
        "seconds": training.seconds if training else 0.0,
        "validation": validation_of(record),
        "learned": has_learned(record),
        "chance": test.chance_length if test else None,
        "chance_constant": test.chance_constant if test else None,
        "mean_accuracy": test.accuracy if test else None,
        "train_id": record.train_id,
        "test_id": record.test_id,
        "fingerprint": test.fingerprint if test else None,
        "device": record.environment.device,
        "hardware": record.environment.hardware,
        "date": record.date,
    }


def _cells(record: Record, chances: Sequence[float] | None) -> tuple[Sequence[object], ...]:
    """Return the columns of a record's cells, in the order of `CELL_COLUMNS`."""
    if record.test is None:
        return ([None],) * len(CELL_COLUMNS)
    cells = record.test.cells
    none: Sequence[None] = [None] * len(cells.length)
    return (
        *(cells.length, cells.first or cells.length, cells.group or none),
        *(cells.strings, cells.asked, cells.correct),
        [right / answers for right, answers in zip(cells.correct, cells.asked, strict=True)],
        chances or none,
        [index not in (cells.not_finite or ()) for index in range(len(cells.length))],
        cells.means_of(MUTUAL_INFORMATION) or none,
    )
