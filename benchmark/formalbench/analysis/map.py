"""The map: which family of models can express, learns and extrapolates on which language.

Columns are languages by their class, rows are models by their family; a cell is how one model did
on one language under one protocol. A family is headed by what theory says of it and by what was
built by hand. Every face of the map is a function of `LanguageMap`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from formalbench.analysis.results import Prediction
from formalbench.analysis.strips import Strip
from formalbench.contracts.theory import Theory

State = Literal["learned", "unlearned", "failed", "not run"]
Verdict = Literal["can", "cannot", "some"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of models and tasks beside their records, each by its name.

    Attributes:
        family: of a model, options behind its name.
        theory: of a task by its full name.
        modulus: what a task's language counts modulo (`formalbench.theory.moduli`).
        trained_to: the longest training length of a task.
        predicted: what theorems say of a model on a task.
    """

    family: Callable[[str], str] = lambda model: model.partition("[")[0]
    theory: Callable[[str], Theory | None] = lambda task: None
    modulus: Callable[[str], int | None] = lambda task: None
    trained_to: Callable[[str], int | None] = lambda task: None
    predicted: Callable[[str, str], Prediction | None] = lambda model, task: None


@dataclass(frozen=True, slots=True)
class MapColumn:
    """A language.

    Attributes:
        task: the task's title.
        group: the class that it is shown under.
        trained_to: the longest string of training; None if that is not known.
        first, last: shortest and longest test length; None if nothing was tested.
        last_telling: the longest at which chance is not always right; None if there is none.
    """

    task: str
    group: str
    trained_to: int | None
    first: int | None
    last: int | None
    last_telling: int | None = None


@dataclass(frozen=True, slots=True)
class MapCell:
    """A model on a language.

    Attributes:
        task: the task's title.
        state: ``learned`` if a run that finished had learned the training lengths, ``unlearned`` if
            none did, ``failed`` if none finished, or none of those that learned.
        strip: of one that was learned: how it did at each length.
        learned, seeds: how many runs mastered the training lengths, and how many there are.
        validation: accuracy on held-out strings of the training lengths, the mean over the runs.
        budget: the most optimiser steps of a run that did not learn; of one that all learned, the
            most that a run was given.
        capped: how many runs that did not learn ended before their budget.
        solved: number of runs that learned, and are right on 99 % of the strings at every length.
        solved_to: the length up to which the runs, on average, are right on 99 % of the strings,
            all that finished having learned (see `Result`).
        command: repeats it or, where it was not run, runs it.
        prediction: what theory says, if anything.
        weak: whether its test is weak evidence of the language (see `Result`).
    """

    task: str
    state: State
    command: str
    strip: Strip = ()
    learned: int = 0
    seeds: int = 0
    validation: float | None = None
    budget: int = 0
    capped: int = 0
    solved: int = 0
    solved_to: int | None = None
    prediction: Prediction | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class MapRow:
    """A model.

    Attributes:
        model: its name, with the options set.
        cells: one for every column.
        missing: the command that runs it where it was not run; empty if it was everywhere.
    """

    model: str
    cells: tuple[MapCell, ...]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What theory says of a family on a language.

    Attributes:
        verdict: ``some`` if it is not the same, or not known, of all its models.
        proved: whether theorems say so, and not experiments.
    """

    verdict: Verdict
    proved: bool


@dataclass(frozen=True, slots=True)
class HandBuilt:
    """The best construction of a family for a language.

    Attributes:
        model: its name, with the options set.
        exhaustive: every string up to this length was right, if so.
        tested_to: random and adversarial strings were, too, up to this one.
    """

    model: str
    exhaustive: int | None
    tested_to: int | None

    @property
    def verified_to(self) -> int:
        """The greatest length that it was verified at."""
        return max(self.exhaustive or 0, self.tested_to or 0)


@dataclass(frozen=True, slots=True)
class FamilyRows:
    """The models of a family, with what heads them: an entry for every column each."""

    name: str
    theory: tuple[Said | None, ...]
    built: tuple[HandBuilt | None, ...]
    rows: tuple[MapRow, ...]


@dataclass(frozen=True, slots=True)
class LanguageMap:
    """The map of one protocol.

    Attributes:
        protocol: its name and version; empty if nothing was run.
        columns: by class, from the smallest.
        families: in the order of their best models on the board.
    """

    protocol: str
    columns: tuple[MapColumn, ...]
    families: tuple[FamilyRows, ...]

    @property
    def cells(self) -> list[tuple[MapColumn, MapRow, MapCell]]:
        """Every cell with its column and its row."""
        rows = [row for family in self.families for row in family.rows]
        return [
            (column, row, cell)
            for row in rows
            for column, cell in zip(self.columns, row.cells, strict=True)
        ]
