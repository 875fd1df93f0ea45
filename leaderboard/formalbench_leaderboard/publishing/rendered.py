"""The committed pages: what the repository shows of its published records, file by file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.board import Page
from formalbench.analysis.build import View, build_page
from formalbench.analysis.keys import ModelKey
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.theory import Theory
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.plain import read_plain
from formalbench.store import Store, safe_name
from formalbench.store.packed import written
from formalbench.store.repository import PUBLISHED_RESULTS, REPRODUCTIONS

from formalbench_leaderboard import snapshot
from formalbench_leaderboard.publishing.places import REST, built_in, home_suite
from formalbench_leaderboard.publishing.writing import MAX_BYTES
from formalbench_leaderboard.renderers import front, model, suite
from formalbench_leaderboard.renderers.figures import drawn_by, installed_version, rendered
from formalbench_leaderboard.renderers.links import FIGURES, FRONT, MODELS, SUITES, Links
from formalbench_leaderboard.renderers.same_figure import shows_the_same
from formalbench_leaderboard.renderers.site import ModelPage, Site, SuitePage
from formalbench_leaderboard.sources import DEFAULT_SUITE, parted, suite_view
from formalbench_leaderboard.theory import theory_here

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

OWNED = (SUITES, MODELS, FIGURES)
"""Folders in which every file is rendered: any other is left over."""


def render_files(
    records: Mapping[Path, AnyRecord],
    host: PluginHost,
    files: Collection[Path] = (),
    *,
    draw: bool = True,
) -> dict[Path, bytes]:
    """Return every file that is rendered from the published records.

    Args:
        records: all that are published, by their paths below the repository's root.
        host: the plugins.
        files: what else is published and linked to (see `linked_files`).
        draw: whether figures are among them.

    Returns:
        The contents of each file, by its path below the repository's root.

    Raises:
        RequestError: if there is a figure to draw, and the library that draws is not installed.
    """
    site = _site(records, host, files)
    pages = {FRONT: front.render(site)}
    pages |= {one.path: suite.render(one, site) for one in site.suites}
    pages |= {one.path: model.render(one, site) for one in site.models}
    pages[snapshot.FILE] = written(records[path] for path in sorted(records))
    contents = {path: text.encode() for path, text in pages.items()}
    if draw:
        for one in site.suites:
            for board in one.board.boards:
                contents |= {path: rendered(it, "svg") for it, path in one.figures(board)}
    return contents


def stale_files(repository: Path, host: PluginHost) -> list[Path]:
    """Return which files of a repository are not what its records give.

    A page must have every byte, a figure must show the same (`shows_the_same`). Without the
    library that draws, figures are not compared (`uncompared_figures`).
    """
    held = Store(repository / PUBLISHED_RESULTS).files()
    records = {file.relative_to(repository): record for file, record in held.items()}
    draw = installed_version() is not None
    expected = render_files(records, host, linked_files(repository), draw=draw)
    differing = [
        path for path, contents in expected.items() if not _as_it_is(repository, path, contents)
    ]
    kept = [*expected, *uncompared_figures(repository)]
    return differing + left_over(repository, kept)


def changed_files(repository: Path, rendered: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """Return the rendered files to write: a figure that shows the same stays as it is."""
    return {
        path: contents
        for path, contents in rendered.items()
        if not _as_it_is(repository, path, contents)
    }


def _as_it_is(repository: Path, path: Path, contents: bytes) -> bool:
    """Say whether a file of the repository is what would be rendered."""
    held = _read(repository / path)
    if path.suffix == ".svg" and held is not None:
        return shows_the_same(held, contents)
    return held == contents


def uncompared_figures(repository: Path) -> list[Path]:
    """Return the committed figures, if the library that draws is not installed."""
    if installed_version() is not None:
        return []
    figures = sorted((repository / FIGURES).glob("*.svg"))
    return [figure.relative_to(repository) for figure in figures]


def others_draw(repository: Path, paths: Iterable[Path]) -> set[str]:
    """Return which other versions of the library drew some of the committed figures."""
    held = (_read(repository / path) for path in paths if path.suffix == ".svg")
    versions = {drawn_by(svg) for svg in held if svg is not None}
    return {version for version in versions if version} - {installed_version() or ""}


def left_over(repository: Path, expected: Collection[Path]) -> list[Path]:
    """Return the files in the folders of rendered ones that are not rendered any more."""
    found = (
        file.relative_to(repository)
        for folder in OWNED
        for file in sorted((repository / folder).rglob("*"))
        if file.is_symlink() or not file.is_dir()
    )
    return [path for path in found if path not in expected]


def _read(file: Path) -> bytes | None:
    """Return a file's contents; None if there is none, or it is not a plain file."""
    try:
        return read_plain(file, MAX_BYTES)
    except RequestError:
        return None


