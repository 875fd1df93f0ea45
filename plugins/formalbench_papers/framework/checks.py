"""Compares published reproductions with their data, and the data with records.

Without records, the data cannot be checked; `formalbench reproduce` measures them again.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, get_args

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.record import Record
from formalbench.contracts.specs import ReproductionSpec
from formalbench.documents.reproduction import (
    NOT_RUN,
    Document,
    Plain,
    Scale,
    all_hold,
    read_document,
)
from formalbench.documents.text import plural, spreadsheet
from formalbench.files import read_plain
from formalbench.running.plan import make_plan
from formalbench.statistics.selection import current_of
from formalbench.store import REPRODUCTIONS, Store
from formalbench.store.record_file import read_packed

from formalbench_papers.framework.bench import Bench, carry_out
from formalbench_papers.framework.claims import Findings
from formalbench_papers.framework.measurements import Measurements, UnmeasuredError
from formalbench_papers.framework.report import (
    MEASURED,
    OVERVIEW,
    RECORDS,
    as_markdown,
    command,
    overview,
    plain_rows,
)
from formalbench_papers.framework.runs import CellPlan, run_key

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


@dataclass(frozen=True, slots=True)
class PageRecords:
    """The stored records and measurements of a page.

    Attributes:
        records: of what was trained, for either scale.
        measurements: the file of what was measured without training.
    """

    records: Sequence[Record]
    measurements: Path

    @classmethod
    def beside(cls, folder: Path, name: str) -> PageRecords:
        """Read the files next to a reproduction's page; they may be missing.

        Raises:
            RequestError: one line, if a record is not what its identity says.
        """
        records = []
        file = folder / f"{name}{RECORDS}"
        for record in read_packed(file) if file.exists() else ():
            if not isinstance(record, Record):
                raise RequestError(f"{file}: a verification is no record of a run")
            if (record.train_id, record.test_id) != ids_of(record):
                raise RequestError(f"{file}: {record.test_id} is not the identity of what it says")
            records.append(record)
        return cls(records, folder / f"{name}{MEASURED}")

    def not_stale(self, host: PluginHost) -> list[Record]:
        """Return the records whose task, model and protocol have no other version here."""
        current = current_of(host)
        return [record for record in self.records if current.standing(record) != "stale"]


def take_records(kept: PageRecords, spec: ReproductionSpec, store: Store, host: PluginHost) -> int:
    """Write to a results folder the records beside a page that it lacks; return how many.

    The weights of their networks are not kept. Where a reproduction looks into networks, a record
    is of use only if what was found in its network is kept, too.
    """
    known = Measurements(kept.measurements).runs() if spec.inside else set()
    taken = [
        record
        for record in kept.not_stale(host)
        if (not spec.inside or record.test_id in known) and store.record_of(record) is None
    ]
    for record in taken:
        store.write(record)
    return len(taken)


def found_again(
    spec: ReproductionSpec,
    scale: Scale,
    kept: PageRecords,
    host: PluginHost,
    asked: Callable[[Sequence[CellPlan]], None] = lambda wanted: None,
) -> Findings:
    """Return a reproduction's findings from stored records, without training or measuring.

    Raises:
        UnmeasuredError: if it needs a measurement that is not there.
    """
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for record in kept.records:
            store.write(record)
        known = Measurements(kept.measurements, measure=False)
        bench = Bench(
            host,
            scale,
            lambda line: None,
            Path(folder),
            "cpu",
            training=False,
            measurements=known,
            asked=asked,
        )
        return carry_out(bench, spec)


def in_use(spec: ReproductionSpec, kept: PageRecords, host: PluginHost) -> list[Record]:
    """Return the stored records that the experiment asks `Bench.train` for at either scale.

    All of them if it does not come to ask, as without its corpus.
    """

    def stop(wanted: Sequence[CellPlan]) -> None:
        raise _WantedError(wanted)

    keys: set[tuple[str, str]] = set()
    for scale in get_args(Scale):
        try:
            found_again(spec, scale, PageRecords((), kept.measurements), host, stop)
        except _WantedError as error:
            keys.update(
                run_key(run) for one in error.args[0] for run in make_plan(host, one.request()).runs
            )
        except RequestError:
            return list(kept.records)
    return [one for one in kept.records if run_key(one) in keys]


class _WantedError(Exception):
    """What an experiment asked for, before it was given anything."""


def on_nothing_kept(told: Document, records: int, measured: bool) -> tuple[str, ...]:
    """Return the note for a page without stored records; else an empty tuple."""
    verdicts = {cell.verdict for cell in told.cells} | {claim.verdict for claim in told.claims}
    if records or measured or verdicts <= {NOT_RUN}:
        return ()
    return (
        "The records of these numbers were not kept, so they cannot be checked; the verdicts "
        f"follow the rules of that time. `{told.command}` measures it again.",
    )


class _CannotJudgeError(Exception):
    """Records that cannot give their page; its arguments are the notes of the page."""


def judge(
    spec: ReproductionSpec, told: Document, kept: PageRecords, host: PluginHost
) -> tuple[Findings | None, tuple[str, ...]]:
    """Recompute a page from its stored records.

    Returns:
        What is found, and no notes; or None and why the page is stale. Of a page whose task no
        plugin provides here (a corpus), None and the notes that it has.
    """
    again = f"`{told.command}` measures it again."
    if notes := on_nothing_kept(told, len(kept.records), kept.measurements.exists()):
        return None, notes
    current = current_of(host)

    def refuse(records: Iterable[Record]) -> None:
        own = list(records)
        standings = [current.standing(record) for record in own]
        if "stale" in standings:
            old = own[standings.index("stale")]
            raise _CannotJudgeError(
                f"{standings.count('stale')} of {plural(len(own), 'run')} belong to an older "
                f"version of a model, task or protocol. The first: {old.model.name} (version "
                f"{old.model.version}), {old.task.name} (version "
                f"{old.task.version}), {old.protocol.title} (version {old.protocol.version}). "
                f"{again}"
            )
        if "unknown" in standings:
            raise _CannotJudgeError(*told.notes)

    def check(wanted: Sequence[CellPlan]) -> None:
        # Records of the other scale make no page of this one stale.
        protocols = {one.protocol for one in wanted}
        refuse(one for one in kept.records if one.protocol.name in protocols)

    try:
        try:
            findings = found_again(spec, told.scale, kept, host, check)
        except UnmeasuredError:
            raise
        except RequestError:
            refuse(kept.records)  # without its corpus a reproduction asks for nothing
            raise
    except _CannotJudgeError as error:
        return None, error.args
    except UnmeasuredError:
        return None, (
            "The measurements without training were not kept, or belong to earlier models, tasks "
            f"or settings. {again}",
        )
    if kept.records and not findings.records and not in_use(spec, kept, host):
        return None, (
            f"The experiment has changed: none of these {plural(len(kept.records), 'run')} "
            f"belongs to it now. {again}",
        )
    return findings, ()


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
    """Return the problems of reproductions' files, one line each.

    A page and a table must be what the data give, a figure must do nothing but show, and there is
    no other file. Beside a page must lie as many records and measurements as it says, and its
    numbers must be those that they give, and its sentences those of the experiment. If they cannot
    give them, as after a change of a task's version, the page must say that it is stale.
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
    page = read_document(facts)
    if not _agrees(page, spec):
        yield f"{facts}: not what `formalbench reproduce {name}` writes"
        return
    if read_plain(folder / f"{name}.md", MAX_BYTES) != as_markdown(page).encode():
        yield f"{folder / name}.md: not what {name}.json gives"
    if not _same_table(read_plain(folder / f"{name}.csv", MAX_BYTES), page.data):
        yield f"{folder / name}.csv: not what {name}.json gives"
    figure = folder / f"{name}.svg"
    if figure.exists() and _ACTIVE.search(read_plain(figure, MAX_BYTES)):
        yield f"{figure}: does more than a drawing"
    yield from _by_records(folder, page, spec, host)


