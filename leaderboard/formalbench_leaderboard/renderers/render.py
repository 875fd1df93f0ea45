"""The rendered files: pages, figures and the snapshot of the published records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, EvaluatedRecord
from formalbench.documents.reproduction import Document, read_document
from formalbench.files import read_plain, sweep
from formalbench.store import PUBLISHED_RESULTS, REPRODUCTIONS, Store
from formalbench.store.record_file import written
from formalbench.store.snapshot import SNAPSHOT

from formalbench_leaderboard.board.sources import FIGURES, FRONT, MODELS, SUITES, parted
from formalbench_leaderboard.charts.board_charts import rendered
from formalbench_leaderboard.charts.map_chart import map_files
from formalbench_leaderboard.publishing.places import MAX_BYTES, Contents, write_all
from formalbench_leaderboard.publishing.score_reports import PAGE, published_reports, reports_page
from formalbench_leaderboard.renderers import evidence_pages
from formalbench_leaderboard.renderers.evidence_pages import kept_records
from formalbench_leaderboard.renderers.pages import front_page, model_page, suite_page
from formalbench_leaderboard.renderers.site import lay_out

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


OWNED = (SUITES, MODELS, FIGURES)
"""Folders that contain only rendered files; any other file in them is deleted."""


def render_files(
    records: Mapping[Path, AnyRecord],
    host: PluginHost,
    files: Collection[Path] = (),
    documents: Mapping[str, Document] = MappingProxyType({}),
    kept: Collection[Record] = (),
    *,
    reports: Collection[EvaluatedRecord] = (),
) -> dict[Path, bytes]:
    """Return every file that is rendered from the published records.

    Args:
        records: all published records, by their paths below the repository's root.
        host: the plugins.
        files: other published files that pages link to (see `linked_files`).
        documents: results of reproductions (see `reproduced`).
        kept: records of reproductions (see `kept_records`).
        reports: self-reported scores (see `score_reports`).

    Returns:
        The contents of each file, by its path below the repository's root.

    Raises:
        RequestError: if there are figures and the drawing library is not installed.
    """
    site = lay_out(records, host, files, documents, kept)
    pages = {FRONT: front_page(site, reported=bool(reports))}
    pages |= evidence_pages.pages(site.evidence, site.links)
    pages |= {one.path: suite_page(one, site) for one in site.suites}
    pages |= {one.path: model_page(one, site) for one in site.models}
    if reports:
        pages[PAGE] = reports_page(reports, parted(records.values())[0])
    pages[SNAPSHOT] = written(records[path] for path in sorted(records))
    contents = {path: text.encode() for path, text in pages.items()}
    contents |= {path: svg.encode() for path, svg in map_files(site.map).items()}
    for one in site.suites:
        for board in one.board.boards:
            contents |= {path: rendered(figure, "svg") for figure, path in one.figures(board)}
    return contents


def render(repository: Path, host: PluginHost) -> list[Path]:
    """Write the rendered files of the published records, and delete files that are not rendered.

    Returns:
        The files that were written or deleted, by their paths below the root.

    Raises:
        RequestError: if a record is invalid, a file cannot be written, or there are figures and the
            drawing library is not installed.
    """
    sweep((repository / PUBLISHED_RESULTS).parent)
    expected = _expected(repository, host)
    contents: dict[Path, Contents] = dict.fromkeys(_obsolete(repository, expected))
    contents |= {path: expected[path] for path in _changed(repository, expected)}
    write_all(repository, contents)
    return sorted(contents)


def stale_files(repository: Path, host: PluginHost) -> list[Path]:
    """Return the files of a repository that do not match its records, byte for byte.

    Raises:
        RequestError: if a record is invalid, or there are figures and the drawing library is not
            installed.
    """
    expected = _expected(repository, host)
    return _changed(repository, expected) + _obsolete(repository, expected)


def _expected(repository: Path, host: PluginHost) -> dict[Path, bytes]:
    """Return every file that is rendered from a repository's records."""
    stored = Store(repository / PUBLISHED_RESULTS).files()
    records = {file.relative_to(repository): record for file, record in stored.items()}
    others = linked_files(repository), reproduced(repository), kept_records(repository)
    reports = published_reports(repository)
    return render_files(records, host, *others, reports=reports)


def _changed(repository: Path, expected: Mapping[Path, bytes]) -> list[Path]:
    """Return the files of a repository that differ from the rendered ones."""
    return [path for path, contents in expected.items() if _read(repository / path) != contents]


def _obsolete(repository: Path, expected: Collection[Path]) -> list[Path]:
    """Return the files in folders of rendered files that are not rendered any more."""
    files = (
        file.relative_to(repository)
        for folder in OWNED
        for file in sorted((repository / folder).rglob("*"))
        if file.is_symlink() or not file.is_dir()
    )
    pages = [PAGE] if (repository / PAGE).is_file() else []
    return [path for path in (*files, *pages) if path not in expected]


def _read(file: Path) -> bytes | None:
    """Return a file's contents; None if there is none, or it is not a plain file."""
    try:
        return read_plain(file, MAX_BYTES)
    except RequestError:
        return None


def linked_files(repository: Path) -> set[Path]:
    """Return the published files that pages link to, apart from the records.

    They are the pages of reproductions and the files that define tasks.
    """
    files = [
        *(repository / REPRODUCTIONS).glob("*.md"),
        *(repository / "tasks").rglob("*.yaml"),
        *(repository / "tasks").rglob("*.py"),
    ]
    return {file.relative_to(repository) for file in files}


def reproduced(repository: Path) -> dict[str, Document]:
    """Return the results of the reproductions in a repository, by their names.

    Invalid files are left out: `check` reports them.
    """
    documents = {}
    for file in (repository / REPRODUCTIONS).glob("*.json"):
        with suppress(RequestError):
            documents[file.stem] = read_document(file)
    return documents