def linked_files(repository: Path) -> set[Path]:
    """Return the published files that are linked to, beside the records.

    They are weights, and the pages of reproductions.
    """
    found = [
        *(repository / PUBLISHED_RESULTS).rglob("*.safetensors"),
        *(repository / REPRODUCTIONS).glob("*.md"),
    ]
    return {file.relative_to(repository) for file in found}


def _site(records: Mapping[Path, AnyRecord], host: PluginHost, files: Collection[Path]) -> Site:
    runs, verifications = parted(records.values())
    view = _view(host, DEFAULT_SUITE)
    everything = build_page(
        runs,
        replace(view, title="everything", tasks=()),
        verifications,
    )
    models = _models(everything, host)
    links = Links(
        models={one.key: one.path for one in models},
        records={_identity(record): path for path, record in records.items()},
        files=files,
    )
    pages = sorted(path for path in files if path.parent == REPRODUCTIONS)
    titles = {spec.name: spec.summary for spec in built_in(host.reproductions.all())}
    reproductions = [(titles.get(page.stem, page.stem), page) for page in pages]
    return Site(_suites(runs, host), models, everything, reproductions, links)


def _view(host: PluginHost, suite: str) -> View:
    """Return the view of a suite, with what theory says of tasks that come with formalbench.

    Of no others, and with the papers' numbers that do: the pages are the same whatever plugins
    are at hand.
    """

    def theory(task: str) -> Theory | None:
        try:
            own = built_in([host.task_entry(task)[0]])
        except RequestError:
            return None
        return theory_here(host, task) if own else None

    view = suite_view(host, suite)
    own = {spec.name for spec in built_in(host.tables.all())}
    published = tuple(table for table in view.published if table.key in own)
    return replace(view, theory=cache(theory), published=published)


def _identity(record: AnyRecord) -> str:
    return record.verification_id if isinstance(record, VerificationRecord) else record.test_id


def _suites(runs: list[Record], host: PluginHost) -> list[SuitePage]:
    """Return the suites that records are published under, or that some model has a score on."""
    homes = {home_suite(name, host) for name in {run.task.name for run in runs}}
    specs = built_in(host.suites.all())
    specs.sort(key=lambda spec: (spec.name != DEFAULT_SUITE, spec.name))
    found = []
    for spec in specs:
        page = build_page(runs, replace(_view(host, spec.name), only_tasks=True))
        scored = any(row.rank for board in page.boards for row in board.rows)
        if scored or spec.name in homes:
            found.append(SuitePage(spec.name, spec.summary, page))
    if REST in homes:
        in_none = [run for run in runs if home_suite(run.task.name, host) == REST]
        view = _view(host, DEFAULT_SUITE)
        page = build_page(in_none, replace(view, title=REST, tasks=(), published=()))
        found.append(SuitePage(REST, "tasks that are in no suite", page))
    return found


def _models(everything: Page, host: PluginHost) -> list[ModelPage]:
    measured = {row.key for board in everything.boards for row in board.rows}
    verified = {row.key for row in everything.exact.rows} - measured
    keys = measured | verified
    names = Counter(name for name, _ in keys)
    files = Counter(_file_name(key).casefold() for key in keys)
    return [
        ModelPage(
            key=key,
            title=key[0] if names[key[0]] == 1 else f"{key[0]} ({key[1]})",
            summary=_summary(key, host),
            path=MODELS / f"{_distinct(key, files)}.md",
        )
        for key in sorted(keys, key=lambda key: (key in verified, key))
    ]


def _file_name(key: ModelKey) -> str:
    return safe_name(key[0]) or "model"


def _distinct(key: ModelKey, files: Counter[str]) -> str:
    """Return a file name that no other model has, whatever the file system makes of case."""
    name = _file_name(key)
    if files[name.casefold()] == 1:
        return name
    return f"{name}-{sha256(repr(key).encode()).hexdigest()[:8]}"


def _summary(key: ModelKey, host: PluginHost) -> str:
    try:
        entry, _ = host.models.get(key[0].partition("[")[0])
    except RequestError:
        return ""
    own = built_in([entry]) if entry.plugin.source.distribution == key[1] else []
    return own[0].summary if own else ""
