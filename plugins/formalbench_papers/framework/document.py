"""What a reproduction found, as a document: all that its page says, and all that programs read.

The page is rendered from it and from nothing else, so that the two cannot differ.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from formalbench.analysis.environments import environments_of
from formalbench.analysis.text import plural
from formalbench.contracts.errors import RequestError
from formalbench.contracts.part import Part
from formalbench.contracts.record import Record
from formalbench.device import describe_environment
from formalbench.plain import read_plain
from pydantic import ValidationError

from formalbench_papers.framework.findings import (
    Findings,
    Reproduction,
    Row,
    Scale,
    Verdict,
)

MAX_BYTES = 8 << 20

Plain = str | int | float | None


class CellTold(Part):
    """A cell of the paper's table, beside ours."""

    row: str
    column: str
    paper: str
    ours: str
    verdict: Verdict


class ClaimTold(Part):
    """A claim of the paper, beside what was found."""

    claim: str
    paper: str
    ours: str
    verdict: Verdict


class Document(Part):
    """Everything about one reproduction, once carried out.

    Attributes:
        schema_version: of this format.
        reproduction, title, source, about, reduced: as of `Reproduction`.
        command: does it again.
        scale: how much was done.
        date: UTC, the day.
        seconds: how long the command took.
        took: how long the training did, in words.
        environments: of the records or, without any, of this machine.
        records: how many are kept beside the page; 0 if nothing was trained; None if it was
            measured before records were kept.
        figure: whether there is one.
        holds: whether no claim differs.
        notes: what is to be said of these numbers since they were measured.
        cells, claims, remarks, data: what was found.
    """

    schema_version: Literal[2] = 2
    reproduction: str
    title: str
    source: str
    about: str
    command: str
    scale: Scale
    reduced: str
    date: str
    seconds: float
    took: str
    environments: tuple[str, ...]
    records: int | None
    figure: bool
    holds: bool
    notes: tuple[str, ...] = ()
    cells: tuple[CellTold, ...]
    claims: tuple[ClaimTold, ...]
    remarks: tuple[str, ...]
    data: tuple[dict[str, Plain], ...]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When and how a reproduction was carried out.

    Attributes:
        scale: how much was done.
        seconds: how long that took.
        date: UTC, ISO 8601, the day.
        environment: the machine and the libraries, in one line.
    """

    scale: Scale
    seconds: float
    date: str
    environment: str

    @classmethod
    def now(cls, scale: Scale, seconds: float) -> Circumstances:
        """Return those of this process."""
        machine = describe_environment("cpu")
        versions = ", ".join(f"{name} {value}" for name, value in sorted(machine.versions.items()))
        today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        return cls(scale, seconds, today, f"{machine.device}, {machine.hardware}; {versions}")


def document(reproduction: Reproduction, findings: Findings, how: Circumstances) -> Document:
    """Return everything about a reproduction; what is not finite is None."""
    environments = environments_of(findings.records) if findings.records else (how.environment,)
    return Document(
        reproduction=reproduction.name,
        title=reproduction.title,
        source=reproduction.source,
        about=reproduction.about,
        command=command(reproduction, how.scale),
        scale=how.scale,
        reduced=reproduction.reduced if how.scale == "quick" else "",
        date=how.date,
        seconds=round(how.seconds, 1),
        took=took(findings.records, how),
        environments=tuple(environments),
        records=len(findings.records),
        figure=findings.draw is not None,
        holds=findings.holds,
        cells=cells_told(findings),
        claims=claims_told(findings),
        remarks=tuple(findings.remarks),
        data=data_told(findings.rows),
    )


def cells_told(findings: Findings) -> tuple[CellTold, ...]:
    """Return the cells of a table as a document has them."""
    return tuple(
        CellTold(
            row=one.row, column=one.column, paper=one.paper, ours=one.ours, verdict=one.verdict
        )
        for one in findings.cells
    )


def claims_told(findings: Findings) -> tuple[ClaimTold, ...]:
    """Return the claims as a document has them."""
    return tuple(
        ClaimTold(claim=one.text, paper=one.paper, ours=one.ours, verdict=one.verdict)
        for one in findings.claims
    )


def data_told(rows: Sequence[Row]) -> tuple[dict[str, Plain], ...]:
    """Return the data as a document has them."""
    return tuple({key: _plain(value) for key, value in row.items()} for row in rows)


def document_text(one: Document) -> str:
    """Return a document as JSON."""
    return json.dumps(one.model_dump(mode="json"), indent=1, allow_nan=False) + "\n"


def read_document(file: Path) -> Document:
    """Read a document; it may have come from anybody.

    Raises:
        RequestError: one line, if it is none.
    """
    contents = read_plain(file, MAX_BYTES, "the data of a reproduction")
    try:
        return Document.model_validate_json(contents)
    except ValidationError as error:
        first: Mapping[str, Any] = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RequestError(
            f"{file}: not the data of a reproduction: {f'{place}: ' if place else ''}{first['msg']}"
        ) from None


def command(reproduction: Reproduction, scale: Scale) -> str:
    """Return the command that does it again."""
    return f"formalbench reproduce {reproduction.name} --scale {scale}"


def took(records: Sequence[Record], how: Circumstances) -> str:
    """Say how long it took: the training, if there was any, and not only this call."""
    if not records:
        return f"{how.seconds:.0f} s"
    seconds = sum(
        part.seconds
        for record in records
        for part in (record.training, record.test)
        if part is not None
    )
    return (
        f"{plural(len(records), 'run')}, trained and tested in {seconds / 60:.0f} min in all "
        f"(summed over the runs); {how.seconds:.0f} s in this call"
    )


def _plain(value: Any) -> Plain:
    """Return what JSON can say; a number of NumPy is a number."""
    plain: str | int | float = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
