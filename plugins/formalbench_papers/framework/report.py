"""A reproduction as files: its page, its data and its figure; and the overview of all."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from formalbench.contracts.record import Record
from formalbench.contracts.specs import ReproductionSpec
from formalbench.device import describe_environment
from formalbench.documents.figures import picture
from formalbench.documents.markup import Markdown
from formalbench.documents.reproduction import (
    NOT_RUN,
    Claim,
    Document,
    Plain,
    Scale,
    TableCell,
    count_verdicts,
    read_document,
)
from formalbench.documents.table import Column, Sheet
from formalbench.documents.templates import Templates
from formalbench.documents.text import plural, spreadsheet
from formalbench.files import write_atomically
from formalbench.statistics.records import environments_of
from formalbench.store.record_file import written

from formalbench_papers.framework.claims import RULE, Findings, Row


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
    """Return a reproduction's document; non-finite values are None.

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
        cells=tuple(findings.cells),
        claims=tuple(findings.claims),
        remarks=tuple(findings.remarks),
        data=plain_rows(findings.rows),
    )


def plain_rows(rows: Sequence[Row]) -> tuple[dict[str, Plain], ...]:
    """Return the data as a document has them."""
    return tuple({key: _plain(value) for key, value in row.items()} for row in rows)


def document_text(one: Document) -> str:
    """Return a document as JSON."""
    return json.dumps(one.model_dump(mode="json"), indent=1, allow_nan=False) + "\n"


def command(spec: ReproductionSpec, scale: Scale) -> str:
    """Return the command that does it again."""
    return f"formalbench reproduce {spec.name} --scale {scale}"


def took(records: Sequence[Record], how: Circumstances) -> str:
    """Return how long it took: the training, if there was any, and not only this call."""
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
    """Convert NumPy numbers to JSON data."""
    plain: str | int | float = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


T = TypeVar("T", TableCell, Claim)

RECORDS = ".records.jsonl"
"""Suffix of the file of records."""

MEASURED = ".measured.jsonl"
"""Suffix of the file of measurements without training."""

_TEMPLATES = Templates(Path(__file__).parent / "templates")


def as_markdown(one: Document) -> str:
    """Return the page of a document."""
    verdicts = {cell.verdict for cell in one.cells} | {claim.verdict for claim in one.claims}
    return _TEMPLATES.render(
        "reproduction.md.j2",
        one=one,
        name=Markdown(one.reproduction),
        command=Markdown(one.command),
        RECORDS=Markdown(RECORDS),
        MEASURED=Markdown(MEASURED),
        RULE=RULE,
        hours=hours_note(one.core_hours),
        scale=f"Scale: {one.scale}.{f' Reduced: {one.reduced}' if one.reduced else ''}",
        nothing_run=verdicts == {NOT_RUN},
        counted=count_verdicts(cell.verdict for cell in one.cells),
        held=_held(one),
        cells=Sheet([_column(name) for name in ("row", "column", *_BESIDE)], one.cells),
        claims=Sheet([_column(name) for name in ("claim", *_BESIDE)], one.claims),
        emphasised=_emphasised,
    )


def hours_note(core_hours: tuple[float | None, float | None]) -> str:
    """Return how long both scales take one CPU core; empty if neither is known."""
    known = [
        f"about {hours:,.2g} at {scale}" if hours < 100 else f"about {hours:,.0f} at {scale}"
        for scale, hours in zip(("quick", "paper"), core_hours, strict=True)
        if hours is not None
    ]
    return f"CPU core hours: {', '.join(known)}." if known else ""


_BESIDE = ("paper", "ours", "verdict")


def _column(name: str) -> Column[T]:
    return Column(name, "", lambda part: getattr(part, name), form="words")


def _held(one: Document) -> str:
    if all(claim.verdict == NOT_RUN for claim in one.claims):
        return "none was run"
    count = sum(claim.verdict == "holds" for claim in one.claims)
    return f"{count} of {len(one.claims)} hold"


