"""The weights of published runs: found by checksum, packed into an archive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeGuard

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.files import sweep
from formalbench.store import PUBLISHED_RESULTS, Store, read_record, repository_above, weights_path
from formalbench.store.archive import Archive, WeightLookup, read_weights, write_archive
from formalbench.store.snapshot import read_snapshot

from formalbench_leaderboard.board.sources import EVERY_RUN
from formalbench_leaderboard.publishing.places import Contents, write_all


def keeps_weights(record: AnyRecord) -> TypeGuard[Record]:
    """Whether the publisher of a record must provide its weights.

    This applies to every run under `standard`, and to seed 0 under any other protocol. It depends
    on the record only, not on measurements. Records of networks that are too large name no weights.
    """
    return isinstance(record, Record) and record.weights is not None and _is_chosen(record)


def lacks_weights(record: Record) -> bool:
    """Whether a run names no weights although `keeps_weights` requires them."""
    learned = record.model.kind == "learned" and record.test is not None
    return learned and record.weights is None and _is_chosen(record)


def _is_chosen(record: Record) -> bool:
    return record.protocol.title == EVERY_RUN or record.seed == 0


def has_weights(file: Path, record: Record, at_hand: WeightLookup) -> bool:
    """Whether a run's weights can be found, beside its record or elsewhere."""
    return weights_path(file).exists() or record in at_hand


def packed_weights(file: Path, record: Record, at_hand: WeightLookup) -> bytes | None:
    """Return a run's weights, from beside its record or elsewhere; None if they are not found.

    Raises:
        RequestError: one line, if their checksum is not the recorded one.
    """
    if weights_path(file).exists():
        return read_weights(record, weights_path(file))
    return at_hand.read(record) if record in at_hand else None


@dataclass(frozen=True, slots=True)
class ArchiveContents:
    """The contents of an archive that was packed or unpacked.

    Attributes:
        path: the archive or, after unpacking, the folder.
        records: the records with weights in the archive.
        without: the records that name weights which were not found.
        strange: number of records in the archive's index that are not published or name other
            weights.
    """

    path: Path
    records: list[Record]
    without: list[Record]
    strange: int = 0


def published_runs() -> dict[Path, Record]:
    """Return the published runs that name weights, by their files below a folder of results.

    They are those of the repository that contains the working directory; outside of a repository,
    those that came with the package.
    """
    repository = repository_above(Path.cwd())
    if repository is not None:
        results = repository / PUBLISHED_RESULTS
        files = {file.relative_to(results): one for file, one in Store(results).files().items()}
    else:
        files = {Store(Path()).path_of(one): one for one in read_snapshot()}
    runs = {file: one for file, one in files.items() if isinstance(one, Record)}
    return {file: one for file, one in runs.items() if one.weights is not None}


def pack(file: Path, places: Iterable[Path]) -> ArchiveContents:
    """Write an archive of the weights that published records name and that are found.

    Raises:
        RequestError: one line, if there are none, or a file does not match its record.
    """
    sweep(file.parent, below=False)
    at_hand, runs = WeightLookup(places), list(published_runs().values())
    found = [one for one in runs if one in at_hand]
    if not found:
        folders = ", ".join(map(str, at_hand.places)) or "any folder"
        raise RequestError(f"no weights of a published record in {folders}")
    write_weights(file, found, at_hand)
    return ArchiveContents(file, found, [one for one in runs if one not in at_hand])


def write_weights(file: Path, records: Iterable[Record], at_hand: WeightLookup) -> None:
    """Write an archive of the weights of records, all of which must be found.

    Raises:
        RequestError: one line, if it cannot be written, or a file does not match its record.
    """
    by_weights = {one.weights: one for one in records if one.weights is not None}
    index = {one.test_id: one.weights for one in records if one.weights is not None}
    write_archive(file, index, lambda sha256: at_hand.read(by_weights[sha256]))


def unpack(file: Path, into: Path | None) -> ArchiveContents:
    """Unpack an archive: put each weights file beside the records of its runs.

    Nothing in the archive decides where a file is written. Files that no published record names are
    ignored.

    Args:
        file: the archive.
        into: the folder; None for the repository's own results. Records that it lacks are written
            beside their weights, so that it becomes a folder of results.

    Raises:
        RequestError: one line, if it is not an archive, a file does not match its hash, or the
            folder has other weights of a run. In the last case nothing was written.
    """
    archive, runs = Archive(file), published_runs()
    repository = repository_above(Path.cwd())
    if into is None:
        if repository is None:
            hint = "--into names a folder to unpack into"
            raise RequestError(f"in no clone of the repository: {hint}")
        into = repository / PUBLISHED_RESULTS
    found = {path: one for path, one in runs.items() if str(one.weights) in archive}
    contents: dict[Path, Contents] = {}
    for path, one in found.items():
        contents[weights_path(path)] = partial(archive.read, str(one.weights))
        if not _is_stored(into / path, one):
            contents[path] = one.to_json().encode()
    into.mkdir(parents=True, exist_ok=True)
    sweep(into)
    write_all(into, contents)
    checksums = {one.test_id: one.weights for one in found.values()}
    strange = sum(checksums.get(identity) != sha256 for identity, sha256 in archive.index.items())
    without = [one for path, one in runs.items() if path not in found]
    return ArchiveContents(into, list(found.values()), without, strange)


def _is_stored(path: Path, record: Record) -> bool:
    """Whether a record is at its path; raise if another record of its run is there."""
    if not path.exists():
        return False
    stored = read_record(path)
    if not isinstance(stored, Record) or stored.weights != record.weights:
        raise RequestError(f"{path}: names other weights than the published record of its run")
    return True


def contradictions(archives: Iterable[Archive], records: Mapping[Path, Record]) -> list[str]:
    """Return the contradictions between archives and the published records, a line for each."""
    checksums = {one.test_id: one.weights for one in records.values()}
    return [
        f"{archive.path}: weights {sha256[:16]}… are of no published record"
        if identity not in checksums
        else f"{archive.path}: other weights of run {identity} than its record names"
        for archive in archives
        for identity, sha256 in archive.index.items()
        if checksums.get(identity) != sha256
    ]


def facts(file: Path) -> dict[str, object]:
    """Return the size and the hash of an archive, to be published with it."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"file": str(file), "bytes": file.stat().st_size, "sha256": digest}
