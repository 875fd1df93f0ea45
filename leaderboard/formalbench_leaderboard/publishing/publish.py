"""Publishing: records go into ``leaderboard/results`` all or none, and the pages follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.build import build_page
from formalbench.analysis.counted import distinct
from formalbench.analysis.keys import has_result, identity, model_key, title_of
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.store import Store, sweep, weights_path
from formalbench.store.repository import PUBLISHED_RESULTS, repository_above

from formalbench_leaderboard.publishing.admission import Admission
from formalbench_leaderboard.publishing.changes import board_changes
from formalbench_leaderboard.publishing.contract import broken_promises
from formalbench_leaderboard.publishing.copies import copied
from formalbench_leaderboard.publishing.kept_plugins import plugin_contents, plugins_of
from formalbench_leaderboard.publishing.places import published_path
from formalbench_leaderboard.publishing.rendered import (
    changed_files,
    left_over,
    linked_files,
    render_files,
)
from formalbench_leaderboard.publishing.strangers import CarefulAdmission
from formalbench_leaderboard.publishing.untrusted import Found, RefusedError, admitted, naming
from formalbench_leaderboard.publishing.weights_kept import (
    checked_weights,
    completes,
    differs,
    keeps_weights,
)
from formalbench_leaderboard.publishing.writing import Contents, write_all
from formalbench_leaderboard.sources import DEFAULT_SUITE, parted, suite_view

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

Pairs = dict[tuple[str, str], int]
"""How many records there are of each (model, task)."""


@dataclass(frozen=True, slots=True)
class Published:
    """What publishing did.

    Attributes:
        added: records that are new.
        completed: those that brought the weights of a run published already.
        differing: those of runs published already with other counts, which stay.
        already: how many others were published already.
        changes: new rows and moved ranks of the default suite, one line each.
    """

    added: Pairs
    completed: Pairs
    differing: Pairs
    already: int
    changes: list[str]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Records to publish, by what publishing does with them."""

    added: list[Found] = field(default_factory=list)
    completed: list[Found] = field(default_factory=list)
    differing: list[Found] = field(default_factory=list)
    same: list[Found] = field(default_factory=list)


def find_repository() -> Path:
    """Return the repository that the working directory is in.

    Raises:
        RequestError: if there is none.
    """
    found = repository_above(Path.cwd())
    if found is None:
        raise RequestError(
            "neither this folder nor one above it has leaderboard/results: "
            "run this inside a clone of the formalbench repository"
        )
    return found


def publish(results: Path, repository: Path, host: PluginHost) -> Published:
    """Copy the records of a folder into a repository and render its pages.

    A finished run that is published already is kept as it is, unless the new record brings its
    weights and agrees with it (`completes`); one that failed gives way. Every other record
    must be one that the plugins at hand would make (see `Admission`). Given the repository's
    own folder, it only renders the pages, even of no records.

    Raises:
        RefusedError: if any record cannot be published; then nothing was written.
        RequestError: if there is no record, or a file cannot be written.
    """
    store = Store(repository / PUBLISHED_RESULTS)
    sweep(store.path.parent)
    files = store.files()
    held = _by_identity(Found(file, record) for file, record in files.items())
    own = results.resolve() == store.path.resolve()
    with CarefulAdmission(host) as admission:
        sorting = _sorted([] if own else admitted(results, admission), held)
    fresh = [*sorting.added, *sorting.completed]
    _check_complete(admission, fresh, held)
    _check_contract(fresh, host)
    sources = _sources(fresh, host)
    replaced = {name for one in fresh if (name := _name(one.record)) in held}
    kept = {file: record for file, record in files.items() if _name(record) not in replaced}
    old = {file.relative_to(repository): record for file, record in files.items()}
    stay = {file.relative_to(repository): record for file, record in kept.items()}
    placed = {published_path(one.record, host): one for one in fresh}
    everything = stay | {path: one.record for path, one in placed.items()}
    contents = sources | _contents(placed)
    for path in old.keys() - stay.keys():
        for gone in (path, weights_path(path)):
            contents.setdefault(gone, None)
    goes = {path for path, text in contents.items() if text is None}
    rendered = render_files(everything, host, (linked_files(repository) | contents.keys()) - goes)
    stale = dict.fromkeys(left_over(repository, rendered))
    write_all(repository, contents | changed_files(repository, rendered) | stale)
    return Published(
        _counted(sorting.added),
        _counted(sorting.completed),
        _counted(sorting.differing),
        len(sorting.same),
        _changes(old, everything, host) if fresh else [],
    )


