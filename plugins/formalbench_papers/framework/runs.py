"""Models trained for a reproduction: by the ordinary way from a plan to records.

So the records are those of ``formalbench run``, boards include them, and finished runs are not
repeated.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.specs import show_value
from formalbench.device import choose_device
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import Run, RunOptions, RunPlan, RunRequest, make_plan
from formalbench.statistics.aggregate import aggregate, facts_of, selected_rate
from formalbench.statistics.result import Result
from formalbench.store import Store
from formalbench.ui.live import execute_live

K = TypeVar("K")

LEARNED = 0.99
"""Validation accuracy from which a network has learned its training lengths. Other networks say
nothing about longer strings."""


@dataclass(frozen=True, slots=True)
class CellPlan:
    """Runs of one model on one task under one protocol: what a cell of a table asks for.

    Attributes:
        row, column: the cell.
        model, task, protocol: names, as on the command line.
        model_options, task_options, protocol_options: those that differ from their defaults.
        seeds: how many; None for the protocol's number.
        cells: the cells of the page that these runs are for, as row and column, if they are other
            ones than `row` and `column`.
        reduced: whether the protocol trains for fewer steps than the paper.
    """

    row: str
    column: str
    model: str
    task: str
    protocol: str
    model_options: Mapping[str, Value] = field(default_factory=dict)
    task_options: Mapping[str, Value] = field(default_factory=dict)
    protocol_options: Mapping[str, Value] = field(default_factory=dict)
    seeds: int | None = None
    cells: tuple[tuple[str, str], ...] = ()
    reduced: bool = False

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The cells of the page that these runs are for."""
        return self.cells or ((self.row, self.column),)

    def request(self) -> RunRequest:
        """Return the corresponding request of ``formalbench run``."""
        options = {
            "model": self.model_options,
            "task": self.task_options,
            "protocol": self.protocol_options,
        }
        settings = [
            f"{scope}.{key}={show_value(value)}"
            for scope, values in options.items()
            for key, value in values.items()
        ]
        return RunRequest(
            models=(self.model,),
            tasks=(self.task,),
            protocol=self.protocol,
            seeds=self.seeds,
            settings=parse_settings(settings),
        )


@dataclass(frozen=True, slots=True)
class CellRecords:
    """Records of the runs of a cell.

    Attributes:
        plan: what was asked for.
        records: of every rate and seed, at least one; some may not have finished.
    """

    plan: CellPlan
    records: Sequence[Record]

    @property
    def wanted(self) -> CellPlan:
        """The old name of `plan`; it works until 0.5."""
        warnings.warn("CellRecords.wanted is now plan", DeprecationWarning, stacklevel=2)
        return self.plan

    @property
    def chosen(self) -> list[Record]:
        """The runs of the learning rate that validation chose, by seed."""
        rate = selected_rate(self.records)
        runs = [record for record in self.records if record.learning_rate == rate]
        return sorted(runs, key=lambda record: record.seed)

    @property
    def missing(self) -> int:
        """How many seeds of the chosen rate were not run yet."""
        planned = self.plan.seeds or self.records[0].protocol.seeds
        return max(0, planned - len(self.chosen))

    @property
    def unfinished(self) -> int:
        """How many seeds of the chosen rate have no result: not run yet, or did not finish."""
        return self.missing + sum(record.test is None for record in self.chosen)

    @property
    def learned(self) -> CellRecords | None:
        """Those of the chosen runs that learned the training lengths; None if none did.

        Seeds that did not learn them are not missing: they were run.
        """
        runs = [record for record in self.chosen if has_learned(record)]
        seeds = len(runs) + self.missing
        return CellRecords(replace(self.plan, seeds=seeds), runs) if runs else None

    @property
    def cut_off(self) -> bool:
        """Whether a reduced budget ended a run before it had learned the training lengths."""
        return self.plan.reduced and any(
            ran_out(record) and not has_learned(record) for record in self.chosen
        )

    @property
    def accuracies(self) -> list[float]:
        """Test accuracy of each of those that finished, by seed."""
        return [record.test.accuracy for record in self.chosen if record.test is not None]

    @property
    def result(self) -> Result:
        """The row of a board: mean, best, interval, scaled accuracy, as everywhere else."""
        names = (self.plan.row, self.plan.column)
        return aggregate(self.records, facts_of(self.records), ["reproduction", *names]).result

    @property
    def chance(self) -> float | None:
        """Accuracy of the best answer that sees only the length, if it is known."""
        facts = facts_of(self.records)
        return None if facts is None else facts.chance_length


