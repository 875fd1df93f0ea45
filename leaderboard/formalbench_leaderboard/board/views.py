"""What a command shows: the view of a suite, parts of it, and the predictions of theory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from formalbench import Theory, __version__
from formalbench.cache import cached, package_digest
from formalbench.contracts.errors import FormalbenchError, unknown
from formalbench.contracts.theory import CLASSES
from formalbench.host.options import parse_instance
from formalbench.running.plan import task_used
from formalbench.statistics.aggregate import known_chances
from formalbench.statistics.board import Board, Page
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import protocol_key, task_title, title_of
from formalbench.statistics.result import Prediction
from formalbench.statistics.selection import current_of, current_task
from formalbench.theory import VERSION
from formalbench.theory.lookup import numbers_of_task, theory_for_theorems, theory_of_task

from formalbench_leaderboard.board.sources import FolderContents, shortcut_here

if TYPE_CHECKING:
    from formalbench.contracts.network import Traits
    from formalbench.contracts.specs import ModelSpec
    from formalbench.host import PluginHost
    from formalbench.host.registry import Entry


BOARD = "formalbench leaderboard"


def suite_view(host: PluginHost, suite: str) -> View:
    """Return the view that ranks by a suite and includes the published tables.

    Raises:
        RequestError: for an unknown suite.
    """
    tasks = [task_used(host.select_task(name)) for name in dict.fromkeys(host.suite(suite).tasks)]
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


def narrowed_to(view: View, own: FolderContents) -> View:
    """Return a view that ranks by those of its tasks that the user's records have.

    It ranks by all tasks of the records if the view has none of them.
    """
    titles = dict.fromkeys(map(title_of, own.records))
    tasks = [task for task in view.tasks if task in titles]
    if titles and set(tasks) != set(view.tasks):
        view = replace(view, title=f"{view.title}, your tasks" if tasks else f"{BOARD}: your tasks")
    return replace(view, tasks=tuple(tasks or sorted(titles)) or view.tasks)


def compared(held: FolderContents, own: FolderContents, view: View) -> FolderContents:
    """Return the user's records, and those that the view compares with them.

    These have a protocol of the user's records, or the protocol that the view selects, and a task
    of either.
    """
    mine = held.among(own)
    protocols = set(map(protocol_key, own.records))
    titles = {*map(title_of, mine.records), *view.tasks}
    chosen = view.protocols or ()
    ids = {record.test_id for record in mine.records}
    others = [
        record
        for record in held.records
        if record.test_id not in ids
        and title_of(record) in titles
        and (protocol_key(record) in protocols or record.protocol.title in chosen)
    ]
    return mine._replace(records=[*mine.records, *others])


def marked(view: View, own: FolderContents, published: FolderContents) -> View:
    """Return the view with the user's rows marked, except for records that are published."""
    published_ids = {record.test_id for record in published.records}
    return replace(view, new={record.test_id for record in own.records} - published_ids)


def on_tasks(
    held: FolderContents, view: View, wanted: Sequence[str]
) -> tuple[FolderContents, View]:
    """Return the records and the view of only the named tasks, which are ranked by.

    Raises:
        RequestError: if one of the tasks has no record.
    """
    titles = list(dict.fromkeys(title.removesuffix(":classify") for title in wanted))
    known = {*map(title_of, held.records), *map(title_of, held.verifications), *view.tasks}
    for title in titles:
        if title not in known:
            raise unknown("task among the records", title, known)
    view = view.with_papers_on(lambda task: task in titles)
    held = held.only(lambda record: title_of(record) in titles)
    return held, replace(
        view, title=f"{BOARD}: {', '.join(titles)}", tasks=tuple(titles), only_tasks=True
    )


def in_class(held: FolderContents, view: View, name: str) -> tuple[FolderContents, View]:
    """Leave out all tasks that are not known to be in a language class."""

    def inside(task: str) -> bool:
        theory = view.theory(task)
        return theory is not None and theory.within(name) is True

    view = replace(
        view.with_papers_on(inside),
        title=f"{view.title}, {name} tasks",
        tasks=tuple(task for task in view.tasks if inside(task)),
    )
    return held.only(lambda record: inside(record.task.name)), view


def pages_by_class(held: FolderContents, view: View) -> dict[str, Page]:
    """Return, for each language class with a task of the suite, the page of these tasks.

    A class includes the tasks of its subclasses.
    """
    pages = {}
    for name in CLASSES:
        part, narrowed = in_class(held, view, name)
        if narrowed.tasks:
            pages[name] = build_page(part.records, replace(narrowed, only_tasks=True))
    return pages


