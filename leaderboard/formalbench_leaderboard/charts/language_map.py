"""The map of languages and models: its cells and its sentences.

Columns are languages, grouped by their class. Rows are models, grouped by family. A cell shows the
result of one model on one language under one protocol. A family shows what theory says about it,
and its hand-written constructions. Every output format of the map is a function of `LanguageMap`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from formalbench.contracts.record import Record
from formalbench.documents.table import CAPPED, DOUBTFUL, FAILED, SOME
from formalbench.documents.text import grouped, percent, plural
from formalbench.statistics.board import Board, ExactModel, Page, Row
from formalbench.statistics.length_profile import Strip, strip_of
from formalbench.statistics.records import LEARNED
from formalbench.statistics.result import Prediction

from formalbench_leaderboard.board.plugin_info import PluginFacts, known_here
from formalbench_leaderboard.board.sources import CORE_SUITE, DEFAULT_SUITE, read_published
from formalbench_leaderboard.board.views import suite_view

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord
    from formalbench.host import PluginHost

State = Literal["learned", "unlearned", "failed", "not run"]

TheoryClaim = str
"""The prediction of theory for a family on a language: ``can``, ``cannot``, or ``some`` if it
differs within the family or is unknown; followed by `BY_EXPERIMENTS` unless it is proved."""

BY_EXPERIMENTS = " (experiments)"


@dataclass(frozen=True, slots=True)
class MapColumn:
    """A language: the title of its task, its class, and its lengths, each None if unknown.

    Attributes:
        trained_to: the longest training length.
        first, last: the shortest and the longest test length.
    """

    task: str
    group: str
    trained_to: int | None
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class MapCell:
    """A model's result on a language.

    Attributes:
        state: ``learned`` if a finished run learned the training lengths, ``unlearned`` if no run
            did, ``failed`` if no run finished, or none of those that learned.
        strip: if it was learned, the accuracy at each length.
        learned, seeds: number of runs that mastered the training lengths, and of all runs.
        validation: mean accuracy over the runs on held-out strings of the training lengths.
        budget: the largest number of optimiser steps of a run that did not learn; if all runs
            learned, the largest budget of a run.
        capped: number of runs that did not learn and ended before their budget.
        solved: whether two thirds of the runs learned and are right on 99 % of the strings at every
            length, as in a row's profile.
        solved_to: the length up to which the runs' mean accuracy is at least 99 %, if all finished
            runs learned (see `Result`).
        command: repeats the runs, or runs them if there are none.
        prediction: the prediction of theory, if there is one.
        weak: whether its test is weak evidence for the language (see `Result`).
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
    solved: bool = False
    solved_to: int | None = None
    prediction: Prediction | None = None
    weak: bool = False
    unfinished: int = 0

    @property
    def right_throughout(self) -> bool:
        """Whether the mean accuracy of the runs is at least 99 % at every tested length."""
        return bool(self.strip) and self.solved_to == self.strip[-1].last


@dataclass(frozen=True, slots=True)
class MapRow:
    """A model, by its name with the options set, with a cell for every column.

    Attributes:
        missing: the command that runs it on the languages without a result; empty if none.
    """

    model: str
    cells: tuple[MapCell, ...]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class FamilyRows:
    """The models of a family, with an entry for every column.

    Attributes:
        theory: what theory predicts.
        built: the greatest length up to which one of its constructions was verified.
    """

    name: str
    theory: tuple[TheoryClaim | None, ...]
    built: tuple[int | None, ...]
    rows: tuple[MapRow, ...]


@dataclass(frozen=True, slots=True)
class LanguageMap:
    """The map of one protocol.

    Attributes:
        protocol: its name and version; empty if nothing was run.
        columns: grouped by class, the smallest class first.
        families: in the order of their best models on the board.
    """

    protocol: str
    columns: tuple[MapColumn, ...]
    families: tuple[FamilyRows, ...]

    @property
    def cells(self) -> list[tuple[MapColumn, MapRow, MapCell]]:
        """Return every cell with its column and its row."""
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
"""The headings of the classes, from the smallest class to the largest."""


