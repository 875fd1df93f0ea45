"""Publishing: records go into ``leaderboard/results`` all or none, and the page follows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.store import Store, read_record, write_atomically

from formalbench_leaderboard.admission import Admission
from formalbench_leaderboard.counted import distinct
from formalbench_leaderboard.keys import has_result, identity, model_key, title_of
from formalbench_leaderboard.places import published_path
from formalbench_leaderboard.rendered import left_over, linked_files, render_faces
from formalbench_leaderboard.sources import PUBLISHED_RESULTS, parted, repository_above
from formalbench_leaderboard.text import harmless

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


class RefusedError(FormalbenchError):
    """Records that cannot be published; `lines` says why, one line each."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(f"{len(lines)} refused: nothing was published")
        self.lines = list(lines)


@dataclass(frozen=True, slots=True)
class Published:
    """What publishing did: how many records of each (model, task) are new, and how many are not."""

    added: dict[tuple[str, str], int]
    already: int


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
    """Copy the records of a folder into a repository and render its page.

    A finished run that is published already is kept as it is; one that failed gives way.
    Every other record must be one that the plugins at hand would make (see `Admission`).
    Given the repository's own folder, it only renders the page, even of no records.

    Raises:
        RefusedError: if any record cannot be published; then nothing was written.
        RequestError: if there is no record, or a file cannot be written.
    """
    store = Store(repository / PUBLISHED_RESULTS)
    files = store.files()
    held, held_verifications = _by_identity(files.values())
    admission = Admission(host)
    own = results.resolve() == store.path.resolve()
    candidates, verified = _by_identity([] if own else _checked(results, admission))
    new = {
        run: record
        for run, record in candidates.items()
        if run not in held or (has_result(record) and not has_result(held[run]))
    }
    if missing := admission.incomplete(list(new.values()), held.values()):
        raise RefusedError(list(map(harmless, missing)))
    new_verifications = {
        name: record for name, record in verified.items() if name not in held_verifications
    }
    fresh: list[AnyRecord] = [*new.values(), *new_verifications.values()]
    kept = {
        file.relative_to(repository): record
        for file, record in files.items()
        if not (isinstance(record, Record) and identity(record) in new)
    }
    written = {published_path(record, host): record for record in fresh}
    contents: dict[Path, bytes | None] = {
        file.relative_to(repository): None
        for file in files
        if file.relative_to(repository) not in kept
    }
    contents |= {path: record.to_json().encode() for path, record in written.items()}
    faces = render_faces(kept | written, host, linked_files(repository))
    contents |= dict.fromkeys(left_over(repository, faces))
    _write(repository, contents | faces)
    added = Counter((model_key(record)[0], title_of(record)) for record in fresh)
    already = len(candidates) + len(verified) - len(fresh)
    return Published(dict(sorted(added.items())), already)


def _by_identity(
    records: Iterable[AnyRecord],
) -> tuple[dict[str, Record], dict[str, VerificationRecord]]:
    """Return one record per run, and one per verification."""
    runs, verifications = parted(records)
    return (
        {identity(record): record for record in distinct(runs)},
        {record.verification_id: record for record in verifications},
    )


def _checked(results: Path, admission: Admission) -> list[AnyRecord]:
    """Read the records of a folder, and refuse all if one is to be refused."""
    files = sorted(results.rglob("*.json"))
    if not files:
        raise RequestError(f"no record below {results}: `formalbench run` makes some")
    records: list[AnyRecord] = []
    refused = []
    for file in files:
        try:
            record = read_record(file)
            if isinstance(record, VerificationRecord):
                admission.check_verification(record)
            else:
                admission.check(record)
        except RequestError as error:
            line = str(error)
            refused.append(harmless(line if str(file) in line else f"{file}: {line}"))
        else:
            records.append(record)
    if refused:
        raise RefusedError(refused)
    return records


def _write(repository: Path, contents: Mapping[Path, bytes | None]) -> None:
    """Write files below a repository; if one cannot be written, take the others back.

    Args:
        repository: its root.
        contents: of each file; None for one that goes.
    """
    before: dict[Path, bytes | None] = {}
    try:
        for path, new in contents.items():
            file = repository / path
            old = file.read_bytes() if file.is_file() else None
            if old != new:
                before[file] = old
                _put(file, new)
    except (OSError, RequestError) as error:
        for file, old in before.items():
            _put(file, old)
        if isinstance(error, RequestError):
            raise
        raise RequestError(f"{error.filename}: {error.strerror}") from None


def _put(file: Path, contents: bytes | None) -> None:
    if contents is None:
        file.unlink(missing_ok=True)
    else:
        write_atomically(file, contents)
