"""Where records are found, where published ones are stored, and which ones a command selects.

The snapshot is a file of records that `publish` renders, like every page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.record import Record
from formalbench.contracts.theory import CLASSES
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.running.plan import task_used
from formalbench.statistics.board import Board, Page
from formalbench.statistics.build import View, build_page
from formalbench.statistics.frame import known_chances
from formalbench.statistics.records import protocol_key, task_title, title_of
from formalbench.statistics.selection import current_of, current_task
from formalbench.store import Store, default_results
from formalbench.store.record_file import read_packed
from formalbench.store.records import PUBLISHED_RESULTS, repository_above

from formalbench_leaderboard.board.theory import shortcut_here, theory_here

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


FILE = Path("leaderboard", "formalbench_leaderboard", "snapshot.jsonl")
"""Path below the repository's root."""


def read_snapshot(file: Path | None = None) -> list[AnyRecord]:
    """Return the records that came with the package; none if it has no snapshot.

    Each record is checked as if it were in a file of its own.

    Raises:
        RequestError: one line, if the file is damaged.
    """
    file = file or Path(__file__).parents[1] / FILE.name
    if not file.exists():
        return []
    return read_packed(file, "damaged: install formalbench again")


PAGE = Path("leaderboard", "README.md")


DEFAULT_SUITE = "default"


CORE_SUITE = "core"


BOARD = "formalbench leaderboard"


class Held(NamedTuple):
    """The contents of folders of records.

    Attributes:
        records: records of runs.
        verifications: verifications of exact models.
        invalid: an error message for every file that is not a record.
    """

    records: list[Record]
    verifications: list[VerificationRecord]
    invalid: list[str]

    def only(self, wanted: Callable[[AnyRecord], bool]) -> Held:
        """Return a copy with only the selected records."""
        return self._replace(
            records=[record for record in self.records if wanted(record)],
            verifications=[record for record in self.verifications if wanted(record)],
        )

    def beside(self, others: Held) -> Held:
        """Return the union with other records."""
        return Held(
            [*self.records, *others.records],
            [*self.verifications, *others.verifications],
            [*self.invalid, *others.invalid],
        )


def read_with_published(own: Path | None = None) -> Held:
    """Read the records of a folder, or of the user's own results, and the published records."""
    return read_published(own or default_results())


def read_published(*besides: Path) -> Held:
    """Read the published records and those of some folders.

    Published records are those of the repository that contains the working directory. Outside of a
    repository, they are those that came with the package.
    """
    repository = repository_above(Path.cwd())
    if repository is not None:
        return read_all([*besides, repository / PUBLISHED_RESULTS])
    return read_all(besides).beside(Held(*parted(read_snapshot()), []))


def read_all(folders: Iterable[Path]) -> Held:
    """Read the records of several folders; a folder that is named twice is read once.

    A folder that does not exist has no records.
    """
    once = {folder.resolve(): folder for folder in folders}
    read = [Store(folder).valid() for folder in once.values()]
    records = parted(record for found, _ in read for record in found)
    return Held(*records, [line for _, invalid in read for line in invalid])


def parted(records: Iterable[AnyRecord]) -> tuple[list[Record], list[VerificationRecord]]:
    """Return the records of runs and those of verifications."""
    held = list(records)
    return (
        [record for record in held if isinstance(record, Record)],
        [record for record in held if isinstance(record, VerificationRecord)],
    )


def check_folders(folders: Iterable[Path]) -> None:
    """Check that the folders that the user named exist.

    Raises:
        RequestError: one line, if a folder does not exist.
    """
    for folder in folders:
        if not folder.is_dir():
            raise RequestError(f"--results {folder}: no such folder")


def suite_view(host: PluginHost, suite: str) -> View:
    """Return the view that ranks by a suite and includes the published tables.

    Raises:
        RequestError: for an unknown suite.
    """
    tasks = [task_used(host.select_task(name)) for name in host.suite(suite).tasks]
    view = View(
        title=f"{BOARD}: suite {suite}",
        tasks=tuple(task_title(task.name, task.options) for task in tasks),
        published=tuple(host.published()),
        current=current_of(host),
        theory=cache(partial(theory_here, host)),
        shortcut=cache(partial(shortcut_here, host)),
        chances=known_chances(host),
    )
    return view.with_papers_on(lambda task: current_task(host, task.partition("[")[0]) is not None)


def among_published(own: Held, published: Held) -> Held:
    """Return the user's records together with published ones of the same protocols and tasks."""
    asked = {(protocol_key(record), title_of(record)) for record in own.records}
    beside = [
        record for record in published.records if (protocol_key(record), title_of(record)) in asked
    ]
    return own._replace(records=[*own.records, *beside])


