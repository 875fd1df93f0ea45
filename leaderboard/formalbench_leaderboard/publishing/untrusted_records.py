"""Reading untrusted files: plain files with one record each, or a one-line error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, EvaluatedRecord
from formalbench.documents.text import harmless
from formalbench.statistics.records import counts_of, grouped_by, has_result, identity
from formalbench.store import read_stored

if TYPE_CHECKING:
    from formalbench_leaderboard.publishing.record_check import Admission


class RefusedError(FormalbenchError):
    """Raised for records that cannot be published; `lines` has one line for each reason."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(f"{len(lines)} refused: nothing was published")
        self.lines = list(map(harmless, lines))


@dataclass(frozen=True, slots=True)
class Found:
    """A record and its file."""

    file: Path
    record: AnyRecord


def admitted(results: Path, admission: Admission) -> list[Found]:
    """Read the records of a folder except evaluations; if any record is invalid, refuse all.

    Raises:
        RefusedError: if a file is not a record, or is one that cannot be published.
        RequestError: if there is no record.
    """
    files = sorted(results.rglob("*.json"))
    if not files:
        raise RequestError(f"no record below {results}: `formalbench run` makes some")
    found: list[Found] = []
    refused = []
    for file in files:
        try:
            record = read_stored(file)
            if isinstance(record, EvaluatedRecord):
                continue  # evaluations are local, unless `self_reported` publishes them
            admission.admit(record)
        except FormalbenchError as error:
            refused.append(naming(file, error))
        else:
            found.append(Found(file, record))
    if refused := refused + disagreeing(found):
        raise RefusedError(refused)
    return found


def check_fields(recorded: Any, here: Any, *, within: float = 0.0, field: str = "") -> None:
    """Refuse a record in which a field has another value than here.

    Args:
        recorded: the value in the record, as JSON.
        here: the expected value.
        within: absolute and relative tolerance of floats.
        field: the field's name, as a dotted path.

    Raises:
        RequestError: one line that names the first such field and both values.
    """
    if recorded == here:
        return
    if isinstance(recorded, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys([*here, *recorded]):
            part = f"{field}.{name}" if field else name
            check_fields(
                recorded.get(name, "absent"), here.get(name, "absent"), within=within, field=part
            )
    elif (
        isinstance(recorded, list | tuple)
        and isinstance(here, list | tuple)
        and len(recorded) == len(here)
    ):
        for index, pair in enumerate(zip(recorded, here, strict=True)):
            check_fields(*pair, within=within, field=f"{field}[{index}]")
    elif isinstance(recorded, float) and isinstance(here, float):
        if not math.isclose(recorded, here, rel_tol=within, abs_tol=within):
            raise RequestError(f"its {field} is {recorded:.6g}, not {here:.6g}")
    else:
        raise RequestError(f"its {field} is {recorded!s:.40}, not {here!s:.40}")


def naming(file: Path, error: FormalbenchError) -> str:
    """Return the message of an error, with the name of its file."""
    line = str(error)
    return line if str(file) in line else f"{file}: {line}"


def disagreeing(found: Iterable[Found]) -> list[str]:
    """Return the runs and verifications of which several records have different numbers."""
    told = (one for one in found if has_result(one.record))
    same = grouped_by(lambda one: identity(one.record), told)
    return [
        f"{held[0].file} and {other.file}: two records of one {_deed(other.record)}, and their "
        "numbers differ: publish one of them"
        for held in same.values()
        for other in held[1:]
        if counts_of(other.record) != counts_of(held[0].record)
    ]


def _deed(record: AnyRecord) -> str:
    return "run" if isinstance(record, Record) else "verification"
