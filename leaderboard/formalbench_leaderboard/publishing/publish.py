"""Publishing: copy records to ``leaderboard/results`` if all are valid, and pack their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, EvaluatedRecord
from formalbench.files import sweep
from formalbench.host import PluginHost
from formalbench.running.units import clean_cache
from formalbench.statistics.build import build_page
from formalbench.statistics.records import counts_of, has_result, identity, model_key, title_of
from formalbench.statistics.selection import distinct
from formalbench.store import PUBLISHED_RESULTS, Store, read_stored, repository_above, weights_path
from formalbench.store.archive import Archive, WeightLookup, read_weights

from formalbench_leaderboard.board.sources import DEFAULT_SUITE, parted
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.publishing.check import broken_promises, untrue
from formalbench_leaderboard.publishing.places import (
    Contents,
    RefusedError,
    naming,
    published_path,
    write_all,
)
from formalbench_leaderboard.publishing.plugin_sources import plugin_contents
from formalbench_leaderboard.publishing.record_check import Admission, copied, disagreeing
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses
from formalbench_leaderboard.publishing.weights import keeps_weights, write_weights

Pairs = dict[tuple[str, str], int]
"""Number of records of each (model, task)."""

Records = Mapping[Path, AnyRecord]
"""Records by their files."""


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The result of publishing.

    Attributes:
        added: new records.
        differing: records of published runs with other counts; the published records stay.
        already: number of other records that were published before.
        changes: new rows and changed ranks of the default suite, one line each.
        archive: the archive of the new weights; None if there are none.
    """

    added: Pairs
    differing: Pairs
    already: int
    changes: list[str]
    archive: Path | None = None


def find_repository() -> Path:
    """Return the repository that contains the working directory.

    Raises:
        RequestError: if there is none.
    """
    repository = repository_above(Path.cwd())
    if repository is None:
        raise RequestError(
            "neither this folder nor one above it has leaderboard/results: "
            "run this inside a clone of the formalbench repository"
        )
    return repository


def publish(
    results: Path, repository: Path, host: PluginHost, archive: Path | None = None
) -> PublishResult:
    """Copy the records of a folder to a repository, and their weights to an archive.

    The record of a finished, published run is kept; that of a failed run is replaced. Every new
    record must be one that the installed plugins would produce (see `Admission`). No page is
    rendered.

    Raises:
        RefusedError: if any record cannot be published; then nothing was written.
        RequestError: if there is no record, or a file cannot be written.
    """
    store = Store(repository / PUBLISHED_RESULTS)
    if results.resolve() == store.path.resolve():
        hint = "`formalbench leaderboard render` renders its pages"
        raise RequestError(f"{results} is what this repository publishes: {hint}")
    sweep(store.path.parent)
    sweep(archive.parent if archive else repository, below=False)
    clean_cache()
    files = store.files()
    stored = {identity(record): record for record in _one_per_run(files).values()}
    with PluginProcesses(host) as processes:
        admission = Admission(host, processes)
        sorting = _sort(_admitted(results, admission), stored)
        fresh = sorting["added"]
        _check_complete(admission, fresh, stored.values())
        lines = broken_promises(fresh.values(), host, processes)
        if lines := lines or [*untrue(fresh, WeightLookup(), host, processes)]:
            raise RefusedError(lines)
        sources = _sources(fresh.values(), processes)
    ids = {identity(record) for record in fresh.values()}
    old = {file.relative_to(repository): record for file, record in files.items()}
    unchanged = {path: record for path, record in old.items() if identity(record) not in ids}
    added = {published_path(record, host): record for record in fresh.values()}
    contents = sources | {path: record.to_json().encode() for path, record in added.items()}
    for path in old.keys() - unchanged.keys():
        for obsolete in (path, weights_path(path)):
            contents.setdefault(obsolete, None)
    packed = _write_archive(fresh.values(), results, archive, repository)
    write_all(repository, contents)
    return PublishResult(
        added=_counts(sorting["added"]),
        differing=_counts(sorting["differing"]),
        already=len(sorting["already"]),
        changes=_changes(old, unchanged | added, host) if fresh else [],
        archive=packed,
    )


def _admitted(results: Path, admission: Admission) -> Records:
    """Read the records of a folder except evaluations; if any record is invalid, refuse all.

    Raises:
        RefusedError: if a file is not a record, or is one that cannot be published.
        RequestError: if there is no record.
    """
    files = sorted(results.rglob("*.json"))
    if not files:
        raise RequestError(f"no record below {results}: `formalbench run` makes some")
    records: dict[Path, AnyRecord] = {}
    refused = []
    for file in files:
        try:
            record = read_stored(file)
            if isinstance(record, EvaluatedRecord):
                continue  # evaluations are local, unless `score_reports` publishes them
            admission.admit(record)
        except FormalbenchError as error:
            refused.append(naming(file, error))
        else:
            records[file] = record
    if refused := refused + disagreeing(records):
        raise RefusedError(refused)
    return records