def language_map(page: Page, known: PluginFacts) -> LanguageMap:
    """Return the map of a page, for the protocol under which the most results were learned.

    Text tasks are not languages and have no column. Tasks on which chance is always right, or which
    no model was tested on, have none either.
    """
    board = max(page.boards, key=lambda board: board.learned, default=None)
    columns = _columns(board, page.exact.rows, known)
    return LanguageMap(
        protocol=board.name if board else "",
        columns=columns,
        families=_families(board, page.exact.rows, columns, known),
    )


def map_here(page: Page, host: PluginHost, suite: str, records: Sequence[AnyRecord]) -> LanguageMap:
    """Return the map of a suite's page, with the properties that the plugins know.

    The public page, which has the default suite and only published records, shows the complete part
    of the core board, as in the README. A page with the user's own records shows all of them.
    """
    if suite == DEFAULT_SUITE:
        published = {record.test_id for record in read_published().records}
        if all(run.test_id in published for run in records if isinstance(run, Record)):
            page = complete_part(page, suite_view(host, CORE_SUITE).tasks)
    return language_map(page, known_here(host))


def complete_part(page: Page, tasks: Sequence[str]) -> Page:
    """Return the largest part of a page without an empty cell.

    It is a set of rows and a set of tasks such that every row was tested on every task, with as
    many cells as possible. Among parts of equal size, the one with more tasks is chosen. The result
    is for the first board that has such a part. Boards with ranks come first, and of these the one
    under whose protocol the most was learned.
    """
    parts = (_complete(board, tasks) for board in page.boards)
    first = next((board for board in parts if board.rows), None)
    return replace(page, boards=(first,) if first else ())


def _complete(board: Board, tasks: Sequence[str]) -> Board:
    measured = [frozenset(t for t in tasks if row.on(t) is not None) for row in board.rows]
    candidates = {frozenset[str]()}
    for subset in set(measured):  # every set of tasks that some rows have in common
        candidates |= {subset & one for one in candidates} | {subset}

    def size(chosen: frozenset[str]) -> tuple[int, int]:
        rows = sum(chosen <= subset for subset in measured)
        return rows * len(chosen), len(chosen)

    best = max(candidates, key=lambda chosen: (*size(chosen), sorted(chosen)))
    pairs = zip(board.rows, measured, strict=True)
    rows = tuple(row for row, subset in pairs if best and best <= subset)
    return replace(board, tasks=tuple(t for t in tasks if t in best), other_tasks=(), rows=rows)


def full_name(title: str) -> str:
    """Return the full name of a task, with its objective and without options, by its title."""
    name = title.partition("[")[0]
    return name if ":" in name else f"{name}:classify"


def _columns(
    board: Board | None, exact: Sequence[ExactModel], known: PluginFacts
) -> tuple[MapColumn, ...]:
    titles = (*board.tasks, *board.other_tasks) if board else ()
    facts = {title: board.facts_of(title) for title in titles} if board else {}
    rows = board.rows if board else ()
    scored = [
        title
        for title, task in facts.items()
        if (task is None or task.scored) and any(row.on(title) is not None for row in rows)
    ]
    entries = []
    for title in scored or sorted({one.task for one in exact}):
        kind, modulus = _class_of(title, known)
        rank = list(_CLASSES).index(kind) if kind else len(_CLASSES)
        group = _CLASSES[kind] or f"mod {modulus}" if kind else UNKNOWN_CLASS
        task = facts.get(title)
        ends = (task.first, task.last) if task else (None, None)
        entries.append((rank, modulus, MapColumn(title, group, known.trained_to(title), *ends)))
    return tuple(column for *_, column in sorted(entries, key=lambda entry: entry[:2]))


def _class_of(title: str, known: PluginFacts) -> tuple[str, int]:
    """Return the class under which a task is shown, and its modulus; 0 if it has none."""
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
    board: Board | None,
    exact: Sequence[ExactModel],
    columns: Sequence[MapColumn],
    known: PluginFacts,
) -> tuple[FamilyRows, ...]:
    by_family: dict[str, list[MapRow]] = {}
    if board is not None:
        for row in board.rows:
            map_row = _row(row, board, columns, known)
            by_family.setdefault(known.family(row.key[0]), []).append(map_row)
    built: dict[tuple[str, str], int] = {}
    for one in exact:
        key = known.family(one.key[0]), one.task
        if (length := max(one.exhaustive or 0, one.tested_to or 0)) and not one.errors:
            built[key] = max(length, built.get(key, 0))
    titles = [column.task for column in columns]
    unmeasured = sorted({family for family, task in built if task in titles} - set(by_family))
    return tuple(
        FamilyRows(
            name=name,
            theory=tuple(
                _theory_claim([row.cells[at] for row in rows]) for at in range(len(columns))
            ),
            built=tuple(built.get((name, title)) for title in titles),
            rows=tuple(rows),
        )
        for name, rows in (*by_family.items(), *((family, []) for family in unmeasured))
    )


