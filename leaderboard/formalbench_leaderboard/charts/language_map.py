"""The map of languages and models: its data, its cells and its sentences.

Columns are languages by their class, rows are models by their family; a cell is how one model did
on one language under one protocol. A family is headed by what theory says of it and by what was
built by hand. Every face of the map is a function of `LanguageMap`.

Each has its numbers and what must not be read into them.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from formalbench.contracts.theory import Theory
from formalbench.documents.table import CAPPED, DOUBTFUL, FAILED, SOME
from formalbench.documents.text import grouped, percent, plural
from formalbench.statistics.board import Board, ExactModel, Page, Row
from formalbench.statistics.length_profile import Strip, strip_of
from formalbench.statistics.records import LEARNED
from formalbench.statistics.result import Prediction, TaskFacts

State = Literal["learned", "unlearned", "failed", "not run"]


Verdict = Literal["can", "cannot", "some"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of models and tasks beside their records, each by its name.

    Attributes:
        family: of a model, options behind its name.
        theory: of a task by its full name.
        modulus: what a task's language counts modulo (`formalbench.theory.transition_monoid`).
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
        unfinished: number of runs that did not finish, or diverged at some test lengths.
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
    unfinished: int = 0


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
        verdict: ``some`` if it differs within the family, or is unknown.
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


UNKNOWN_CLASS = "unclassified"


_CLASSES = {
    "finite": "R-trivial",
    "r-trivial": "R-trivial",
    "c-rasp": "C-RASP",
    "c-rasp-last": "C-RASP-last",
    "star-free": "star-free",
    "mod": "",
    "solvable": "solvable",
    "non-solvable": "non-solvable",
    "regular": "regular",
    "counter": "counter",
    "context-free": "context-free",
    "context-sensitive": "context-sensitive",
}
"""The classes as a map heads them, from the smallest to the largest."""


def language_map(page: Page, known: Known) -> LanguageMap:
    """Make the map of a page: of the protocol under which the most was learned.

    Texts are no languages and have no column; nor have tasks on which chance is always right, or
    which no model was tested on.
    """
    board = max(page.boards, key=lambda board: board.learned, default=None)
    columns = _columns(board, page.exact.rows, known)
    return LanguageMap(
        protocol=board.name if board else "",
        columns=columns,
        families=_families(board, page.exact.rows, columns, known),
    )


def complete_part(page: Page, tasks: Sequence[str]) -> Page:
    """Return the largest part of a page without an empty cell.

    Rows that were all tested on the same of the tasks, as many cells as there can be, and of two
    parts of one size that with more tasks; of the board of which that part is largest.
    """
    parts = [_complete(board, tasks) for board in page.boards]
    largest = max(parts, key=lambda board: len(board.rows) * len(board.tasks), default=None)
    return replace(page, boards=(largest,) if largest and largest.rows else ())


def _complete(board: Board, tasks: Sequence[str]) -> Board:
    measured = [frozenset(t for t in tasks if row.on(t) is not None) for row in board.rows]
    shared = {frozenset[str]()}
    for has in set(measured):  # every set of tasks that some rows have in common
        shared |= {has & one for one in shared} | {has}

    def size(chosen: frozenset[str]) -> tuple[int, int]:
        rows = sum(chosen <= has for has in measured)
        return rows * len(chosen), len(chosen)

    best = max(shared, key=lambda chosen: (*size(chosen), sorted(chosen)))
    pairs = zip(board.rows, measured, strict=True)
    rows = tuple(row for row, has in pairs if best and best <= has)
    return replace(board, tasks=tuple(t for t in tasks if t in best), other_tasks=(), rows=rows)


def full_name(title: str) -> str:
    """Return the full name of a task by its title: without options, with its objective."""
    name = title.partition("[")[0]
    return name if ":" in name else f"{name}:classify"


def _columns(
    board: Board | None, exact: Sequence[ExactModel], known: Known
) -> tuple[MapColumn, ...]:
    titles: Iterable[str] = (*board.tasks, *board.other_tasks) if board else ()
    facts = {title: board.facts_of(title) for title in titles} if board else {}
    shown = [title for title in titles if (of := facts[title]) is None or of.scored]
    rows = board.rows if board else ()
    shown = [title for title in shown if any(row.on(title) is not None for row in rows)]
    shown = shown or sorted({one.task for one in exact})
    order = list(_CLASSES)
    placed = []
    for place, title in enumerate(shown):
        kind, modulus = _class_of(title, known)
        rank = order.index(kind) if kind else len(order)
        heading = _CLASSES[kind] or f"mod {modulus}" if kind else UNKNOWN_CLASS
        placed.append((rank, modulus, place, _column(title, heading, facts.get(title), known)))
    return tuple(column for *_, column in sorted(placed, key=lambda entry: entry[:3]))


def _column(title: str, heading: str, facts: TaskFacts | None, known: Known) -> MapColumn:
    return MapColumn(
        task=title,
        group=heading,
        trained_to=known.trained_to(title),
        first=facts.first if facts else None,
        last=facts.last if facts else None,
        last_telling=facts.last_telling if facts else None,
    )


def _class_of(title: str, known: Known) -> tuple[str, int]:
    """Return the class that a task is shown under, and what it counts modulo; 0 for nothing."""
    theory = known.theory(full_name(title))
    if theory is None:
        return "", 0
    if theory.finest == "solvable":
        modulus = known.modulus(full_name(title)) or 1
        return ("mod", modulus) if modulus > 1 else ("solvable", 0)
    if theory.finest == "regular" and theory.solvable is False:
        return "non-solvable", 0
    return theory.finest, 0


def _families(
    board: Board | None, exact: Sequence[ExactModel], columns: Sequence[MapColumn], known: Known
) -> tuple[FamilyRows, ...]:
    found: dict[str, list[MapRow]] = {}
    if board is not None:
        for row in board.rows:
            shown = _row(row, board, columns, known)
            found.setdefault(known.family(row.key[0]), []).append(shown)
    built = _built(exact, known)
    titles = [column.task for column in columns]
    alone = sorted({family for family, task in built if task in titles} - set(found))
    return tuple(
        FamilyRows(
            name=name,
            theory=tuple(_said(cells) for cells in _by_column(found.get(name, []), columns)),
            built=tuple(built.get((name, title)) for title in titles),
            rows=tuple(found.get(name, ())),
        )
        for name in (*found, *alone)
    )


def _by_column(rows: Sequence[MapRow], columns: Sequence[MapColumn]) -> list[list[MapCell]]:
    return [[row.cells[place] for row in rows] for place in range(len(columns))]


def _said(cells: Sequence[MapCell]) -> Said | None:
    """Put together what theory says of the models of a family on a language."""
    known = [cell.prediction for cell in cells if cell.prediction is not None]
    if not known:
        return None
    verdicts = {one.verdict for one in known}
    agreed = len(verdicts) == 1 and len(known) == len(cells)
    verdict: Verdict = known[0].verdict if agreed else "some"
    return Said(verdict, all(one.evidence == "theorem" for one in known))


def _built(exact: Sequence[ExactModel], known: Known) -> Mapping[tuple[str, str], HandBuilt]:
    """Return the construction that was verified furthest, by family and task."""
    found: dict[tuple[str, str], list[HandBuilt]] = defaultdict(list)
    for one in exact:
        built = HandBuilt(one.model, one.exhaustive, one.tested_to)
        if not one.errors and built.verified_to:
            found[known.family(one.key[0]), one.task].append(built)
    return {
        key: min(every, key=lambda built: (-built.verified_to, built.model))
        for key, every in found.items()
    }


def _row(row: Row, board: Board, columns: Sequence[MapColumn], known: Known) -> MapRow:
    cells = tuple(_cell(row, board, column.task, known) for column in columns)
    missing = ",".join(cell.task for cell in cells if cell.state == "not run")
    return MapRow(row.model, cells, filling(row, missing) if missing else "")


def _cell(row: Row, board: Board, task: str, known: Known) -> MapCell:
    result, prediction = row.on(task), known.predicted(row.key[0], full_name(task))
    if result is None:
        return MapCell(task, "not run", filling(row, task), prediction=prediction)
    facts = board.facts_of(task)
    state: State = "learned" if result.reaches else "unlearned" if result.unlearned else "failed"
    return MapCell(
        task=task,
        state=state,
        command=result.command,
        strip=strip_of(result, facts) if facts and result.reaches else (),
        learned=result.learned,
        seeds=result.seeds,
        validation=result.validation,
        budget=result.tried,
        capped=result.capped,
        solved=result.solved,
        solved_to=result.longest_99,
        prediction=prediction,
        weak=result.weak,
        unfinished=sum(times for _, times in result.failures),
    )


def filling(row: Row, tasks: str) -> str:
    """Return the command that runs a model on more tasks, as it was run on another."""
    if not row.results:
        return ""
    words = shlex.split(row.results[0].command)
    kept = list(words[:2])
    for option, value in zip(words[2::2], words[3::2], strict=True):
        if option == "--task":
            kept += [option, tasks]
        elif option != "--seeds" and not (option == "--set" and value.startswith("task.")):
            kept += [option, value]
    return shlex.join(kept)


NOTHING = "No model has been measured on a language yet."


Placed = tuple[MapColumn, MapCell]


_THRESHOLD = f"{100 * LEARNED:.0f} %"


_SAID = (
    ("the model can express the language", "can", "this instance"),
    ("a larger model of its family can", "can", "a larger one of its family"),
    ("a model of its family can, at a size that theory does not state,", "can", "unknown"),
    ("no size can", "cannot", ""),
)
"""What a theorem says of a cell, its verdict and the instance that it speaks of."""


def sentences(shown: LanguageMap) -> tuple[str, ...]:
    """Return the sentences above a map; one if nothing was measured."""
    cells = [(column, cell) for column, _, cell in shown.cells]
    measured = [(column, cell) for column, cell in cells if cell.state != "not run"]
    if not measured:
        return (_nothing(shown),)
    return _expressible(measured), _extrapolates(measured), _unknown(cells)


def _nothing(shown: LanguageMap) -> str:
    built = sum(one is not None for family in shown.families for one in family.built)
    if not built:
        return NOTHING
    return (
        f"No model has been trained yet. {plural(built, 'construction')} {_were(built)} verified, "
        "which shows what can be expressed."
    )


def _expressible(measured: list[Placed]) -> str:
    said = [cell for _, cell in measured if _is_theorem(cell)]
    if not said:
        return (
            f"Theory decides none of the {plural(len(measured), 'measured cell')}, so it is open "
            "whether a model that failed can express the language."
        )
    parts = [
        f"{what} in {len(cells)} ({sum(cell.solved > 0 for cell in cells)} solved)"
        for what, verdict, instance in _SAID
        if (cells := [cell for cell in said if _says(cell) == (verdict, instance)])
    ]
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return (
        f"Theory for {plural(len(measured), 'measured cell')}: {listed}. A cell is solved if one "
        f"seed is right on {_THRESHOLD} of the strings at every tested length. Theorems say which "
        "weights exist, not which ones training finds."
    )


def _extrapolates(measured: list[Placed]) -> str:
    learned = [(column, cell) for column, cell in measured if cell.state == "learned"]
    if not learned:
        return "No cell was learned, so no extrapolation could be measured."
    far = [column for column, cell in learned if _to_the_end(column, cell)]
    if not far:
        return (
            f"None of the {plural(len(learned), 'learned cell')} stays at {_THRESHOLD} up to the "
            "longest tested length, on average over the seeds. Each strip shows where accuracy "
            "falls."
        )
    return (
        f"{len(far)} of {plural(len(learned), 'learned cell')} {_stay(len(far))} at {_THRESHOLD} "
        f"or more at every tested length{_times(far)}, on average over seeds that all learned. "
        "Other lengths were not tested."
    )


def _unknown(cells: list[Placed]) -> str:
    unlearned = [cell for _, cell in cells if cell.state == "unlearned"]
    failed = sum(cell.state == "failed" for _, cell in cells)
    missing = sum(cell.state == "not run" for _, cell in cells)
    others = [f"{failed} did not finish{_learned_first(cells)}"] if failed else []
    others += [f"{missing} {_were(missing)} not run"] if missing else []
    rest = f"; {' and '.join(others)}" if others else ""
    if not unlearned:
        partly = sum(cell.state == "learned" and cell.learned < cell.seeds for _, cell in cells)
        some = f", {partly} of them not by every seed" if partly else ""
        return f"Every cell that finished was learned{some}{rest}."
    budget = steps(max(cell.budget for cell in unlearned))
    return (
        f"{plural(len(unlearned), 'cell')} {_were(len(unlearned))} not learned within at most "
        f"{budget} (more steps might suffice), so no extrapolation is shown there{rest}."
    )


def _learned_first(cells: list[Placed]) -> str:
    """Return how many of the cells that did not finish were learned all the same."""
    failed = [cell for _, cell in cells if cell.state == "failed"]
    learned = sum(cell.learned > 0 for cell in failed)
    if learned == len(failed):
        return " (but learned)"
    return f" ({learned} of them learned)" if learned else ""


def _is_theorem(cell: MapCell) -> bool:
    return cell.prediction is not None and cell.prediction.evidence == "theorem"


def _says(cell: MapCell) -> tuple[str, str]:
    """Return what a theorem says of a cell, and of which networks."""
    said = cell.prediction
    assert said is not None
    return said.verdict, "" if said.verdict == "cannot" else said.instance


def _to_the_end(column: MapColumn, cell: MapCell) -> bool:
    return cell.solved_to is not None and cell.solved_to == column.last_telling


def _times(columns: list[MapColumn]) -> str:
    """Return how many times the training length the longest tested ones are, if known of all."""
    times = {
        column.last / column.trained_to for column in columns if column.last and column.trained_to
    }
    if not times or any(not column.trained_to for column in columns):
        return ""
    low, high = (f"{one:.3g}" for one in (min(times), max(times)))
    if low == high:
        return f" (up to {low} times the longest training length)"
    return f" ({low} to {high} times the longest training length, depending on the task)"


def _were(times: int) -> str:
    return "was" if times == 1 else "were"


def _stay(times: int) -> str:
    return "stays" if times == 1 else "stay"


def told(cell: MapCell) -> str:
    """Return what a cell says, in words; of one that was not run the command that runs it."""
    if cell.state == "not run":
        return f"not run: {cell.command}"
    if cell.state == "failed":
        if not cell.learned:
            return f"none of {plural(cell.seeds, 'run')} finished"
        learned = f"learned by {cell.learned} of {plural(cell.seeds, 'seed')}"
        return f"{learned}; no test finished"
    if cell.state == "unlearned":
        capped = f", {cell.capped} of {plural(cell.seeds, 'run')} capped" if cell.capped else ""
        return (
            f"not learned within {steps(cell.budget)}{capped}: "
            f"validation accuracy {percent(cell.validation)} %"
        )
    said = f"learned by {cell.learned} of {plural(cell.seeds, 'seed')}"
    said += " (weak evidence)" if cell.weak else ""
    if cell.unfinished:
        said += f", {plural(cell.unfinished, 'run')} diverged or did not finish"
    if not cell.strip:
        return said
    if cell.solved_to is not None:
        return f"{said}, right on {_THRESHOLD} of the strings up to length {cell.solved_to}"
    first, last = cell.strip[0], cell.strip[-1]
    return (
        f"{said}, scaled accuracy {100 * first.share:.0f} at length {first.first} and "
        f"{100 * last.share:.0f} at {last.last} (0: chance, 100: perfect)"
    )


def brief(cell: MapCell) -> str:
    """Return what a cell says, in a few signs: for a table beside the map."""
    if cell.state != "learned":
        if cell.state != "unlearned":
            return cell.state
        return f"[{percent(cell.validation, 0)}]{CAPPED if cell.capped else ''}"
    if not cell.strip:
        return "learned"
    first, last = cell.strip[0], cell.strip[-1]
    part = f"{'' if cell.learned == cell.seeds else SOME}{DOUBTFUL if cell.weak else ''}"
    part += f" {FAILED}" if cell.unfinished else ""
    if cell.solved_to == last.last:
        return f"✓ {last.last}{part}"
    return f"{100 * first.share:.0f} → {100 * last.share:.0f}{part}"


def steps(budget: int) -> str:
    """Return a budget as it is told."""
    return f"{grouped(budget)} step{'' if budget == 1 else 's'}"