def _one_per_run(records: Records) -> Records:
    """Leave out all but one record of each run and of each verification."""
    counting = set(map(id, distinct(parted(records.values())[0])))
    files = {
        identity(one): file
        for file, one in records.items()
        if id(one) in counting or not isinstance(one, Record)
    }
    return {file: records[file] for file in files.values()}


def _sort(candidates: Records, stored: Mapping[str, AnyRecord]) -> dict[str, dict[Path, AnyRecord]]:
    """Group records by what publishing does with them; keys are fields of `PublishResult`."""
    names = ("added", "differing", "already")
    sorting: dict[str, dict[Path, AnyRecord]] = {name: {} for name in names}
    for file, new in _one_per_run(candidates).items():
        old = stored.get(identity(new))
        if old is None or (has_result(new) and not has_result(old)):
            kind = "added"
        elif isinstance(new, Record) and has_result(new) and counts_of(new) != counts_of(old):
            kind = "differing"
        else:
            kind = "already"
        sorting[kind][file] = new
    return sorting


def _check_complete(admission: Admission, fresh: Records, stored: Iterable[AnyRecord]) -> None:
    """Refuse records if seeds, learning rates or weights are missing."""
    new, published = parted(fresh.values())[0], parted(stored)[0]
    lines = admission.incomplete(new, published) + copied([*published, *new])
    for file, record in fresh.items():
        if keeps_weights(record):
            try:
                read_weights(record, weights_path(file))
            except RequestError as error:
                lines.append(naming(file, error))
    if lines:
        raise RefusedError(lines)


def _sources(fresh: Iterable[AnyRecord], processes: PluginProcesses) -> dict[Path, Contents]:
    """Return the files of the records' local plugins, to be published with them.

    Raises:
        RefusedError: one line for each plugin that cannot be published.
    """
    contents: dict[Path, Contents] = {}
    done: set[Path] = set()
    lines: dict[str, None] = {}
    for record in fresh:
        try:
            for local in processes.sources(record):
                if local.path not in done:
                    contents |= plugin_contents(local)
                    done.add(local.path)
        except RequestError as error:
            lines.setdefault(str(error))
    if lines:
        raise RefusedError(list(lines))
    return contents


def _write_archive(
    fresh: Iterable[AnyRecord], results: Path, archive: Path | None, repository: Path
) -> Path | None:
    """Write the archive of the weights that are named by new records and stored beside them.

    An archive that a killed `publish` left is kept if it contains all of these weights. It then
    also contains those of the records that were published before the kill.

    Returns:
        The archive, if there are any weights.
    """
    runs = [one for one in fresh if isinstance(one, Record) and one.weights]
    lookup = WeightLookup([results] if runs else [])
    available = [run for run in runs if run in lookup]
    if not available:
        return None
    for existing in [archive] if archive else sorted(repository.glob("weights-*.tar")):
        if _has_all(existing, available):
            return existing
    names = " ".join(sorted(run.test_id for run in available))
    path = archive or repository / f"weights-{sha256(names.encode()).hexdigest()[:12]}.tar"
    write_weights(path, available, lookup)
    return path


def _has_all(path: Path, runs: Iterable[Record]) -> bool:
    """Whether a file is an archive that contains the weights of some runs."""
    try:
        index = Archive(path).index
    except RequestError:
        return False
    return all(index.get(run.test_id) == run.weights for run in runs)


def _counts(records: Records) -> Pairs:
    pairs = Counter((model_key(one)[0], title_of(one)) for one in records.values())
    return dict(sorted(pairs.items()))


def _changes(before: Records, after: Records, host: PluginHost) -> list[str]:
    """Return the rows of the default suite that are new or have another rank, a line for each."""
    view = suite_view(host, DEFAULT_SUITE)
    old, new = (
        {
            (board.protocol, board.version, row.model): row.rank
            for board in build_page(parted(records.values())[0], view).boards
            for row in board.rows
        }
        for records in (before, after)
    )
    lines = []
    for place, rank in new.items():
        protocol, _, model = place
        if place not in old:
            lines.append(f"{protocol}: new row {model}, {_rank(rank)}")
        elif old[place] != rank:
            lines.append(f"{protocol}: {model}, {_rank(old[place])} -> {rank or 'no rank'}")
    return lines


def _rank(rank: int | None) -> str:
    return "no rank" if rank is None else f"rank {rank}"
