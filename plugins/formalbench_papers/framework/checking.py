"""Holding the files of reproductions to their data, and the data to the records beside them.

Without records, what the data say was measured is their author's word; `formalbench reproduce`
measures it again.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.reproduced import Document, Plain, all_hold, read_document
from formalbench.analysis.text import plural, spreadsheet
from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.specs import ReproductionSpec
from formalbench.plain import read_plain
from formalbench.store.repository import REPRODUCTIONS

from formalbench_papers.framework.document import cells_told, claims_told, command, data_told
from formalbench_papers.framework.kept import Kept, judge
from formalbench_papers.framework.measurements import Measurements
from formalbench_papers.framework.overview import OVERVIEW, overview
from formalbench_papers.framework.page import MEASURED, RECORDS, as_markdown

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

MAX_BYTES = 64 << 20
"""No file of a reproduction is as large."""

LAST_DIGITS = 1e-9
"""Numbers no further apart are the same: not every processor's logarithms end alike."""

KINDS = (".csv", ".json", ".md", ".png", ".svg", RECORDS, MEASURED)

_ACTIVE = re.compile(
    rb"<\s*(script|foreignObject|iframe|image|animate\w*|set|a)\b|\bon\w+\s*=|<!ENTITY|xml-stylesheet"
    rb"|href\s*=\s*[\"'][^#]|url\((?!#)|@import|javascript:",
    re.IGNORECASE,
)
"""What a drawing has no use for."""


def reproductions_problems(repository: Path, host: PluginHost) -> list[str]:
    """Say what is wrong with the files of reproductions, one line each.

    A page and a table must be what the data give, a figure must do nothing but show, and there is
    no other file. Beside a page must lie as many records and measurements as it says, and its
    numbers must be those that they give. If they cannot give them, as after a change of a task's
    version, the page must say that it is stale.

    Args:
        repository: its root.
        host: the plugins.
    """
    folder = repository / REPRODUCTIONS
    entries = {entry.spec.name: entry for entry in host.reproductions.all()}
    files = {folder / f"{name}{kind}": name for name in entries for kind in KINDS}
    problems = []
    for path in sorted(folder.rglob("*")):
        if path == folder / OVERVIEW and not path.is_symlink():
            continue
        if path not in files or path.is_symlink():
            problems.append(f"{path}: of no reproduction")
    for name in sorted({name for path, name in files.items() if path.exists()}):
        try:
            with host.blaming(entries[name].plugin):
                problems += _problems(folder, entries[name].spec, host)
        except FormalbenchError as error:
            problems.append(str(error))
    readme = folder / OVERVIEW
    if problems or not readme.exists():
        return problems
    if read_plain(readme, MAX_BYTES) != overview(folder).encode():
        problems.append(f"{readme}: not what the pages give; `formalbench reproduce` renders it")
    return problems


def _problems(folder: Path, spec: ReproductionSpec, host: PluginHost) -> Iterator[str]:
    name = spec.name
    facts = folder / f"{name}.json"
    told = read_document(facts)
    if not _agrees(told, spec):
        yield f"{facts}: not what `formalbench reproduce {name}` writes"
        return
    if read_plain(folder / f"{name}.md", MAX_BYTES) != as_markdown(told).encode():
        yield f"{folder / name}.md: not what {name}.json gives"
    if not _same_table(read_plain(folder / f"{name}.csv", MAX_BYTES), told.data):
        yield f"{folder / name}.csv: not what {name}.json gives"
    figure = folder / f"{name}.svg"
    if figure.exists() and _ACTIVE.search(read_plain(figure, MAX_BYTES)):
        yield f"{figure}: does more than a drawing"
    yield from _by_records(folder, told, spec, host)


def _agrees(told: Document, spec: ReproductionSpec) -> bool:
    """Say whether what a document says of itself fits together."""
    try:
        day = datetime.date.fromisoformat(told.date).isoformat()
    except ValueError:
        return False
    return (
        told.reproduction == spec.name
        and told.command == command(spec, told.scale)
        and told.holds is all_hold(claim.verdict for claim in told.claims)
        and told.date == day
        and 0 <= told.seconds < 10**8
    )


def _by_records(
    folder: Path, told: Document, spec: ReproductionSpec, host: PluginHost
) -> Iterator[str]:
    name = spec.name
    kept = Kept.beside(folder, name)
    if len(kept.records) != (told.records or 0):
        yield (
            f"{folder / name}{RECORDS}: {plural(len(kept.records), 'record')}, and the page says "
            f"{told.records}"
        )
        return
    steps = len(Measurements(kept.measurements))
    if steps < (told.measurements or 0):  # more: a run that has not come to its page yet
        yield f"{kept.measurements}: {plural(steps, 'step')}, and the page says {told.measurements}"
        return
    found, notes = judge(spec, told, kept, host)
    if notes != told.notes:
        why = "it is stale and does not say so" if notes else "it is not stale any more"
    elif found is None or (
        (cells_told(found), claims_told(found)) == (told.cells, told.claims)
        and _same_rows(data_told(found.rows), told.data)
    ):
        return
    else:
        why = "not what its records and measurements give"
    yield (f"{folder / name}.json: {why}; `formalbench reproduce {name} --from-records` renders it")


def _same_rows(ours: Sequence[dict[str, Plain]], told: Sequence[dict[str, Plain]]) -> bool:
    """Compare rows; the last digits of a number are of the processor that worked it out."""
    return len(ours) == len(told) and all(
        one.keys() == other.keys() and all(_near(one[key], other[key]) for key in one)
        for one, other in zip(ours, told, strict=True)
    )


def _near(one: Plain, other: Plain) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=LAST_DIGITS)
    return one == other


def _same_table(text: bytes, rows: Sequence[dict[str, Plain]]) -> bool:
    """Compare a table with its rows; what is not finite is null in the JSON."""
    reader = csv.DictReader(io.StringIO(text.decode(errors="replace"), newline=""))
    told = list(reader)
    if len(told) != len(rows) or (rows and reader.fieldnames != list(rows[0])):
        return False
    return all(
        one.keys() == row.keys() and all(_same_value(one[key], row[key]) for key in row)
        for one, row in zip(told, rows, strict=True)
    )


def _same_value(told: str, value: Plain) -> bool:
    if value is None:
        return told in ("inf", "-inf", "nan", "")
    return told == (spreadsheet(value) if isinstance(value, str) else str(value))