def pages_by_keyword(host: PluginHost, held: FolderContents, view: View) -> dict[str, Page]:
    """Return a page for each keyword that at least two, but not all, of the view's tasks have."""
    by_keyword: dict[str, list[str]] = {}
    for task in view.tasks:
        for keyword in host.select_task(task.partition("[")[0]).spec.keywords:
            by_keyword.setdefault(keyword, []).append(task)
    pages = {}
    for keyword, tasks in by_keyword.items():
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
    names = [row.model for board in page.boards for row in board.rows]
    names += [row.model for row in page.exact.rows]
    known = {*names, *(name.partition("[")[0] for name in names)}
    for name in wanted:
        if name not in known:
            raise unknown("model among the records", name, known)

    def is_wanted(model: str) -> bool:
        return model in wanted or model.partition("[")[0] in wanted

    def only(board: Board) -> Board:
        hidden = tuple(f"{row.model} " for row in board.rows if not is_wanted(row.model))
        return replace(
            board,
            rows=tuple(row for row in board.rows if is_wanted(row.model)),
            notes=tuple(note for note in board.notes if not note.startswith(hidden)),
        )

    exact = replace(page.exact, rows=tuple(row for row in page.exact.rows if is_wanted(row.model)))
    boards = tuple(board for board in map(only, page.boards) if board.rows)
    return replace(page, boards=boards, exact=exact)


def theory_here(host: PluginHost, task: str) -> Theory | None:
    """Return the theoretical properties of a task by its full name; None if unknown here."""
    try:
        return theory_of_task(host, task)
    except FormalbenchError:  # of a plugin that is not installed or is broken
        return None


class Predictions:
    """The predictions of theorems for models on tasks.

    A model's components are inspected once for each objective: they do not depend on the language.
    """

    def __init__(self, host: PluginHost, theory: Callable[[str], Theory | None]) -> None:
        self._host, self._theory = host, theory
        self._cached_traits: dict[tuple[str, str], Traits] = {}
        self._predictions: dict[tuple[str, str], tuple[Prediction, ...]] = {}

    def of(self, model: str, task: str) -> Prediction | None:
        """Return the prediction for a model, given by its name with options, on a task.

        It is that of a theorem or, if no theorem decides, that of an experiment. None if neither
        decides.
        """
        return next(iter(self.each(model, task)), None)

    def each(self, model: str, task: str) -> tuple[Prediction, ...]:
        """Return the predictions of all theorems and experiments that decide.

        There are none for functions from strings to strings, and none for models of local plugins:
        third-party code is not run to show a page.
        """
        if (model, task) not in self._predictions:
            try:
                self._predictions[model, task] = self._predict(model, task)
            except FormalbenchError:  # it is not installed, or does not support this task any more
                self._predictions[model, task] = ()
        return self._predictions[model, task]

    def _predict(self, model: str, task: str) -> tuple[Prediction, ...]:
        from formalbench.theory.theorems import predict_each, sizes_of

        theory = theory_for_theorems(self._host, task, self._theory(task))
        entry, _ = self._host.models.get(parse_instance(model)[0])
        if theory is None or entry.plugin.local is not None:
            return ()
        language = task.partition(":")[0]
        traits = self._traits(entry, model, task)
        return tuple(
            Prediction(
                verdict,
                theorem.name,
                theorem.evidence,
                theorem.instance(
                    verdict,
                    sizes_of(traits),
                    numbers_of_task(self._host, task) if theorem.needs else None,
                ),
            )
            for verdict, theorem in predict_each(traits, theory, language)
            if verdict != "unknown"
        )

    def _traits(self, entry: Entry[ModelSpec], model: str, task: str) -> Traits:
        """Return the components of a model, with its sizes as notes; cached between calls."""
        from formalbench.contracts.network import Traits, traits_of
        from formalbench.theory.theorems import sizes_of

        # The network of a construction depends on its language.
        subject = task if entry.spec.kind == "exact" else self._host.select_task(task).objective

        def inspect_network() -> tuple[list[str], str, dict[str, int]]:
            traits = traits_of(self._host.network(model, self._host.task(task)))
            return sorted(traits.mechanisms), traits.eigenvalues, sizes_of(traits)

        if (model, subject) not in self._cached_traits:
            plugin = [entry.plugin.distribution, entry.plugin.version, entry.spec.version]
            package = entry.plugin.module.__name__.partition(".")[0]
            # A network can change while all versions stay the same.
            code = [package_digest(package), package_digest("formalbench")]
            key = ["built of", VERSION, __version__, plugin, code, model, subject]
            mechanisms, eigenvalues, sizes = cached(key, inspect_network)
            traits = Traits(mechanisms=tuple(mechanisms), eigenvalues=eigenvalues, notes=sizes)
            self._cached_traits[model, subject] = traits
        return self._cached_traits[model, subject]