def _agrees(page: Document, spec: ReproductionSpec) -> bool:
    """Return whether a document is consistent."""
    try:
        day = datetime.date.fromisoformat(page.date).isoformat()
    except ValueError:
        return False
    return (
        page.reproduction == spec.name
        and page.command == command(spec, page.scale)
        and page.holds is all_hold(claim.verdict for claim in page.claims)
        and page.date == day
        and 0 <= page.seconds < 10**8
    )


def _by_records(
    folder: Path, page: Document, spec: ReproductionSpec, host: PluginHost
) -> Iterator[str]:
    name = spec.name
    kept = PageRecords.beside(folder, name)
    if len(kept.records) != (page.records or 0):
        yield (
            f"{folder / name}{RECORDS}: {plural(len(kept.records), 'record')}, and the page says "
            f"{page.records}"
        )
        return
    steps = len(Measurements(kept.measurements))
    if steps < (page.measurements or 0):  # more: a run that has not come to its page yet
        yield f"{kept.measurements}: {plural(steps, 'step')}, and the page says {page.measurements}"
        return
    findings, notes = judge(spec, page, kept, host)
    if notes != page.notes:
        why = "it is stale but not marked as stale" if notes else "it is not stale any more"
    elif findings is None:
        return
    elif (tuple(findings.cells), tuple(findings.claims)) != (
        page.cells,
        page.claims,
    ) or not _same_rows(plain_rows(findings.rows), page.data):
        why = "does not match its records and measurements"
    elif not _has_texts_of(page, spec, findings):
        why = "its sentences are not the experiment's"
    else:
        return
    yield (f"{folder / name}.json: {why}; `formalbench reproduce {name} --from-records` renders it")


def _has_texts_of(page: Document, spec: ReproductionSpec, findings: Findings) -> bool:
    """Return whether a page describes the experiment as the code does now."""
    reduced = spec.reduced if page.scale == "quick" else ""
    ours = (page.title, page.source, page.about, page.reduced, page.remarks)
    return ours == (spec.summary, spec.reference, spec.about, reduced, tuple(findings.remarks))


def _same_rows(ours: Sequence[dict[str, Plain]], stored: Sequence[dict[str, Plain]]) -> bool:
    """Compare rows; the last digits of a number are of the processor that worked it out."""
    return len(ours) == len(stored) and all(
        one.keys() == other.keys() and all(_near(one[key], other[key]) for key in one)
        for one, other in zip(ours, stored, strict=True)
    )


def _near(one: Plain, other: Plain) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=LAST_DIGITS)
    return one == other


def _same_table(text: bytes, rows: Sequence[dict[str, Plain]]) -> bool:
    """Compare a table with its rows; non-finite values are null in the JSON."""
    reader = csv.DictReader(io.StringIO(text.decode(errors="replace"), newline=""))
    table = list(reader)
    if len(table) != len(rows) or (rows and reader.fieldnames != list(rows[0])):
        return False
    return all(
        one.keys() == row.keys() and all(_same_value(one[key], row[key]) for key in row)
        for one, row in zip(table, rows, strict=True)
    )


def _same_value(text: str, value: Plain) -> bool:
    if value is None:
        return text in ("inf", "-inf", "nan", "")
    return text == (spreadsheet(value) if isinstance(value, str) else str(value))
