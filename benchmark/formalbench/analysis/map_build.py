"""From a page to its map: which columns it has, in which order, and what stands in each cell."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.constructions import ExactModel
from formalbench.analysis.map import (
    FamilyRows,
    HandBuilt,
    Known,
    LanguageMap,
    MapCell,
    MapColumn,
    MapRow,
    Said,
    State,
    Verdict,
)
from formalbench.analysis.results import TaskFacts
from formalbench.analysis.strips import strip_of

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
