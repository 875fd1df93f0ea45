"""What is kept beside a page, records and measurements, and what the page should say by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from formalbench.analysis.current import current_of
from formalbench.analysis.text import plural
from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.record import Record
from formalbench.contracts.specs import ReproductionSpec
from formalbench.store import Store
from formalbench.store.packed import read_packed

from formalbench_papers.framework.bench import Bench, carry_out
from formalbench_papers.framework.findings import Findings
from formalbench_papers.framework.measurements import Measurements, UnmeasuredError
from formalbench_papers.framework.page import MEASURED, NOT_RUN, RECORDS

if TYPE_CHECKING:
    from formalbench.analysis.reproduced import Document, Scale
    from formalbench.host.host import PluginHost


@dataclass(frozen=True, slots=True)
class Kept:
    """What lies beside a page.

    Attributes:
        records: of what was trained, for either scale.
        measurements: the file of what was measured without training.
    """

    records: Sequence[Record]
    measurements: Path

    @classmethod
    def beside(cls, folder: Path, name: str) -> Kept:
        """Read what is kept beside the page of a reproduction; nothing is fine.

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
        here = current_of(host)
        return [record for record in self.records if here.standing(record) != "stale"]


def take_records(kept: Kept, spec: ReproductionSpec, store: Store, host: PluginHost) -> int:
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
    kept: Kept,
    host: PluginHost,
    asked: Callable[[set[str]], None] = lambda protocols: None,
) -> Findings:
    """Return what a reproduction finds in what is kept, training and measuring nothing.

    Args:
        spec: which.
        scale: how much of it.
        kept: what is kept.
        host: the plugins.
        asked: as of `Bench`.

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
            _silent,
            Path(folder),
            "cpu",
            training=False,
            measurements=known,
            asked=asked,
        )
        return carry_out(bench, spec)


def _silent(line: str) -> None:
    """Report nothing."""


def on_nothing_kept(told: Document, records: int, measured: bool) -> tuple[str, ...]:
    """Return the note on a page whose numbers nothing beside it gives; empty for any other."""
    verdicts = {cell.verdict for cell in told.cells} | {claim.verdict for claim in told.claims}
    if records or measured or verdicts <= {NOT_RUN}:
        return ()
    return (
        "Nothing that these numbers follow from was kept: they cannot be checked, and the verdicts "
        f"are by the rules of their time. `{told.command}` measures it again.",
    )


class _CannotJudgeError(Exception):
    """Records that cannot give their page; its arguments are the notes of the page."""


def judge(
    spec: ReproductionSpec, told: Document, kept: Kept, host: PluginHost
) -> tuple[Findings | None, tuple[str, ...]]:
    """Return what a page should say by what is kept beside it.

    Returns:
        What is found, and no notes; or None and why the page is stale. Of a page whose task no
        plugin provides here (a corpus), None and the notes that it has.
    """
    again = f"`{told.command}` measures it again."
    if unkept := on_nothing_kept(told, len(kept.records), kept.measurements.exists()):
        return None, unkept
    here = current_of(host)

    def refuse(records: Iterable[Record]) -> None:
        own = list(records)
        standings = [here.standing(record) for record in own]
        if "stale" in standings:
            old = own[standings.index("stale")]
            raise _CannotJudgeError(
                f"{standings.count('stale')} of {plural(len(own), 'run')} are of a model, a "
                "task or a protocol that has another version now. The first: "
                f"{old.model.name} (version {old.model.version}), {old.task.name} (version "
                f"{old.task.version}), {old.protocol.title} (version {old.protocol.version}). "
                f"{again}"
            )
        if "unknown" in standings:
            raise _CannotJudgeError(*told.notes)

    def asked(protocols: set[str]) -> None:
        # Records of the other scale make no page of this one stale.
        refuse(one for one in kept.records if one.protocol.name in protocols)

    try:
        try:
            found = found_again(spec, told.scale, kept, host, asked)
        except UnmeasuredError:
            raise
        except RequestError:
            refuse(kept.records)  # without its corpus a reproduction asks for nothing
            raise
    except _CannotJudgeError as error:
        return None, error.args
    except UnmeasuredError:
        return None, (
            "What was measured without training was not kept, or is of other models, tasks or "
            f"settings than those of now. {again}",
        )
    if kept.records and not found.records:
        return None, (
            f"The experiment has changed: none of these {plural(len(kept.records), 'run')} "
            f"belongs to it now. {again}",
        )
    return found, ()
