"""The files of a reproduction: a page that says what holds, data, and a figure if there is one."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.device import describe_environment
from formalbench.store import write_atomically

from formalbench_leaderboard.build import environments_of
from formalbench_leaderboard.renderers.markdown import table
from formalbench_leaderboard.reproductions.framework import (
    Findings,
    Reproduction,
    Row,
    Scale,
    Verdict,
    count_verdicts,
)
from formalbench_leaderboard.reproductions.style import styled
from formalbench_leaderboard.text import markdown, plural, spreadsheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path("leaderboard", "reproductions")

SCHEMA_VERSION = 1
"""Of the JSON."""


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


def check_figures() -> None:
    """Fail before the work rather than after it.

    Raises:
        RequestError: if the library that draws is not installed.
    """
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        raise RequestError(
            "reproduce draws with matplotlib: pip install 'formalbench[figures]'"
        ) from None


def write_all(
    folder: Path, reproduction: Reproduction, findings: Findings, how: Circumstances
) -> list[Path]:
    """Write Markdown, CSV, JSON and, if there is a figure, PNG and SVG; return their paths.

    Raises:
        RequestError: if a file cannot be written.
    """
    page, data, facts, png, svg = (
        folder / f"{reproduction.name}.{kind}" for kind in ("md", "csv", "json", "png", "svg")
    )
    write_atomically(data, as_csv(findings.rows))
    write_atomically(facts, json_text(reproduction, findings, how))
    if findings.draw is not None:
        _draw(findings.draw, png, svg)
    write_atomically(page, as_markdown(reproduction, findings, how))
    return [page, data, facts] if findings.draw is None else [page, data, facts, png, svg]


def as_csv(rows: Sequence[Row]) -> str:
    """Return the data; floats in full."""
    target = io.StringIO()
    writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: spreadsheet(v) if isinstance(v, str) else v for key, v in row.items()} for row in rows
    )
    return target.getvalue()


def json_text(reproduction: Reproduction, findings: Findings, how: Circumstances) -> str:
    """Return everything, for programs; what is not finite is null."""
    data = {
        "schema_version": SCHEMA_VERSION,
        "reproduction": reproduction.name,
        "title": reproduction.title,
        "source": reproduction.source,
        "about": reproduction.about,
        "command": command(reproduction, how.scale),
        "scale": how.scale,
        "reduced": reproduction.reduced if how.scale == "quick" else "",
        "date": how.date,
        "seconds": round(how.seconds, 1),
        "environments": _environments(findings.records, how),
        "holds": findings.holds,
        "cells": [
            {
                "row": one.row,
                "column": one.column,
                "paper": one.paper,
                "ours": one.ours,
                "verdict": one.verdict,
            }
            for one in findings.cells
        ],
        "claims": [
            {"claim": one.text, "paper": one.paper, "ours": one.ours, "verdict": one.verdict}
            for one in findings.claims
        ],
        "remarks": list(findings.remarks),
        "data": [{key: _plain(value) for key, value in row.items()} for row in findings.rows],
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> str | int | float | None:
    """Return what JSON can say; a number of NumPy is a number."""
    plain: str | int | float = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def as_markdown(reproduction: Reproduction, findings: Findings, how: Circumstances) -> str:
    """Return the page: the figure, the cells, every claim with its verdict, how to do it again."""
    name = reproduction.name
    parts = [
        f"# {markdown(reproduction.title)}",
        f"Source: {markdown(reproduction.source)}.",
        markdown(reproduction.about),
        markdown(scale_note(reproduction, how.scale)),
    ]
    figures = ""
    if findings.draw is not None:
        parts.append(f"![{markdown(reproduction.title)}]({name}.svg)")
        figures = f"; figure: [PNG]({name}.png), [SVG]({name}.svg)"
    if findings.cells:
        counted = count_verdicts(cell.verdict for cell in findings.cells)
        parts += [f"## Cell by cell: {counted}", _cells(findings)]
    if findings.claims:
        held = sum(claim.holds is True for claim in findings.claims)
        parts += [f"## Claims: {held} of {len(findings.claims)} hold", _claims(findings)]
    if findings.remarks:
        parts += ["## How this differs from the paper", _bullets(findings.remarks)]
    facts = [
        f"- Command: `{command(reproduction, how.scale)}`",
        f"- Data: [CSV]({name}.csv), [JSON]({name}.json){figures}",
        f"- Date: {how.date}; {took(findings.records, how)}",
        *(f"- Environment: {markdown(line)}" for line in _environments(findings.records, how)),
    ]
    return "\n\n".join([*parts, "## Again", "\n".join(facts)]) + "\n"


def command(reproduction: Reproduction, scale: Scale) -> str:
    """Return the command that does it again."""
    return f"formalbench reproduce {reproduction.name} --scale {scale}"


def scale_note(reproduction: Reproduction, scale: Scale) -> str:
    """Say the scale, and what was reduced at it."""
    reduced = (
        f" Reduced: {reproduction.reduced}" if scale == "quick" and reproduction.reduced else ""
    )
    return f"Scale: {scale}.{reduced}"


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


def _environments(records: Sequence[Record], how: Circumstances) -> list[str]:
    return list(environments_of(records)) if records else [how.environment]


def _cells(findings: Findings) -> str:
    heads = ["row", "column", "paper", "ours", "verdict"]
    rows = [
        [*map(markdown, (cell.row, cell.column, cell.paper, cell.ours)), _emphasised(cell.verdict)]
        for cell in findings.cells
    ]
    return table(heads, rows, heads)


def _claims(findings: Findings) -> str:
    heads = ["claim", "paper", "ours", "verdict"]
    rows = [
        [*map(markdown, (claim.text, claim.paper, claim.ours)), _emphasised(claim.verdict)]
        for claim in findings.claims
    ]
    return table(heads, rows, heads)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markdown(line)}" for line in lines)


def _emphasised(verdict: Verdict) -> str:
    return f"**{verdict}**" if verdict == "differs" else verdict


def _draw(draw: Callable[[], Figure], png: Path, svg: Path) -> None:
    try:
        png.parent.mkdir(parents=True, exist_ok=True)
        with styled():
            figure = draw()
            figure.savefig(png, metadata={"Software": None})
            figure.savefig(svg, metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise RequestError(f"cannot write {png}: {error.strerror}") from None
