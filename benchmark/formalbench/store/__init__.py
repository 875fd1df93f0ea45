"""The store: a folder with one JSON record per run or verification, and the runs' weights."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol as Shape

from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import ModelUsed, Record, TaskUsed
from formalbench.contracts.specs import display
from formalbench.contracts.verification import (
    MAX_BYTES,
    AnyRecord,
    EvaluatedRecord,
    OlderRecordError,
    VerificationRecord,
    parse_any,
    parse_stored,
)
from formalbench.files import read_plain, sweep, write_atomically

PUBLISHED_RESULTS = Path("leaderboard", "results")
"""The folder of records, relative to the repository's root."""

REPRODUCTIONS = Path("leaderboard", "reproductions")
"""The folder of reproduction pages and their data in a repository."""


def repository_above(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds ``leaderboard/results``.

    Raises:
        RequestError: if that folder is a link, whose records would not be the repository's.
    """
    here = start.resolve()
    for folder in (here, *here.parents):
        results = folder / PUBLISHED_RESULTS
        if results.is_dir():
            if results.resolve() != results:
                raise RequestError(f"{results}: a link, and only a folder is taken")
            return folder
    return None


ENVIRONMENT = "FORMALBENCH_RESULTS"

MOST_SHOWN = 20
"""Maximum files listed in one error."""

TRIES = 3
"""Maximum attempts to write a record and its weights, if another process writes others."""

MAX_PART = 120
"""Maximum characters of a file or folder name; file systems allow 255 bytes."""


class RunFacts(Shape):
    """The facts that name a run's files; both a record and a run without a record have them."""

    @property
    def model(self) -> ModelUsed: ...  # noqa: D102
    @property
    def task(self) -> TaskUsed: ...  # noqa: D102
    @property
    def protocol(self) -> Protocol: ...  # noqa: D102
    @property
    def learning_rate(self) -> float | None: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def train_id(self) -> str: ...  # noqa: D102
    @property
    def test_id(self) -> str: ...  # noqa: D102


def default_results() -> Path:
    """Return the default folder of records: ``FORMALBENCH_RESULTS`` or a per-user folder."""
    if folder := os.environ.get(ENVIRONMENT):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_data_dir("formalbench", appauthor=False)) / "results"


def weights_path(record_path: Path) -> Path:
    """Return the path of a run's selected weights: beside its record, with the same name."""
    return record_path.with_suffix(".safetensors")


