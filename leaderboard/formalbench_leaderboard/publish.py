"""Publishing: records go into ``leaderboard/results`` all or none, and the page follows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.store import Store, read_record, write_atomically

from formalbench_leaderboard.admission import Admission
from formalbench_leaderboard.build import build_page
from formalbench_leaderboard.counted import distinct
from formalbench_leaderboard.faces import markdown
from formalbench_leaderboard.keys import has_result, identity, model_key, title_of
from formalbench_leaderboard.sources import (
    PAGE,
    PUBLISHED_RESULTS,
    repository_above,
    suite_view,
)
from formalbench_leaderboard.text import harmless

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

SUITE = "default"


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


def render_page(records: Iterable[Record], host: PluginHost) -> str:
    """Return the page of a repository whose published records these are."""
    return markdown.render(build_page(records, suite_view(host, SUITE)))


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
    held = {identity(record): record for record in distinct(store.records())}
    admission = Admission(host)
    own = results.resolve() == store.path.resolve()
    candidates = {} if own else _checked(results, admission)
    new = {
        run: record
        for run, record in candidates.items()
        if run not in held or (has_result(record) and not has_result(held[run]))
    }
    if missing := admission.incomplete(list(new.values()), held.values()):
        raise RefusedError(list(map(harmless, missing)))
    page = render_page((held | new).values(), host)
    _write(store, list(new.values()), repository / PAGE, page)
    added = Counter((model_key(record)[0], title_of(record)) for record in new.values())
    return Published(dict(sorted(added.items())), len(candidates) - len(new))


def is_current(repository: Path, host: PluginHost) -> bool:
    """Say whether the page is what the published records give, byte for byte."""
    expected = render_page(Store(repository / PUBLISHED_RESULTS).records(), host)
    path = repository / PAGE
    return path.is_file() and path.read_bytes() == expected.encode()


def _checked(results: Path, admission: Admission) -> dict[str, Record]:
    """Read the records of a folder, by their runs, and refuse all if one is to be refused."""
    files = sorted(results.rglob("*.json"))
    if not files:
        raise RequestError(f"no record below {results}: `formalbench run` makes some")
    records, refused = [], []
    for file in files:
        try:
            record = read_record(file)
            admission.check(record)
        except RequestError as error:
            line = str(error)
            refused.append(harmless(line if str(file) in line else f"{file}: {line}"))
        else:
            records.append(record)
    if refused:
        raise RefusedError(refused)
    return {identity(record): record for record in distinct(records)}


def _write(store: Store, records: Sequence[Record], path: Path, page: str) -> None:
    """Write records and page; if one cannot be written, take the others back."""
    before = {
        file: file.read_text(encoding="utf-8") if file.exists() else None
        for file in map(store.path_of, records)
    }
    try:
        for record in records:
            store.write(record)
        write_atomically(path, page)
    except RequestError:
        for file, text in before.items():
            if text is None:
                file.unlink(missing_ok=True)
            else:
                write_atomically(file, text)
        raise
