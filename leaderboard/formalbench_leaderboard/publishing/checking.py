"""Checking what is published: records, their weights, rendered files and reproductions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.current import current_of
from formalbench.analysis.text import harmless
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.store import UNFINISHED, read_record, weights_path
from formalbench.store.repository import PUBLISHED_RESULTS

from formalbench_leaderboard.publishing.admission import Admission
from formalbench_leaderboard.publishing.contract import broken_promises
from formalbench_leaderboard.publishing.copies import copied
from formalbench_leaderboard.publishing.kept_plugins import kept_problems
from formalbench_leaderboard.publishing.places import published_path
from formalbench_leaderboard.publishing.rendered import stale_files, uncompared_figures
from formalbench_leaderboard.publishing.strangers import CarefulAdmission
from formalbench_leaderboard.publishing.untrusted import Found, disagreeing, naming
from formalbench_leaderboard.publishing.weights_kept import checked_weights, keeps_weights
from formalbench_leaderboard.sources import parted

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Attributes:
        problems: in the records and the weights, one line each.
        stale: the rendered files that are not what the records give.
        old: how many records were made with another version of a task, a model or a protocol:
            they stay, and do not count.
        uncompared: the figures, if nothing here draws them.
        unchecked: the records of plugins that are not at hand; `problems` has a line of each.
    """

    problems: list[str]
    stale: list[Path]
    old: int = 0
    unchecked: int = 0
    uncompared: list[Path] = field(default_factory=list)


def check_published(repository: Path, host: PluginHost) -> Checked:
    """Hold what a repository publishes against the rules of publishing; write nothing.

    Args:
        repository: its root.
        host: the plugins; what they do not provide cannot be checked, which is a problem. Pages
            are then not compared: what they should say is not known.
    """
    records, problems = _read(repository / PUBLISHED_RESULTS)
    if problems:
        return Checked([_below(repository, line) for line in problems], [])
    current = current_of(host)
    standing = {file: current.standing(record) for file, record in records.items()}
    here = {file: record for file, record in records.items() if standing[file] != "stale"}
    for file, record in here.items():
        if file != repository / published_path(record, host):
            problems.append(f"{file}: belongs at {published_path(record, host)}")
    unchecked = list(standing.values()).count("unknown")
    with CarefulAdmission(host) as admission:
        problems += _refused(here, admission)
    problems += disagreeing(Found(file, record) for file, record in here.items())
    problems += copied(parted(here.values())[0])
    problems += _weights(repository / PUBLISHED_RESULTS, records)
    problems += _strays(repository)
    problems += kept_problems(repository, records)
    known = [record for file, record in here.items() if standing[file] == "current"]
    problems += broken_promises(known, host)
    problems += _told_by_plugins(repository, host)
    return Checked(
        [_below(repository, line) for line in problems],
        [] if unchecked else stale_files(repository, host),
        list(standing.values()).count("stale"),
        unchecked,
        uncompared_figures(repository),
    )


def _told_by_plugins(repository: Path, host: PluginHost) -> Iterator[str]:
    """Say what plugins find wrong with the files that they keep in the repository."""
    for plugin in host.plugins:
        try:
            with host.blaming(plugin):
                asked = {"repository": repository, "host": host}
                for lines in host.call(plugin, "formalbench_check_repository", **asked):
                    yield from lines
        except FormalbenchError as error:
            yield str(error)


def _read(results: Path) -> tuple[dict[Path, AnyRecord], list[str]]:
    records: dict[Path, AnyRecord] = {}
    problems = []
    for file in sorted(results.rglob("*.json")):
        try:
            records[file] = read_record(file)
        except RequestError as error:
            problems.append(naming(file, error))
    return records, problems


def _refused(records: Mapping[Path, AnyRecord], admission: Admission) -> Iterator[str]:
    """Say which records could not be published as they are."""
    for file, record in records.items():
        try:
            admission.admit(record)
        except FormalbenchError as error:
            yield naming(file, error)
    yield from admission.incomplete(parted(records.values())[0], [])


def _weights(results: Path, records: Mapping[Path, AnyRecord]) -> Iterator[str]:
    """Say which weights are missing or others, and which files belong to no record."""
    named = {
        weights_path(file): (file, record)
        for file, record in records.items()
        if isinstance(record, Record) and keeps_weights(record)
    }
    for file, record in named.values():
        try:
            checked_weights(record, file)
        except RequestError as error:
            yield naming(file, error)
    for path in sorted(set(results.rglob("*.safetensors")) - named.keys()):
        yield f"{path}: weights of no record that keeps them"


def _strays(repository: Path) -> Iterator[str]:
    """Say which files are none that publishing writes: a line each."""
    for path in sorted((repository / PUBLISHED_RESULTS).rglob("*")):
        known = path.suffix in (".json", ".safetensors") or path.name.startswith(UNFINISHED)
        if not known and (path.is_symlink() or not path.is_dir()):
            yield f"{path}: neither a record nor the weights of one"
    for path in sorted((repository / PUBLISHED_RESULTS.parent).rglob(f"{UNFINISHED}*")):
        yield f"{path}: left by a writer that was interrupted: delete it"


def _below(repository: Path, line: str) -> str:
    """Return a line in which paths begin at the repository's root."""
    return harmless(line.replace(f"{repository}/", ""))
