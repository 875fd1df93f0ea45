"""The files of a reproduction: a page that says what holds, data, its records, and a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from formalbench.analysis.figures import picture, styled
from formalbench.analysis.reproduced import Document
from formalbench.analysis.text import spreadsheet
from formalbench.contracts.record import Record
from formalbench.store import write_atomically
from formalbench.store.packed import written

from formalbench_papers.framework.document import document_text
from formalbench_papers.framework.findings import Findings, Row
from formalbench_papers.framework.page import RECORDS, as_markdown


def write_all(
    folder: Path, told: Document, findings: Findings, records: Sequence[Record]
) -> list[Path]:
    """Write the page, the data, all of it for programs, the records and the figure.

    Args:
        folder: where.
        told: what the page says.
        findings: what it was made of.
        records: to be kept beside it.

    Returns:
        Their paths; of a figure, PNG and SVG.

    Raises:
        RequestError: if a file cannot be written.
    """
    name = told.reproduction
    data, kept, png, svg = (folder / f"{name}{kind}" for kind in (".csv", RECORDS, ".png", ".svg"))
    write_atomically(data, as_csv(findings.rows))
    paths = [data]
    if records:
        write_atomically(kept, written(records))
        paths.append(kept)
    if told.figure and findings.draw is not None:
        with styled():
            figure = findings.draw()
            write_atomically(png, picture(figure, "png", Software=None))
            write_atomically(svg, picture(figure, "svg", Date=None, Creator=None))
        paths += [png, svg]
    return [*paths, *write_page(folder, told)]


def write_page(folder: Path, told: Document) -> list[Path]:
    """Write what a document says, for programs and as a page; return the paths.

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