def _emphasised(part: TableCell | Claim) -> str:
    return Markdown(f"**{part.verdict}**") if part.holds is False else str(part.verdict)


OVERVIEW = "README.md"

RESULTS = Path(__file__).parents[1] / "results.yaml"

Result = Mapping[str, str]


def overview(folder: Path) -> str:
    """Return the page, by the documents in a folder."""
    import yaml

    papers: Sequence[Mapping[str, Any]] = yaml.safe_load(RESULTS.read_text(encoding="utf-8"))
    columns: list[Column[Result]] = [
        Column("result", "", lambda one: one["result"], form="words"),
        Column("what it says", "", lambda one: one["says"], form="words"),
        Column("here", "", lambda one: _here(folder, one), form="words"),
        Column("state", "", lambda one: _state(folder, one), form="words"),
    ]
    return _TEMPLATES.render(
        "overview.md.j2",
        papers=[(one["paper"], Sheet(columns, one["results"])) for one in papers],
    )


def write_overview(folder: Path) -> None:
    """Write the page again, if the folder has one."""
    if (folder / OVERVIEW).exists():
        write_atomically(folder / OVERVIEW, overview(folder))


def _here(folder: Path, one: Result) -> str:
    page = one.get("page")
    if page is None:
        return one.get("here", "")
    return Markdown(f"[{page}]({page}.md)") if (folder / f"{page}.md").exists() else page


def _state(folder: Path, one: Result) -> str:
    """Return a page's result, or a remark if there is no page."""
    page = one.get("page")
    if page is None:
        return one["state"]
    file = folder / f"{page}.json"
    if not file.exists():
        return "not run"
    stored = read_document(file)
    if stored.notes:  # its verdicts may be by older rules
        return f"scale {stored.scale}; stale"
    named = one.get("claim", "")
    begins = (named,) if isinstance(named, str) else tuple(named)
    claims = count_verdicts(one.verdict for one in stored.claims if one.claim.startswith(begins))
    cells = "" if named else count_verdicts(cell.verdict for cell in stored.cells)
    parts = [f"scale {stored.scale}", f"claims: {claims}" if claims else ""]
    parts += [f"cells: {cells}" if cells else ""]
    return "; ".join(filter(None, parts))


def write_all(
    folder: Path, told: Document, findings: Findings, records: Sequence[Record]
) -> list[Path]:
    """Write the page, the data, all of it for programs, records to keep and the figure.

    Returns:
        Their paths; of a figure, PNG and SVG.

    Raises:
        RequestError: if a file cannot be written.
    """
    name = told.reproduction
    data, jsonl, png, svg = (folder / f"{name}{kind}" for kind in (".csv", RECORDS, ".png", ".svg"))
    write_atomically(data, as_csv(findings.rows))
    paths = [data]
    if records:
        write_atomically(jsonl, written(records))
        paths.append(jsonl)
    if told.figure and findings.draw is not None:
        figure = findings.draw()
        write_atomically(png, picture(figure, "png"))
        write_atomically(svg, picture(figure, "svg"))
        paths += [png, svg]
    return [*paths, *write_page(folder, told)]


def write_page(folder: Path, told: Document) -> list[Path]:
    """Write a document as JSON and as a page; return the paths.

    Raises:
        RequestError: if a file cannot be written.
    """
    facts, page = (folder / f"{told.reproduction}.{kind}" for kind in ("json", "md"))
    write_atomically(facts, document_text(told))
    write_atomically(page, as_markdown(told))
    return [facts, page]


def as_csv(rows: Sequence[Row]) -> str:
    """Return the data; floats in full."""
    target = io.StringIO()
    writer = csv.DictWriter(target, list(rows[0]) if rows else (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: spreadsheet(v) if isinstance(v, str) else v for key, v in row.items()} for row in rows
    )
    return target.getvalue()
