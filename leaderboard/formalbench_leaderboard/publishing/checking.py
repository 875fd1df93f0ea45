"""Checking what is published: records and reproductions, and weights and pages where told to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.current import current_of
from formalbench.analysis.text import harmless
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.store import UNFINISHED, Store, weights_path
from formalbench.store.repository import PUBLISHED_RESULTS
from formalbench.store.weight_lookup import AtHand

from formalbench_leaderboard.publishing.admission import Admission
from formalbench_leaderboard.publishing.contract import broken_promises
from formalbench_leaderboard.publishing.copies import copied
from formalbench_leaderboard.publishing.kept_plugins import kept_problems
from formalbench_leaderboard.publishing.packing import contradictions
from formalbench_leaderboard.publishing.places import home_suite, path_among
from formalbench_leaderboard.publishing.rendered import stale_files, uncompared_figures
from formalbench_leaderboard.publishing.self_reported import reports_problems
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
        weightless: the runs whose weights should be somewhere, and are not at hand.
    """

    problems: list[str]
    stale: list[Path]
    old: int = 0
    unchecked: int = 0
    uncompared: list[Path] = field(default_factory=list)
    weightless: int = 0


def check_published(
    repository: Path,
    host: PluginHost,
    weights: AtHand | None = None,
    *,
    rendered: bool = False,
) -> Checked:
    """Hold what a repository publishes against the rules of publishing; write nothing.

    Args:
        repository: its root.
        host: the plugins; what they do not provide cannot be checked, which is a problem. Pages
            are then not compared: what they should say is not known.
        weights: where weights are, besides beside the records. Given any place, they must be there.
        rendered: whether to compare the rendered files. They follow the records on the main
            branch, and lag behind them on any other.
    """
    given = weights or AtHand()
    records, unreadable = Store(repository / PUBLISHED_RESULTS).read()
    if unreadable:
        return Checked([_below(repository, str(error)) for error in unreadable], [])
    problems: list[str] = []
    current = current_of(host)
    standing = {file: current.standing(record) for file, record in records.items()}
    here = {file: record for file, record in records.items() if standing[file] != "stale"}
    home = cache(lambda task: home_suite(task, host))
    for file, record in here.items():
        if file != repository / (path := path_among(record, home)):
            problems.append(f"{file}: belongs at {path}")
    unchecked = list(standing.values()).count("unknown")
    with CarefulAdmission(host) as admission:
        problems += _refused(here, admission)
    problems += disagreeing(Found(file, record) for file, record in here.items())
    problems += copied(parted(here.values())[0])
    problems += _weights_problems(repository / PUBLISHED_RESULTS, records, given)
    problems += _strays(repository)
    problems += kept_problems(repository, records)
    known = [record for file, record in here.items() if standing[file] == "current"]
    problems += broken_promises(known, host)
    problems += _told_by_plugins(repository, host)
    problems += reports_problems(repository, host)
    return Checked(
        [_below(repository, line) for line in problems],
        stale_files(repository, host) if rendered and not unchecked else [],
        list(standing.values()).count("stale"),
        unchecked,
        uncompared_figures(repository) if rendered else [],
        _not_at_hand(records, given),
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


def _refused(records: Mapping[Path, AnyRecord], admission: Admission) -> Iterator[str]:
    """Say which records could not be published as they are."""
    for file, record in records.items():
        try:
            admission.admit(record)
        except FormalbenchError as error:
            yield naming(file, error)
    yield from admission.incomplete(parted(records.values())[0], [])


def _weights_problems(
    results: Path, records: Mapping[Path, AnyRecord], given: AtHand
) -> Iterator[str]:
    """Say which weights are others than a record names, or of none: a line each.

    Given any archive or folder, also which are missing that by the rule of `keeps_weights` should
    be in one.

    Args:
        results: the folder of the published records; weights that lie in it are looked at, too.
        records: of every kind, by their files.
        given: where weights are besides.
    """
    runs = {file: one for file, one in records.items() if isinstance(one, Record)}
    beside = {weights_path(file): file for file, run in runs.items() if run.weights is not None}
    for path in sorted(results.rglob("*.safetensors")):
        if path not in beside:
            yield f"{path}: weights of no record that names them"
            continue
        try:
            checked_weights(runs[beside[path]], beside[path])
        except RequestError as error:
            yield naming(beside[path], error)
    yield from contradictions(given.archives, runs)
    for file, run in runs.items() if given.places else ():
        try:
            if run in given or (keeps_weights(run) and not weights_path(file).exists()):
                given.read(run)
        except RequestError as error:
            yield naming(file, error)


def _not_at_hand(records: Mapping[Path, AnyRecord], given: AtHand) -> int:
    """Return of how many runs whose weights should be somewhere there are none at hand."""
    return sum(
        keeps_weights(record)
        and isinstance(record, Record)
        and record not in given
        and not weights_path(file).exists()
        for file, record in records.items()
    )


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