def _theory_claim(cells: Sequence[MapCell]) -> TheoryClaim | None:
    """Combine the predictions for the models of a family on a language."""
    predictions = [cell.prediction for cell in cells if cell.prediction is not None]
    if not predictions:
        return None
    unanimous = len({one.verdict for one in predictions}) == 1 and len(predictions) == len(cells)
    proved = all(one.evidence != "experiment" for one in predictions)
    return (predictions[0].verdict if unanimous else "some") + ("" if proved else BY_EXPERIMENTS)


def _row(row: Row, board: Board, columns: Sequence[MapColumn], known: PluginFacts) -> MapRow:
    cells = tuple(_cell(row, board, column.task, known) for column in columns)
    missing = ",".join(cell.task for cell in cells if cell.state == "not run")
    return MapRow(row.model, cells, filling(row, missing) if missing else "")


def _cell(row: Row, board: Board, task: str, known: PluginFacts) -> MapCell:
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
    """Return the command that runs a model on more tasks, with the settings of another result."""
    if not row.results:
        return ""
    words = shlex.split(row.results[0].command)
    arguments = list(words[:2])
    for option, value in zip(words[2::2], words[3::2], strict=True):
        if option == "--task":
            arguments += [option, tasks]
        elif option != "--seeds" and not (option == "--set" and value.startswith("task.")):
            arguments += [option, value]
    return shlex.join(arguments)


NOTHING = "No model has been measured on a language yet."

Placed = tuple[MapColumn, MapCell]

_THRESHOLD = f"{100 * LEARNED:.0f} %"

_STATEMENTS = (
    ("the model can express the language", "can", "this instance"),
    ("a larger model of its family can", "can", "a larger one of its family"),
    ("a model of its family can, at a size that theory does not state,", "can", "unknown"),
    ("a model of its family can, by our own corollary of a theorem,", "can", "corollary"),
    ("no size can", "cannot", ""),
)
"""A theorem's prediction for a cell: its verdict, and the instance that it is about."""


def sentences(shown: LanguageMap) -> tuple[str, ...]:
    """Return the sentences above a map; a single one if nothing was measured."""
    cells = [(column, cell) for column, _, cell in shown.cells]
    measured = [(column, cell) for column, cell in cells if cell.state != "not run"]
    if measured:
        return _expressible(measured), _extrapolates(measured), _unknown(cells)
    built = sum(length is not None for family in shown.families for length in family.built)
    if not built:
        return (NOTHING,)
    count = f"{plural(built, 'construction')} {_verb(built)}"
    return (f"No model has been trained yet. {count} verified, which shows what can be expressed.",)


def _expressible(measured: list[Placed]) -> str:
    decided = [cell for _, cell in measured if _theorem(cell)]
    total = plural(len(measured), "measured cell")
    if not decided:
        return (
            f"Theory decides none of the {total}, so it is open whether a model that failed can "
            "express the language."
        )
    parts = [
        f"{statement} in {len(cells)} ({sum(cell.solved for cell in cells)} solved)"
        for statement, verdict, instance in _STATEMENTS
        if (cells := [cell for cell in decided if _theorem(cell) == (verdict, instance)])
    ]
    statements = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return (
        f"Theory for {total}: {statements}. A cell is solved if two thirds of its seeds learned "
        f"and are right on {_THRESHOLD} of the strings at every tested length. Theorems say which "
        "weights exist, not which ones training finds."
    )


def _extrapolates(measured: list[Placed]) -> str:
    learned = [(column, cell) for column, cell in measured if cell.state == "learned"]
    if not learned:
        return "No cell was learned, so no extrapolation could be measured."
    columns = [column for column, cell in learned if cell.right_throughout]
    total = plural(len(learned), "learned cell")
    if not columns:
        return (
            f"In none of the {total} is the mean accuracy of the seeds {_THRESHOLD} or more up to "
            "the longest tested length. Each strip shows where accuracy falls."
        )
    return (
        f"In {len(columns)} of {total} every seed learned, and their mean accuracy is {_THRESHOLD} "
        f"or more at every tested length{_times(columns)}. Other lengths were not tested."
    )


