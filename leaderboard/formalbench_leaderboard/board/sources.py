"""Where records are found and published, which are published together, and what is built in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Origin, Record
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.documents.text import plural, rate
from formalbench.host.loader import PROJECT
from formalbench.host.registry import Entry, S
from formalbench.running.estimate import rates_wanted
from formalbench.statistics.records import identity, model_key, title_of
from formalbench.store import PUBLISHED_RESULTS, Store, default_results, repository_above
from formalbench.store.snapshot import read_snapshot

if TYPE_CHECKING:
    from formalbench.host import PluginHost

FRONT = Path("leaderboard", "README.md")

SUITES, MODELS, FIGURES = (FRONT.with_name(name) for name in ("suites", "models", "figures"))
"""Folders of rendered files."""


DEFAULT_SUITE = "default"


CORE_SUITE = "core"


class FolderContents(NamedTuple):
    """The contents of folders of records.

    Attributes:
        records: records of runs.
        verifications: verifications of exact models.
        invalid: an error message for every file that is not a record.
    """

    records: list[Record]
    verifications: list[VerificationRecord]
    invalid: list[str]

    def only(self, wanted: Callable[[AnyRecord], bool]) -> FolderContents:
        """Return a copy with only the selected records."""
        return self._replace(
            records=[record for record in self.records if wanted(record)],
            verifications=[record for record in self.verifications if wanted(record)],
        )

    def among(self, own: FolderContents) -> FolderContents:
        """Return those of the records, and of the verifications, that are in a user's folders."""
        runs = {record.test_id for record in own.records}
        checks = {id(record) for record in own.verifications}
        return FolderContents(
            [record for record in self.records if record.test_id in runs],
            [record for record in self.verifications if id(record) in checks],
            own.invalid,
        )

    def merged_with(self, others: FolderContents) -> FolderContents:
        """Return the union with other records."""
        return FolderContents(
            [*self.records, *others.records],
            [*self.verifications, *others.verifications],
            [*self.invalid, *others.invalid],
        )


def read_with_published(own: Path | None = None) -> FolderContents:
    """Read the records of a folder, or of the user's own results, and the published records."""
    return read_published(own or default_results())


def read_published(*besides: Path) -> FolderContents:
    """Read the published records and those of some folders.

    Published records are those of the repository that contains the working directory. Outside of a
    repository, they are those that came with the package.
    """
    repository = repository_above(Path.cwd())
    if repository is not None:
        return read_all([*besides, repository / PUBLISHED_RESULTS])
    return read_all(besides).merged_with(FolderContents(*parted(read_snapshot()), []))


def read_all(folders: Iterable[Path]) -> FolderContents:
    """Read the records of several folders; a folder that is named twice is read once.

    A folder that does not exist has no records.
    """
    unique = {folder.resolve(): folder for folder in folders}
    stored = [Store(folder).valid() for folder in unique.values()]
    records = parted(record for valid, _ in stored for record in valid)
    return FolderContents(*records, [line for _, invalid in stored for line in invalid])


def parted(records: Iterable[AnyRecord]) -> tuple[list[Record], list[VerificationRecord]]:
    """Return the records of runs and those of verifications."""
    records = list(records)
    return (
        [record for record in records if isinstance(record, Record)],
        [record for record in records if isinstance(record, VerificationRecord)],
    )


def check_folders(folders: Iterable[Path]) -> None:
    """Check that the folders that the user named exist.

    Raises:
        RequestError: one line, if a folder does not exist.
    """
    for folder in folders:
        if not folder.is_dir():
            raise RequestError(f"--results {folder}: no such folder")


def shortcut_here(host: PluginHost, title: str) -> float | None:
    """Return the accuracy of the best shortcut on a task by its title; None if none is known."""
    try:
        return host.shortcut(title)
    except RequestError:  # of a plugin that is not installed
        return None


def built_in(entries: Iterable[Entry[S]]) -> list[S]:
    """Return the specs that come with formalbench.

    Other installed plugins, and those named with --plugin, must not change a page: it would be
    stale wherever they are not installed.
    """
    return [entry.spec for entry in entries if is_built_in(entry.plugin.source)]


def is_built_in(source: Origin) -> bool:
    """Whether code comes with formalbench itself; a local file may have the same name."""
    return source.distribution == PROJECT and not source.sha256


EVERY_RUN = "standard"
"""All runs under this protocol keep their weights, because the main ranking is based on them."""


FEWEST_SEEDS = 3
"""Minimum number of seeds of a model on a task, unless the protocol has fewer."""


def missing_runs(records: Sequence[Record], protocol: Protocol) -> list[str]:
    """Return the missing seeds of a model on a task, one line for each learning rate."""
    first = records[0]
    learned = first.model.kind == "learned"
    least = min(protocol.seeds, FEWEST_SEEDS) if learned else 1
    count = max(least, len({record.seed for record in records})) if learned else 1
    lines = []
    for learning_rate in sorted(rates_wanted(protocol, records)) if learned else [None]:
        seeds = {record.seed for record in records if record.learning_rate == learning_rate}
        missing = sorted(set(range(count)) - seeds)
        if missing:
            at = "" if learning_rate is None else f" at learning rate {rate(learning_rate)}"
            which = f"seed{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"
            lines.append(
                f"{model_key(first)[0]} on {title_of(first)}: {which}{at} missing "
                f"(publish all you ran, at least {plural(least, 'seed')})"
            )
    return lines


def cell_of(record: Record) -> str:
    """Return a key that all learning rates and seeds of a model on a task share."""
    return identity(record.model_copy(update={"learning_rate": None, "seed": 0}))
