"""The plan of the leaderboard: the runs to train, in order (``leaderboard/plan.yaml``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from formalbench.contracts.errors import RequestError, validate
from formalbench.contracts.protocol import Part
from formalbench.contracts.specs import ReproductionSpec
from formalbench.documents.reproduction import Scale
from formalbench.files import read_yaml
from formalbench.running.plan import Run, RunRequest, make_plan
from formalbench.store import repository_above
from pydantic import Field, model_validator

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

PLAN = Path("leaderboard", "plan.yaml")
"""Path of the plan, below the repository's root."""

Text = Annotated[str, Field(min_length=1, max_length=1000)]
Names = Annotated[tuple[Text, ...], Field(min_length=1)]

CLAIM_DIFFERS = 1
"""The exit code of a reproduction in which a claim of the paper does not hold."""


class RunsEntry(Part):
    """Models to train on tasks.

    Attributes:
        title: the name of the entry.
        reason: why the leaderboard needs it, in one line.
        suite, tasks: what to train on, one of the two. Tasks are written as on the command line,
            with objective and options: ``parity:tag``, ``parity[p=0.3]``.
        models: as on the command line, with options: ``rnn[nonlinearity=relu]``.
        protocol: the protocol's name.
        seeds: how many, or which; None for the protocol's number.
    """

    title: Text
    reason: Text
    suite: Text | None = None
    tasks: Names | None = None
    models: Names
    protocol: Text
    seeds: int | tuple[int, ...] | None = None

    @model_validator(mode="after")
    def _suite_or_tasks(self) -> RunsEntry:
        if (self.suite is None) == (self.tasks is None):
            raise ValueError("name either a suite or tasks")
        return self

    def request(self) -> RunRequest:
        """Return the equivalent request of ``formalbench run``."""
        return RunRequest(
            models=self.models,
            tasks=self.tasks or (),
            suite=self.suite or "",
            protocol=self.protocol,
            seeds=self.seeds,
        )


class ReproductionEntry(Part):
    """A paper's figure or table to reproduce.

    Attributes:
        title, reason: as in `RunsEntry`.
        reproduce: its name, as for ``formalbench reproduce``.
        scale: the scale of the reproduction.
    """

    title: Text
    reason: Text
    reproduce: Text
    scale: Scale


class PlanFile(Part):
    """The contents of the file; entries are validated one by one, so that errors name the entry.

    Attributes:
        code: the commit whose code trains it.
        entries: in the order in which they are trained.
    """

    code: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    entries: Annotated[list[dict[str, Any]], Field(min_length=1)]


@dataclass(frozen=True)
class PlanEntry:
    """An entry of a plan, with its names resolved.

    Attributes:
        number: its position in the file, from 1.
        title: the name of the entry.
        runs: its runs, model by model; empty for a reproduction.
        reproduction: the reproduction; None for an entry with runs.
        scale: the scale of the reproduction.
    """

    number: int
    title: str
    runs: tuple[Run, ...] = ()
    reproduction: ReproductionSpec | None = None
    scale: Scale = "paper"


@dataclass(frozen=True)
class Plan:
    """A plan with all names resolved.

    Attributes:
        code: the commit whose code trains it.
        entries: in order.
    """

    code: str
    entries: tuple[PlanEntry, ...]


def find_plan(file: Path | None) -> Path:
    """Return the plan's file: the named one, otherwise that of the clone around the working folder.

    Raises:
        RequestError: if none is named and the working directory is not in a clone.
    """
    if file is not None:
        return file
    repository = repository_above(Path.cwd())
    if repository is None:
        raise RequestError(
            "name a plan with --plan: no leaderboard/results in this folder or in a folder above it"
        )
    return repository / PLAN


def read_plan_file(file: Path) -> PlanFile:
    """Read a plan without resolving the names in its entries.

    Raises:
        RequestError: one line that names the file.
    """
    return validate(PlanFile, read_yaml(file), file)


def read_plan(file: Path, host: PluginHost) -> Plan:
    """Read a plan and resolve every name in it.

    Raises:
        RequestError: one line that names the file and, if an entry is wrong, its number.
    """
    contents = read_plan_file(file)
    entries = tuple(
        _entry(host, number, data, f"{file}: entry {number}")
        for number, data in enumerate(contents.entries, 1)
    )
    return Plan(contents.code, entries)


def _entry(host: PluginHost, number: int, data: dict[str, Any], place: str) -> PlanEntry:
    if "reproduce" in data:
        reproduction = validate(ReproductionEntry, data, place)
        try:
            spec = host.reproductions.get(reproduction.reproduce)[0].spec
        except RequestError as error:
            raise RequestError(f"{place}: {error}") from None
        return PlanEntry(number, reproduction.title, (), spec, reproduction.scale)
    entry = validate(RunsEntry, data, place)
    try:
        # An entry names its protocol; the device changes nothing else in a plan.
        runs = make_plan(host, entry.request()).runs
    except RequestError as error:
        raise RequestError(f"{place}: {error}") from None
    return PlanEntry(number, entry.title, runs)


def runs_of(entries: Sequence[PlanEntry]) -> tuple[Run, ...]:
    """Return the runs of entries in their order; a run may occur several times."""
    return tuple(run for entry in entries for run in entry.runs)
