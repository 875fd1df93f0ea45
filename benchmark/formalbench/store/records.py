"""A results folder, its records, and files of many records."""

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
from formalbench.contracts.evaluated import EvaluatedRecord, parse_stored
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.reading import MAX_BYTES, OlderRecordError
from formalbench.contracts.record import ModelUsed, Record, TaskUsed
from formalbench.contracts.specs import display
from formalbench.contracts.verification import AnyRecord, VerificationRecord, parse_any
from formalbench.files import read_plain, sweep, write_atomically

PUBLISHED_RESULTS = Path("leaderboard", "results")
"""The records, below the repository's root."""

REPRODUCTIONS = Path("leaderboard", "reproductions")
"""Where the pages of reproductions and their data lie in a repository."""


def repository_above(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds ``leaderboard/results``.

    Raises:
        RequestError: if that is a link: records behind it are not those of the repository.
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
"""Files in one error."""

TRIES = 3
"""How often a record and its weights are written, if somebody writes others in between."""

MAX_PART = 120
"""Characters of a file or folder name; file systems take 255 bytes."""


class RunFacts(Shape):
    """What a run's files are named after: a record has it, and a run that has no record yet."""

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
    """Return where records go when nobody says: ``FORMALBENCH_RESULTS`` or a per-user folder."""
    if told := os.environ.get(ENVIRONMENT):
        return Path(told)
    import platformdirs

    return Path(platformdirs.user_data_dir("formalbench", appauthor=False)) / "results"


def weights_path(record_path: Path) -> Path:
    """Return where a run's selected weights are: beside its record, under the same name."""
    return record_path.with_suffix(".safetensors")


class Store:
    """A results folder. Every ``*.json`` below it is a record.

    Args:
        path: the folder; made when the first record is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_writable(self) -> None:
        """Fail now rather than after the first run, and sweep what killed processes left.

        Raises:
            RequestError: if the folder cannot be made or written.
        """
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

        Those of an older format are left out, which one line on standard error says.

        Raises:
            RequestError: one line, for a file that is no record or a folder that is no folder.
        """
        return [record for record in self.all() if isinstance(record, Record)]

    def verifications(self) -> list[VerificationRecord]:
        """Read the records of all verifications, as `records` does."""
        return [record for record in self.all() if isinstance(record, VerificationRecord)]

    def all(self) -> list[AnyRecord]:
        """Read the records of every kind, as `records` does."""
        return list(self.files(leave_out_older=True).values())

    def files(self, *, leave_out_older: bool = False) -> dict[Path, AnyRecord]:
        """Read the records of every kind by their files; older ones are refused or left out."""
        found, refused = self.read()
        if leave_out_older:
            refused = self._without_older(refused)
        if refused:
            raise _together(refused)
        return found

    def valid(self) -> tuple[list[AnyRecord], list[str]]:
        """Read the records of every kind, and say of every other file what is wrong: a line each.

        Those of an older format are left out, which one line on standard error says.
        """
        found, refused = self.read()
        return list(found.values()), list(map(str, self._without_older(refused)))

    def read(self) -> tuple[dict[Path, AnyRecord], list[RequestError]]:
        """Read every file; return the records by their files, and why the others are none."""
        if not self.path.exists():
            return {}, []
        if not self.path.is_dir():
            raise RequestError(f"results folder {self.path} is not a folder")
        found: dict[Path, AnyRecord] = {}
        refused: list[RequestError] = []
        with without_collection():
            for file in sorted(self.path.rglob("*.json")):
                try:
                    record = read_stored(file)
                except RequestError as error:
                    refused.append(error)
                else:
                    if not isinstance(record, EvaluatedRecord):
                        found[file] = record
        return found, refused

    def evaluations(self) -> list[EvaluatedRecord]:
        """Read the records of all evaluations, which stand apart; files of others are left out.

        Raises:
            RequestError: one line, for a file that is no record.
        """
        files = sorted(self.path.rglob("evaluated-*.json"))
        return [one for one in map(read_stored, files) if isinstance(one, EvaluatedRecord)]

    def _without_older(self, refused: Sequence[RequestError]) -> list[RequestError]:
        """Return what is wrong with files of this format, and tell of the others."""
        others = [error for error in refused if not isinstance(error, OlderRecordError)]
        if older := len(refused) - len(others):
            _tell_of_older(self.path, older)
        return others

    def path_of(self, done: RunFacts | VerificationRecord) -> Path:
        """Return where a record belongs: model, task, then what was done and its identity."""
        model = safe_name(display(done.model.name, done.model.options))
        task = safe_name(display(done.task.name, done.task.options))
        return self.path / model / task / f"{_deed(done)}.json"

    def record_of(self, run: RunFacts) -> Record | None:
        """Return the record of a run, if it is where it belongs; a damaged one counts as none."""
        path = self.path_of(run)
        with contextlib.suppress(RequestError):
            found = read_record(path) if path.is_file() else None
            return found if isinstance(found, Record) and found.test_id == run.test_id else None
        return None

    def trained(self, run: RunFacts) -> Iterator[tuple[Record, Path]]:
        """Find a run trained already: tested records of equal `train_id`, and their weights.

        Only records that lie where they belong are looked at, and a damaged file counts as none.
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
        """Return where the record of an evaluation belongs: who answered, then the task."""
        task = safe_name(display(record.task.name, record.task.options))
        name = f"evaluated-{safe_name(record.protocol.title)}-{record.evaluated_id}.json"
        return self.path / (safe_name(record.name) or "evaluated") / task / name

    def write_evaluated(self, record: EvaluatedRecord) -> Path:
        """Write the record of an evaluation; an earlier one of the same name and strings gives way.

        Raises:
            RequestError: if it cannot be written.
        """
        path = self.path_of_evaluated(record)
        write_atomically(path, record.to_json())
        return path

    def write(self, record: AnyRecord, weights: bytes | None = None) -> Path:
        """Write a record; an older one of the same run or verification gives way.

        Args:
            record: to write.
            weights: the selected weights that it names, if they are at hand. They are on disk
                before it is, so that whoever finds the record finds them. Two who do one run on
                different machines may differ in the last digits: the record that stays has its own.

        Raises:
            RequestError: if it cannot be written.
        """
        path, text = self.path_of(record), record.to_json()
        for _ in range(TRIES):
            if weights is not None:
                write_atomically(weights_path(path), weights)
            write_atomically(path, text)
            if weights is None or _holds(weights_path(path), weights):
                break
        return path


def _holds(path: Path, weights: bytes) -> bool:
    """Say whether a file has these weights, and not those of another who did the same run."""
    with contextlib.suppress(OSError):
        return path.read_bytes() == weights
    return False


def _together(errors: Sequence[RequestError]) -> RequestError:
    """Return one error that says of every file what is wrong, as far as anybody would read."""
    if len(errors) == 1:
        return errors[0]
    shown = "; ".join(map(str, errors[:MOST_SHOWN]))
    more = f"; and {len(errors) - MOST_SHOWN} more" if len(errors) > MOST_SHOWN else ""
    return RequestError(f"{len(errors)} files are not valid records: {shown}{more}")


@lru_cache
def _tell_of_older(folder: Path, count: int) -> None:
    """Say, once, how many records of a folder are not read."""
    records = "1 record" if count == 1 else f"{count} records"
    line = f"formalbench: {records} below {folder} written by an older formalbench and not read"
    print(f"{line}: repeat the runs", file=sys.stderr)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Keep the garbage collector from looking, again and again, through records that all stay."""
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
        RequestError: one line, if it is no regular file, too large, unreadable or no record.
    """
    return parse_any(read_plain(file, MAX_BYTES, "a record"), str(file))


def read_stored(file: Path) -> AnyRecord | EvaluatedRecord:
    """Read one record file, that of an evaluation, too; raise as `read_record` does."""
    return parse_stored(read_plain(file, MAX_BYTES, "a record"), str(file))


def _deed(done: RunFacts | VerificationRecord) -> str:
    if isinstance(done, VerificationRecord):
        dtype = done.dtype if done.break_length is None else "all"
        return f"verification-{dtype}-{done.verification_id}"
    rate = "" if done.learning_rate is None else f"-lr{done.learning_rate:g}"
    return f"{safe_name(done.protocol.title)}{rate}-seed{done.seed}-{done.test_id}"


def safe_name(name: str) -> str:
    """Return a name as a part of a path, which is empty if no sign of it is left.

    A name comes from a plugin; a path is made of letters that mean nothing to a file system.
    """
    safe = re.sub(r"[^A-Za-z0-9.=+-]", "-", name.replace(":", "--").replace(", ", ",")).strip(".-")
    if len(safe) <= MAX_PART:
        return safe
    return f"{safe[: MAX_PART - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
