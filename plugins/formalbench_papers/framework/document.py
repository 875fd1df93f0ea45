"""Making a document of what a reproduction found."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from formalbench.analysis.environments import environments_of
from formalbench.analysis.reproduced import CellTold, ClaimTold, Document, Plain, Scale
from formalbench.analysis.text import plural
from formalbench.contracts.record import Record
from formalbench.contracts.specs import ReproductionSpec
from formalbench.device import describe_environment

from formalbench_papers.framework.findings import Findings, Row


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


def document(
    spec: ReproductionSpec,
    findings: Findings,
    how: Circumstances,
    records: int | None = None,
    measurements: int = 0,
) -> Document:
    """Return everything about a reproduction; what is not finite is None.

    Args:
        spec: which.
        findings: what came of it.
        how: when and where.
        records: how many are kept beside the page; None for those of the findings.
        measurements: how many steps are.
    """
    environments = environments_of(findings.records) if findings.records else (how.environment,)
    return Document(
        reproduction=spec.name,
        title=spec.summary,
        source=spec.reference,
        about=spec.about,
        command=command(spec, how.scale),
        scale=how.scale,
        reduced=spec.reduced if how.scale == "quick" else "",
        date=how.date,
        seconds=round(how.seconds, 1),
        took=took(findings.records, how),
        environments=tuple(environments),
        records=len(findings.records) if records is None else records,
        measurements=measurements,
        core_hours=spec.core_hours,
        figure=findings.draw is not None and len(findings.rows) > 0,
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


def command(spec: ReproductionSpec, scale: Scale) -> str:
    """Return the command that does it again."""
    return f"formalbench reproduce {spec.name} --scale {scale}"


def took(records: Sequence[Record], how: Circumstances) -> str:
    """Say how long it took: the training, if there was any, and not only this call."""
    call = f"{round(how.seconds, 1):.0f} s"  # as rounded as it is kept
    if not records:
        return call
    seconds = sum(
        part.seconds
        for record in records
        for part in (record.training, record.test)
        if part is not None
    )
    return (
        f"{plural(len(records), 'run')}, trained and tested in {seconds / 60:.0f} min in all "
        f"(summed over the runs); {call} in this call"
    )


def _plain(value: Any) -> Plain:
    """Return what JSON can say; a number of NumPy is a number."""
    plain: str | int | float = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