class Store:
    """A results folder. Every ``*.json`` below it is a record.

    Args:
        path: the folder; created when the first record is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_writable(self) -> None:
        """Check that records can be written, and delete leftovers of killed processes."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
            sweep(self.path)
        except OSError as error:
            raise RequestError(
                f"results folder {self.path} cannot be written: {error.strerror}"
            ) from None

    def records(self) -> list[Record]:
        """Read the records of all runs, in the order of their paths.

        Records of an older format are skipped, with one line on standard error.
        """
        return [record for record in self.all() if isinstance(record, Record)]

    def verifications(self) -> list[VerificationRecord]:
        """Read the records of all verifications, as `records` does."""
        return [record for record in self.all() if isinstance(record, VerificationRecord)]

    def all(self) -> list[AnyRecord]:
        """Read the records of every kind, as `records` does."""
        return list(self.files(leave_out_older=True).values())

    def files(self, *, leave_out_older: bool = False) -> dict[Path, AnyRecord]:
        """Read the records of every kind, by file; older formats are refused or skipped."""
        records, errors = self.read()
        if leave_out_older:
            errors = self._without_older(errors)
        if errors:
            raise _combined_error(errors)
        return records

    def valid(self) -> tuple[list[AnyRecord], list[str]]:
        """Read the records of every kind; return them, and one line for each invalid file.

        Records of an older format are skipped, with one line on standard error.
        """
        records, errors = self.read()
        return list(records.values()), list(map(str, self._without_older(errors)))

    def read(self) -> tuple[dict[Path, AnyRecord], list[RequestError]]:
        """Read every file; return the records by file, and the errors of invalid files."""
        if not self.path.exists():
            return {}, []
        if not self.path.is_dir():
            raise RequestError(f"results folder {self.path} is not a folder")
        records: dict[Path, AnyRecord] = {}
        errors: list[RequestError] = []
        with without_collection():
            for file in sorted(self.path.rglob("*.json")):
                try:
                    record = read_stored(file)
                except RequestError as error:
                    errors.append(error)
                else:
                    if not isinstance(record, EvaluatedRecord):
                        records[file] = record
        return records, errors

    def evaluations(self) -> list[EvaluatedRecord]:
        """Read the records of all evaluations, which have their own folder; skip other records."""
        files = sorted(self.path.rglob("evaluated-*.json"))
        return [record for record in map(read_stored, files) if isinstance(record, EvaluatedRecord)]

    def _without_older(self, errors: Sequence[RequestError]) -> list[RequestError]:
        """Return the errors of files in the current format; report the number of older ones."""
        others = [error for error in errors if not isinstance(error, OlderRecordError)]
        if older := len(errors) - len(others):
            _report_older(self.path, older)
        return others

    def path_of(self, done: RunFacts | VerificationRecord) -> Path:
        """Return the path of a record: model, task, then a name from its settings and identity."""
        model = safe_name(display(done.model.name, done.model.options))
        task = safe_name(display(done.task.name, done.task.options))
        return self.path / model / task / f"{_file_stem(done)}.json"

    def record_of(self, run: RunFacts) -> Record | None:
        """Return the record of a run from its own path; None if it is missing or damaged."""
        path = self.path_of(run)
        with contextlib.suppress(RequestError):
            found = read_record(path) if path.is_file() else None
            return found if isinstance(found, Record) and found.test_id == run.test_id else None
        return None

    def trained(self, run: RunFacts) -> Iterator[tuple[Record, Path]]:
        """Yield tested records with the same `train_id`, and the paths of their weights.

        Only records at their own paths are considered; damaged files are skipped.
        """
        for path in sorted(self.path_of(run).parent.glob(f"*-seed{run.seed}-*.json")):
            with contextlib.suppress(RequestError):
                record, weights = read_record(path), weights_path(path)
                if (
                    isinstance(record, Record)
                    and record.train_id == run.train_id
                    and record.weights is not None
                    and weights.is_file()
                ):
                    yield record, weights

    def path_of_evaluated(self, record: EvaluatedRecord) -> Path:
        """Return the path of an evaluation's record: the evaluated model, then the task."""
        task = safe_name(display(record.task.name, record.task.options))
        name = f"evaluated-{safe_name(record.protocol.title)}-{record.evaluated_id}.json"
        return self.path / (safe_name(record.name) or "evaluated") / task / name

    def write_evaluated(self, record: EvaluatedRecord) -> Path:
        """Write the record of an evaluation; it replaces one with the same name and strings."""
        path = self.path_of_evaluated(record)
        write_atomically(path, record.to_json())
        return path

    def write(self, record: AnyRecord, weights: bytes | None = None) -> Path:
        """Write a record; it replaces an older one of the same run or verification.

        Args:
            record: the record to write.
            weights: the selected weights that the record names, if available. They are written
                before the record, so that a reader of the record finds them. Two machines that do
                the same run may differ in the last digits: the final record has its own weights.

        Raises:
            RequestError: if it cannot be written.
        """
        path, text = self.path_of(record), record.to_json()
        for _ in range(TRIES):
            if weights is not None:
                write_atomically(weights_path(path), weights)
            write_atomically(path, text)
            if weights is None or _has_weights(weights_path(path), weights):
                break
        return path


def _has_weights(path: Path, weights: bytes) -> bool:
    """Return whether a file has these weights, and not those of another process's run."""
    with contextlib.suppress(OSError):
        return path.read_bytes() == weights
    return False


def _combined_error(errors: Sequence[RequestError]) -> RequestError:
    """Return one error that combines the errors of many files; only the first are listed."""
    if len(errors) == 1:
        return errors[0]
    listed = "; ".join(map(str, errors[:MOST_SHOWN]))
    more = f"; and {len(errors) - MOST_SHOWN} more" if len(errors) > MOST_SHOWN else ""
    return RequestError(f"{len(errors)} files are not valid records: {listed}{more}")


@lru_cache
def _report_older(folder: Path, count: int) -> None:
    """Report once how many records of a folder are skipped."""
    records = "1 record" if count == 1 else f"{count} records"
    line = f"formalbench: {records} below {folder} written by an older formalbench and not read"
    print(f"{line}: repeat the runs", file=sys.stderr)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Disable the garbage collector, which would scan many records that all stay alive."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_record(file: Path) -> AnyRecord:
    """Read one record file.

    Raises:
        RequestError: one line, if it is not a regular file, too large, unreadable or not a record.
    """
    return parse_any(read_plain(file, MAX_BYTES, "a record"), str(file))


def read_stored(file: Path) -> AnyRecord | EvaluatedRecord:
    """Read one record file, including those of evaluations; raise as `read_record` does."""
    return parse_stored(read_plain(file, MAX_BYTES, "a record"), str(file))


def _file_stem(run: RunFacts | VerificationRecord) -> str:
    if isinstance(run, VerificationRecord):
        dtype = run.dtype if run.break_length is None else "all"
        return f"verification-{dtype}-{run.verification_id}"
    rate = "" if run.learning_rate is None else f"-lr{run.learning_rate:g}"
    return f"{safe_name(run.protocol.title)}{rate}-seed{run.seed}-{run.test_id}"


def safe_name(name: str) -> str:
    """Return a name as a part of a path; empty if no character is left.

    Names come from plugins, so characters with a meaning for file systems are replaced.
    """
    safe = re.sub(r"[^A-Za-z0-9.=+-]", "-", name.replace(":", "--").replace(", ", ",")).strip(".-")
    if len(safe) <= MAX_PART:
        return safe
    return f"{safe[: MAX_PART - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