def _unknown(cells: list[Placed]) -> str:
    unlearned = [cell for _, cell in cells if cell.state == "unlearned"]
    failed = [cell for _, cell in cells if cell.state == "failed"]
    missing = sum(cell.state == "not run" for _, cell in cells)
    learned = sum(cell.learned > 0 for cell in failed)
    remark = f" ({learned} of them learned)" if learned else ""
    others = [f"{len(failed)} did not finish{remark}"] if failed else []
    others += [f"{missing} {_verb(missing)} not run"] if missing else []
    rest = f"; {' and '.join(others)}" if others else ""
    if not unlearned:
        partly = sum(cell.state == "learned" and cell.learned < cell.seeds for _, cell in cells)
        some = f", {partly} of them not by every seed" if partly else ""
        return f"Every cell that finished was learned{some}{rest}."
    budget = grouped(max(cell.budget for cell in unlearned))
    return (
        f"{plural(len(unlearned), 'cell')} {_verb(len(unlearned))} not learned within at most "
        f"{budget} steps (more steps might suffice), so no extrapolation is shown there{rest}."
    )


def _theorem(cell: MapCell) -> tuple[str, str] | None:
    """Return the prediction of a theorem for a cell, and the networks that it is about.

    Of our own corollaries that is ``corollary``: none states a size.
    """
    prediction = cell.prediction
    if prediction is None or prediction.evidence == "experiment":
        return None
    if prediction.evidence == "corollary":
        return prediction.verdict, prediction.evidence
    return prediction.verdict, "" if prediction.verdict == "cannot" else prediction.instance


def _times(columns: list[MapColumn]) -> str:
    """Return the longest tested lengths as multiples of the training length, if known for all."""
    times = [one.last / one.trained_to for one in columns if one.last and one.trained_to]
    if len(times) < len(columns):
        return ""
    low, high = (f"{one:.3g}" for one in (min(times), max(times)))
    if low == high:
        return f" (up to {low} times the longest training length)"
    return f" ({low} to {high} times the longest training length, depending on the task)"


def _verb(times: int) -> str:
    return "was" if times == 1 else "were"


def cell_text(cell: MapCell) -> str:
    """Return the content of a cell in words; if it was not run, the command that runs it."""
    if cell.state == "not run":
        return f"not run: {cell.command}"
    text = f"learned by {cell.learned} of {plural(cell.seeds, 'seed')}"
    if cell.state == "failed":
        none = f"none of {plural(cell.seeds, 'run')} finished"
        return f"{text}; no test finished" if cell.learned else none
    if cell.state == "unlearned":
        capped = f", {cell.capped} of {plural(cell.seeds, 'run')} capped" if cell.capped else ""
        return (
            f"not learned within {grouped(cell.budget)} steps{capped}: "
            f"validation accuracy {percent(cell.validation)} %"
        )
    text += " (weak evidence)" if cell.weak else ""
    if cell.unfinished:
        text += f", {plural(cell.unfinished, 'run')} diverged or did not finish"
    if not cell.strip:
        return text
    if cell.solved_to is not None:
        return f"{text}, right on {_THRESHOLD} of the strings up to length {cell.solved_to}"
    first, last = cell.strip[0], cell.strip[-1]
    return (
        f"{text}, scaled accuracy {100 * first.share:.0f} at length {first.first} and "
        f"{100 * last.share:.0f} at {last.last} (0: chance, 100: perfect)"
    )


def brief(cell: MapCell) -> str:
    """Return the content of a cell as a few symbols, for a table beside the map."""
    if cell.state == "unlearned":
        return f"[{percent(cell.validation, 0)}]{CAPPED if cell.capped else ''}"
    if cell.state != "learned":
        return cell.state
    if not cell.strip:
        return "learned"
    first, last = cell.strip[0], cell.strip[-1]
    part = f"{'' if cell.learned == cell.seeds else SOME}{DOUBTFUL if cell.weak else ''}"
    part += f" {FAILED}" if cell.unfinished else ""
    if cell.right_throughout:
        return f"✓ {last.last}{part}"
    return f"{100 * first.share:.0f} → {100 * last.share:.0f}{part}"
