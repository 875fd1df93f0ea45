"""The repository's pages before formatting: which pages exist, their content and their paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.record import Record
from formalbench.contracts.specs import TaskSpec
from formalbench.contracts.theory import Theory
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.documents.reproduction import Document
from formalbench.statistics.board import Board, ExactModel, Page, Row
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import ModelKey, row_names
from formalbench.store import REPRODUCTIONS, safe_name

from formalbench_leaderboard.board.plugin_info import (
    known_here,
    model_here,
    state_here,
    task_here,
)
from formalbench_leaderboard.board.sources import (
    CORE_SUITE,
    DEFAULT_SUITE,
    FIGURES,
    MODELS,
    SUITES,
    built_in,
    parted,
)
from formalbench_leaderboard.board.views import suite_view, theory_here
from formalbench_leaderboard.charts.board_charts import Drawing, drawings
from formalbench_leaderboard.charts.language_map import LanguageMap, complete_part, language_map
from formalbench_leaderboard.publishing.places import REST, home_suite
from formalbench_leaderboard.renderers.evidence_pages import Evidence, evidence_of
from formalbench_leaderboard.renderers.links import Links

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


@dataclass(frozen=True, slots=True)
class SuitePage:
    """A suite with records.

    Attributes:
        name, summary: from its plugin.
        board: its boards, with its own tasks only.
        state: returns the size of a model's state, if known.
    """

    name: str
    summary: str
    board: Page
    state: Callable[[Row], int | None] = lambda row: None

    @property
    def path(self) -> Path:
        """The path of its page."""
        return SUITES / f"{self.name}.md"

    def figures(self, board: Board) -> list[tuple[Drawing, Path]]:
        """Return the figures of one of its boards, with their paths."""
        return [
            (one, FIGURES / f"{one.name}.svg") for one in drawings(board, self.name, self.state)
        ]

    @property
    def ranked(self) -> list[Board]:
        """Its boards on which a model has a score; if there are none, those with rows."""
        boards = [one for one in self.board.boards if one.rows]
        return [one for one in boards if any(row.score is not None for row in one.rows)] or boards

    @property
    def elsewhere(self) -> str:
        """The end of a sentence that names the protocols of its other rankings; may be empty."""
        others = " and ".join(board.name for board in self.ranked[1:])
        return others and f", and under {others}"

    @property
    def uncounted(self) -> list[str]:
        """The notes on protocols without rows."""
        return [f"{one.name}: {' '.join(one.notes)}" for one in self.board.boards if not one.rows]

    @property
    def tasks(self) -> set[str]:
        """The titles of its tasks, measured or not."""
        return {task for board in self.board.boards for task in (*board.tasks, *board.other_tasks)}

    @property
    def scored(self) -> set[ModelKey]:
        """The models with a score under some protocol."""
        rows = (row for board in self.board.boards for row in board.rows)
        return {row.key for row in rows if row.score is not None}


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A model with its options.

    Attributes:
        key: identifies the model.
        title: its name with the options set; with its source if two models share the name.
        summary: from its plugin; empty if no plugin provides it.
        path: the path of its page.
    """

    key: ModelKey
    title: str
    summary: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReproductionPage:
    """A reproduction of a paper's figure or table.

    Attributes:
        path: the path of its page.
        document: its results; None if the file is invalid.
    """

    path: Path
    document: Document | None


@dataclass(frozen=True, slots=True)
class Site:
    """The content of all pages.

    Attributes:
        suites: the default one first, if it has records.
        models: the measured ones by name, then those that are only verified.
        everything: the boards of all records on all tasks, ranked by the default suite as on the
            web page, and the exact models.
        reproductions: by name.
        links: the targets of links.
        map: the complete part of the core board.
        evidence: predictions and published numbers, compared with the measurements.
    """

    suites: Sequence[SuitePage]
    models: Sequence[ModelPage]
    everything: Page
    reproductions: Sequence[ReproductionPage]
    links: Links
    map: LanguageMap
    evidence: Evidence

    def verified(self, key: ModelKey) -> tuple[ExactModel, ...]:
        """Return the verifications of a model, by task."""
        return tuple(row for row in self.everything.exact.rows if row.key == key)


def rows_of(page: Page, key: ModelKey) -> list[tuple[Board, Row]]:
    """Return a model's rows on the boards of a page."""
    return [(board, row) for board in page.boards for row in board.rows if row.key == key]


