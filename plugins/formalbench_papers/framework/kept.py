"""The records kept beside a page, and what the page should say by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.record import Record
from formalbench.contracts.specs import ReproductionSpec
from formalbench.store import Store
from formalbench.store.packed import read_packed

from formalbench_papers.framework.bench import Bench, carry_out
from formalbench_papers.framework.findings import Findings
from formalbench_papers.framework.page import RECORDS

if TYPE_CHECKING:
    from formalbench.analysis.reproduced import Scale
    from formalbench.host.host import PluginHost


def kept_records(folder: Path, name: str) -> list[Record]:
    """Read the records kept beside the page of a reproduction.

    Raises:
        RequestError: one line, if there are none, or one is not what its identity says.
    """
    file = folder / f"{name}{RECORDS}"
    records = []
    for record in read_packed(file):
        if not isinstance(record, Record):
            raise RequestError(f"{file}: a verification is no record of a run")
        if (record.train_id, record.test_id) != ids_of(record):
            raise RequestError(f"{file}: {record.test_id} is not the identity of what it says")
        records.append(record)
    return records


def found_again(
    spec: ReproductionSpec, scale: Scale, records: Sequence[Record], host: PluginHost
) -> Findings:
    """Return what a reproduction finds in some records, training nothing.

    Raises:
        RequestError: if they are not all that it asks for, as when a protocol has changed, or
            if it looks into networks, whose weights are not kept.
    """
    if spec.inside:
        raise RequestError(f"{spec.name} needs the weights of its networks, not records")
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for record in records:
            store.write(record)
        bench = Bench(host, scale, _silent, Path(folder), "cpu", training=False)
        findings = carry_out(bench, spec)
    return replace(findings, records=list(records))


def _silent(line: str) -> None:
    """Report nothing."""
