"""Reading untrusted files: plain files with one record each, or a one-line error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def admitted(results: Path, admission: Admission) -> dict[Path, AnyRecord]:
    """Read the records of a folder except evaluations; if any record is invalid, refuse all.

    Raises:
        RefusedError: if a file is not a record, or is one that cannot be published.
        RequestError: if there is no record.
    """
    files = sorted(results.rglob("*.json"))
    if not files:
        raise RequestError(f"no record below {results}: `formalbench run` makes some")
    records: dict[Path, AnyRecord] = {}
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
            records[file] = record
    if refused := refused + disagreeing(records):
        raise RefusedError(refused)
    return records


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


def disagreeing(records: Mapping[Path, AnyRecord]) -> list[str]:
    """Return the runs and verifications of which several records have different numbers."""
    files = [file for file, record in records.items() if has_result(record)]
    groups = grouped_by(lambda file: identity(records[file]), files)
    return [
        f"{first} and {other}: two records of one "
        f"{'run' if isinstance(records[other], Record) else 'verification'}, and their "
        "numbers differ: publish one of them"
        for first, *others in groups.values()
        for other in others
        if counts_of(records[other]) != counts_of(records[first])
    ]