def standing(view: View, own: Held, published: Held) -> View:
    """Return a view that shows the rank of the user's records: on their tasks, with rows marked.

    The ranking is over those tasks of the view that the records have, or over all tasks of the
    records if the view has none of them.
    """
    mine = dict.fromkeys(map(title_of, own.records))
    asked = [task for task in view.tasks if task in mine]
    if mine and set(asked) != set(view.tasks):
        view = replace(view, title=f"{view.title}, your tasks" if asked else f"{BOARD}: your tasks")
    return marked(replace(view, tasks=tuple(asked or sorted(mine)) or view.tasks), own, published)


def marked(view: View, own: Held, published: Held) -> View:
    """Return the view with the user's rows marked, except for records that are published."""
    known = {record.test_id for record in published.records}
    return replace(view, new={record.test_id for record in own.records} - known)


def on_tasks(held: Held, view: View, wanted: Sequence[str]) -> tuple[Held, View]:
    """Return the records and the view of only the named tasks, which are ranked by.

    Raises:
        RequestError: if one of the tasks has no record.
    """
    titles = [title.removesuffix(":classify") for title in wanted]
    known = {*map(title_of, held.records), *map(title_of, held.verifications), *view.tasks}
    for title in titles:
        if title not in known:
            raise unknown("task among the records", title, known)
    view = view.with_papers_on(lambda task: task in titles)
    held = held.only(lambda record: title_of(record) in titles)
    return held, replace(
        view, title=f"{BOARD}: {', '.join(titles)}", tasks=tuple(titles), only_tasks=True
    )


def in_class(held: Held, view: View, name: str) -> tuple[Held, View]:
    """Leave out all tasks that are not known to be in a language class.

    Args:
        held: all records.
        view: the view of all tasks.
        name: the class, one of `formalbench.contracts.theory.CLASSES`.
    """

    def inside(task: str) -> bool:
        theory = view.theory(task)
        return theory is not None and theory.within(name) is True

    view = replace(
        view.with_papers_on(inside),
        title=f"{view.title}, {name} tasks",
        tasks=tuple(task for task in view.tasks if inside(task)),
    )
    return held.only(lambda record: inside(record.task.name)), view


def pages_by_class(held: Held, view: View) -> dict[str, Page]:
    """Return, for each language class with a task of the suite, the page of these tasks.

    A class includes the tasks of its subclasses.
    """
    pages = {}
    for name in CLASSES:
        part, narrowed = in_class(held, view, name)
        if narrowed.tasks:
            pages[name] = build_page(part.records, replace(narrowed, only_tasks=True))
    return pages


def pages_by_keyword(host: PluginHost, held: Held, view: View) -> dict[str, Page]:
    """Return a page for each keyword that at least two, but not all, of the view's tasks have."""
    found: dict[str, list[str]] = {}
    for task in view.tasks:
        for keyword in host.task_entry(task.partition("[")[0])[0].spec.keywords:
            found.setdefault(keyword, []).append(task)
    pages = {}
    for keyword, tasks in found.items():
        if keyword not in CLASSES and 1 < len(tasks) < len(view.tasks):
            part, narrowed = on_tasks(held, view, tasks)
            pages[keyword] = build_page(part.records, narrowed)
    return pages


def of_models(page: Page, wanted: Collection[str]) -> Page:
    """Return the page with only the rows of some models; ranks remain those among all models.

    Args:
        page: the page of all models.
        wanted: names of models. A name without options selects all models of that name.

    Raises:
        RequestError: if one of them has no row.
    """
    shown = [row.model for board in page.boards for row in board.rows]
    shown += [row.model for row in page.exact.rows]
    known = {*shown, *(name.partition("[")[0] for name in shown)}
    for name in wanted:
        if name not in known:
            raise unknown("model among the records", name, known)

    def asked(model: str) -> bool:
        return model in wanted or model.partition("[")[0] in wanted

    def only(board: Board) -> Board:
        hidden = tuple(f"{row.model} " for row in board.rows if not asked(row.model))
        return replace(
            board,
            rows=tuple(row for row in board.rows if asked(row.model)),
            notes=tuple(note for note in board.notes if not note.startswith(hidden)),
        )

    exact = replace(page.exact, rows=tuple(row for row in page.exact.rows if asked(row.model)))
    boards = tuple(board for board in map(only, page.boards) if board.rows)
    return replace(page, boards=boards, exact=exact)
