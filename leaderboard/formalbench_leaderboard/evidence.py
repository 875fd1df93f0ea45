"""Theory's predictions and published numbers beside records: for pages, and for commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.beside import Premises, beside
from formalbench.analysis.build import View, build_page
from formalbench.analysis.keys import protocol_key
from formalbench.analysis.predictions import compared
from formalbench.analysis.results import Prediction
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.store.packed import read_packed
from formalbench.store.repository import REPRODUCTIONS

from formalbench_leaderboard.known import defaults_here, model_here, task_here, trained_on
from formalbench_leaderboard.publishing.places import is_built_in
from formalbench_leaderboard.renderers.evidence import Evidence
from formalbench_leaderboard.theory import Predictions

if TYPE_CHECKING:
    from formalbench.host import PluginHost


def evidence_of(
    records: Collection[Record], view: View, host: PluginHost, *, own: bool = False
) -> Evidence:
    """Return what records are evidence of.

    Args:
        records: of runs.
        view: how they are seen; which papers stand beside them.
        host: the plugins.
        own: whether to ask of the models and tasks alone that come with formalbench, for pages
            that are the same whatever plugins are at hand.
    """
    known_here = Predictions(host, view.theory)
    predicted = partial(_built_in_alone, host, known_here) if own else known_here.each
    page = build_page(records, replace(view, predicted=predicted))
    return Evidence(compared(page), beside(page, premises(records, host)))


def premises(records: Iterable[Record], host: PluginHost) -> Premises:
    """Return what published numbers must be told to stand beside these records' results."""
    return Premises(
        {protocol_key(record): record.protocol for record in records},
        cache(partial(defaults_here, host)),
        cache(lambda title: trained_on(host, title.partition("[")[0])),
    )


def kept_records(repository: Path) -> list[Record]:
    """Return the records beside the pages of a repository's reproductions.

    A damaged file has none; `leaderboard check` tells of it.
    """
    found: list[Record] = []
    for file in sorted((repository / REPRODUCTIONS).glob("*.records.jsonl")):
        with suppress(RequestError):
            found += [record for record in read_packed(file) if isinstance(record, Record)]
    return found


def _built_in_alone(
    host: PluginHost, known: Predictions, model: str, task: str
) -> tuple[Prediction, ...]:
    entries = model_here(host, model), task_here(host, task)
    own = all(entry and is_built_in(entry.plugin.source) for entry in entries)
    return known.each(model, task) if own else ()