def lay_out(
    records: Mapping[Path, AnyRecord],
    host: PluginHost,
    files: Collection[Path],
    documents: Mapping[str, Document],
    kept: Collection[Record] = (),
) -> Site:
    """Return the pages of a repository.

    Args:
        records: all published records, by their paths below the repository's root.
        host: the plugins.
        files: other published files that pages link to.
        documents: results of reproductions, by their names.
        kept: the records of reproductions.
    """
    runs, verifications = parted(records.values())
    view = replace(_view(host, DEFAULT_SUITE), title="everything")
    everything = build_page(runs, view, verifications)
    models = _models(everything, host)
    links = Links(
        models={one.key: one.path for one in models},
        tasks=dict(_definitions(set(_titles(everything)), host, files)),
        records={_identity(record): path for path, record in records.items()},
    )
    pages = sorted(
        path for path in files if path.parent == REPRODUCTIONS and path.name != "README.md"
    )
    reproductions = [ReproductionPage(page, documents.get(page.stem)) for page in pages]
    evidence = evidence_of([*runs, *kept], view, host, own=True)
    front = complete_part(everything, _view(host, CORE_SUITE).tasks)
    core_map = language_map(front, known_here(host, view.theory, own=True))
    return Site(_suites(runs, host), models, everything, reproductions, links, core_map, evidence)


def _view(host: PluginHost, suite: str) -> View:
    """Return the view of a suite, with the theory of tasks that come with formalbench.

    Other tasks and other plugins' published tables are left out, so that the pages do not depend on
    the installed plugins.
    """

    def theory(task: str) -> Theory | None:
        return theory_here(host, task) if task_here(host, task, own=True) else None

    def chances(record: Record) -> tuple[float, ...] | None:
        return view.chances(record) if task_here(host, record.task.name, own=True) else None

    view = suite_view(host, suite)
    own = {spec.name for spec in built_in(host.tables.all())}
    published = tuple(table for table in view.published if table.key in own)
    return replace(view, theory=cache(theory), chances=chances, published=published)


def _identity(record: AnyRecord) -> str:
    return record.verification_id if isinstance(record, VerificationRecord) else record.test_id


def _titles(page: Page) -> Iterator[str]:
    """Yield the titles of the tasks on a page."""
    for board in page.boards:
        yield from (*board.tasks, *board.other_tasks)
    yield from (row.task for row in page.exact.rows)
    for table in page.published:
        yield from table.tasks


def _definitions(
    titles: Iterable[str], host: PluginHost, files: Collection[Path]
) -> Iterator[tuple[str, Path]]:
    """Yield the tasks that are defined by a file of the repository, each with the file."""
    by_path = {path.parts[1:]: path for path in files}  # relative to the package's parent
    for title in titles:
        entry = task_here(host, title, own=True)
        parts = () if entry is None else _source_file(entry.spec).parts
        tails = (parts[start:] for start in range(len(parts)))
        yield from ((title, by_path[tail]) for tail in tails if tail in by_path)


def _source_file(spec: TaskSpec) -> Path:
    """Return the file that defines a task, relative to its package's folder or to the root."""
    if isinstance(spec.factory, str):
        return Path(*spec.factory.partition(":")[0].split(".")).with_suffix(".py")
    return getattr(spec.factory, "path", Path())  # of a data file


def _suites(runs: list[Record], host: PluginHost) -> list[SuitePage]:
    """Return the suites under which records are published, or on which a model has a score."""
    homes = {home_suite(name, host) for name in {run.task.name for run in runs}}
    specs = built_in(host.suites.all())
    specs.sort(key=lambda spec: (spec.name != DEFAULT_SUITE, spec.name))
    pages = [
        SuitePage(
            spec.name,
            spec.summary,
            build_page(runs, replace(_view(host, spec.name), only_tasks=True)),
            partial(state_here, host, task=spec.tasks[0]),
        )
        for spec in specs
    ]
    suites = [page for page in pages if page.scored or page.name in homes]
    if REST in homes:
        others = [run for run in runs if home_suite(run.task.name, host) == REST]
        view = replace(_view(host, DEFAULT_SUITE), title=REST, tasks=(), published=())
        suites.append(SuitePage(REST, "tasks that are not in a suite", build_page(others, view)))
    return suites


def _models(everything: Page, host: PluginHost) -> list[ModelPage]:
    measured = {row.key for board in everything.boards for row in board.rows}
    verified = {row.key for row in everything.exact.rows} - measured
    keys = measured | verified
    names = row_names(keys)
    files = Counter(_file_name(key).casefold() for key in keys)
    return [
        ModelPage(
            key=key,
            title=names[key],
            summary=_summary(key, host),
            path=MODELS / f"{_unique_name(key, files)}.md",
        )
        for key in sorted(keys, key=lambda key: (key in verified, key))
    ]


def _file_name(key: ModelKey) -> str:
    return safe_name(key[0]) or "model"


def _unique_name(key: ModelKey, files: Counter[str]) -> str:
    """Return a file name that no other model has, even on case-insensitive file systems."""
    name = _file_name(key)
    if files[name.casefold()] == 1:
        return name
    return f"{name}-{sha256(repr(key).encode()).hexdigest()[:8]}"


def _summary(key: ModelKey, host: PluginHost) -> str:
    entry = model_here(host, key[0], own=True)
    return entry.spec.summary if entry and entry.plugin.source.distribution == key[1] else ""