def _name(record: AnyRecord) -> str:
    """Return what is the same for two records of one run, or of one verification."""
    return identity(record) if isinstance(record, Record) else record.verification_id


def _by_identity(found: Iterable[Found]) -> dict[str, Found]:
    """Return one record per run, and one per verification."""
    every = list(found)
    counting = set(map(id, distinct(parted(one.record for one in every)[0])))
    return {
        _name(one.record): one
        for one in every
        if id(one.record) in counting or not isinstance(one.record, Record)
    }


def _sorted(candidates: Iterable[Found], held: Mapping[str, Found]) -> _Sorted:
    """Decide what to do with each record."""
    sorting = _Sorted()
    for name, new in _by_identity(candidates).items():
        old = held.get(name)
        if old is None or (_has_result(new) and not _has_result(old)):
            sorting.added.append(new)
        elif completes(new, old):
            sorting.completed.append(new)
        elif differs(new, old):
            sorting.differing.append(new)
        else:
            sorting.same.append(new)
    return sorting


def _has_result(one: Found) -> bool:
    return not isinstance(one.record, Record) or has_result(one.record)


def _check_complete(admission: Admission, fresh: list[Found], held: Mapping[str, Found]) -> None:
    """Refuse records without the seeds, the rates and the weights that belong to them.

    Raises:
        RefusedError: one line for each that is missing.
    """
    new, _ = parted(one.record for one in fresh)
    published, _ = parted(one.record for one in held.values())
    lines = admission.incomplete(new, published) + copied([*published, *new])
    for one in fresh:
        if isinstance(one.record, Record) and keeps_weights(one.record):
            try:
                checked_weights(one.record, one.file)
            except RequestError as error:
                lines.append(naming(one.file, error))
    if lines:
        raise RefusedError(lines)


def _check_contract(fresh: list[Found], host: PluginHost) -> None:
    """Refuse records of a model or a task that is not built in and breaks the contract.

    Raises:
        RefusedError: one line for each promise that is broken.
    """
    if lines := broken_promises([one.record for one in fresh], host):
        raise RefusedError(lines)


def _sources(fresh: list[Found], host: PluginHost) -> dict[Path, Contents]:
    """Return the files of the local plugins that records need, to be published with them.

    Raises:
        RefusedError: one line for each plugin that cannot be published.
    """
    contents: dict[Path, Contents] = {}
    done: set[Path] = set()
    lines: dict[str, None] = {}
    for one in fresh:
        try:
            for local in plugins_of(one.record, host):
                if local.path not in done:
                    contents |= plugin_contents(local)
                    done.add(local.path)
        except RequestError as error:
            lines.setdefault(str(error))
    if lines:
        raise RefusedError(list(lines))
    return contents


def _contents(placed: Mapping[Path, Found]) -> dict[Path, Contents]:
    """Return what to write: weights first, so that whoever finds a record finds them."""
    weights: dict[Path, Contents] = {
        weights_path(path): partial(checked_weights, one.record, one.file)
        for path, one in placed.items()
        if isinstance(one.record, Record) and keeps_weights(one.record)
    }
    return weights | {path: one.record.to_json().encode() for path, one in placed.items()}


def _counted(found: Iterable[Found]) -> Pairs:
    pairs = Counter((model_key(one.record)[0], title_of(one.record)) for one in found)
    return dict(sorted(pairs.items()))


def _changes(
    before: Mapping[Path, AnyRecord], after: Mapping[Path, AnyRecord], host: PluginHost
) -> list[str]:
    view = suite_view(host, DEFAULT_SUITE)
    pages = (build_page(parted(records.values())[0], view) for records in (before, after))
    return board_changes(*pages)