def learned_of(got: Mapping[K, CellRecords]) -> dict[K, CellRecords]:
    """Return those runs that learned the training lengths; cells in which none did are left out."""
    return {key: runs for key, cell in got.items() if (runs := cell.learned) is not None}


def has_learned(record: Record) -> bool:
    """Return whether a run learned the training lengths: `LEARNED` of the validation strings."""
    return record.selected is not None and record.selected.accuracy >= LEARNED


def ran_out(record: Record) -> bool:
    """Return whether the last step of the protocol ended a run's training."""
    return record.training is not None and record.training.ended == "budget"


def records_of(every: Iterable[CellRecords]) -> list[Record]:
    """Return the records of all that was trained, those of the rates that were not chosen, too."""
    return [record for cell in every for record in cell.records]


def select(wanted: Sequence[CellPlan], only: Sequence[str]) -> list[CellPlan]:
    """Return the runs for the points that a user asks for.

    Several rows, or several columns, are all meant; a row and a column together mean their cell.

    Args:
        wanted: every cell.
        only: rows and columns of the page; case and spaces do not matter.

    Raises:
        RequestError: for a point that there is not; the line names them all.
    """
    every = [cell for one in wanted for cell in one.shown]
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*every, strict=True))
    selected: tuple[set[str], set[str]] = (set(), set())
    for point in only:
        for side, names in zip(selected, (rows, columns), strict=True):
            side.update(name for name in names if _squeezed(name) == _squeezed(point))
        if not any(_squeezed(name) == _squeezed(point) for name in (*rows, *columns)):
            points = f"rows: {'; '.join(rows)}. Columns: {'; '.join(columns)}"
            raise RequestError(f"--only {point}: unknown point. {points}")
    chosen = [
        one
        for one in wanted
        if any((not selected[0] or r in selected[0]) and (not selected[1] or c in selected[1])
               for r, c in one.shown)
    ]  # fmt: skip
    if not chosen:
        raise RequestError(f"--only {' --only '.join(only)}: nothing is in this row and column")
    return chosen


def _squeezed(point: str) -> str:
    return "".join(point.split()).casefold()


def train(
    host: PluginHost,
    wanted: Sequence[CellPlan],
    results: Path,
    device: str = "auto",
    jobs: int | None = None,
) -> None:
    """Carry out all the runs that are wanted and not done yet, as one plan.

    Args:
        host: the plugins.
        wanted: cells; several may share runs.
        results: the folder of the records.
        device: ``auto``, ``cpu`` or ``cuda:i``.
        jobs: how many at once; None for the default.

    Raises:
        RequestError: for a bad request.
    """
    chosen = choose_device(device)
    plans = [make_plan(host, one.request()) for one in wanted]
    every = RunPlan(tuple({run_key(run): run for plan in plans for run in plan.runs}.values()))
    execute_live(host, every, Store(results), RunOptions(jobs=jobs, devices=(chosen,)))


def held(host: PluginHost, wanted: Sequence[CellPlan], results: Path) -> list[CellRecords | None]:
    """Return existing records of the wanted cells, without training.

    Returns:
        One per cell, in order: the records of those seeds and rates that there are; None if there
        are none.

    Raises:
        RequestError: for a bad request, or a file that is no record.
    """
    by_key = {run_key(record): record for record in Store(results).records()}
    every = []
    for one in wanted:
        runs = make_plan(host, one.request()).runs
        records = [by_key[run_key(run)] for run in runs if run_key(run) in by_key]
        # A record's protocol may plan fewer seeds than the protocol does now.
        planned = replace(one, seeds=len({run.seed for run in runs}))
        every.append(CellRecords(planned, records) if records else None)
    return every


def run_key(run: Run | Record) -> tuple[str, str]:
    """Return what a run and its record share, and no other run under a protocol's title."""
    return run.test_id, run.protocol.title
