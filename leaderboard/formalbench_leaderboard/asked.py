"""What somebody asks of the board: where they stand, of which models, on tasks of which class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from formalbench.analysis.board import Board, Page
from formalbench.analysis.build import View
from formalbench.analysis.keys import protocol_key, title_of
from formalbench.contracts.errors import unknown

from formalbench_leaderboard.sources import BOARD, Held


def among_published(own: Held, published: Held) -> Held:
    """Return somebody's records among the published ones of the same protocols and tasks."""
    asked = {(protocol_key(record), title_of(record)) for record in own.records}
    beside = [
        record for record in published.records if (protocol_key(record), title_of(record)) in asked
    ]
    return own._replace(records=[*own.records, *beside])


def standing(view: View, own: Held, published: Held) -> View:
    """Return the view of where somebody's records stand: their tasks, and their rows marked.

    They are ranked on those of the view's tasks that they have, and on their own ones if there is
    none of them.
    """
    mine = dict.fromkeys(map(title_of, own.records))
    asked = [task for task in view.tasks if task in mine]
    if mine and set(asked) != set(view.tasks):
        view = replace(view, title=f"{view.title}, your tasks" if asked else f"{BOARD}: your tasks")
    return marked(replace(view, tasks=tuple(asked or sorted(mine)) or view.tasks), own, published)


def marked(view: View, own: Held, published: Held) -> View:
    """Return the view with somebody's rows marked, but for what is published already."""
    known = {record.test_id for record in published.records}
    return replace(view, new={record.test_id for record in own.records} - known)


def on_tasks(held: Held, view: View, wanted: Sequence[str]) -> tuple[Held, View]:
    """Leave out all but some tasks, which are ranked by.

    Raises:
        RequestError: if there is no record on one of them.
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
    """Leave out all tasks that are not known to be in a class of languages.

    Args:
        held: all records.
        view: of all tasks.
        name: of the class, one of `formalbench.contracts.theory.CLASSES`.
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


def of_models(page: Page, wanted: Collection[str]) -> Page:
    """Leave out all rows but those of some models; ranks stay as they are among all.

    Args:
        page: of all models.
        wanted: their names, of all that share one, or with the options set.

    Raises:
        RequestError: if there is no row of one of them.
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
