"""Of which published runs there are weights to be had, so that anybody can test them again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.keys import counts_of, has_result
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.store import weights_path
from formalbench.store.weights import read_weights

if TYPE_CHECKING:
    from formalbench_leaderboard.publishing.untrusted import Found

EVERY_RUN = "standard"
"""The protocol all of whose runs keep their weights: what the board claims rests on them."""


def keeps_weights(record: AnyRecord) -> bool:
    """Say whether whoever publishes a record has to give its weights away.

    Those of every run under `standard`, and under any other protocol those of seed 0: the
    record alone decides, and nothing that was measured. Records from before weights were kept,
    and of networks too large for it, name none.
    """
    if not isinstance(record, Record) or record.weights is None:
        return False
    return record.protocol.title == EVERY_RUN or record.seed == 0


def lacks_weights(record: Record) -> bool:
    """Say whether a run names no weights, and by the rule of `keeps_weights` it should."""
    chosen = record.protocol.title == EVERY_RUN or record.seed == 0
    learned = record.model.kind == "learned" and record.test is not None
    return learned and chosen and record.weights is None


def checked_weights(record: Record, file: Path) -> bytes:
    """Return the weights beside a record's file, if they are the ones that it names.

    Raises:
        RequestError: one line, if they are missing, too large, a link, or others.
    """
    return read_weights(record, weights_path(file))


def completes(new: Found, held: Found) -> bool:
    """Say whether a record names weights, and a published one of its run names none.

    It must agree with it in every count: then it is the same run, done again with its weights
    kept, and takes its place.
    """
    return (
        keeps_weights(new.record)
        and isinstance(held.record, Record)
        and held.record.weights is None
        and counts_of(new.record) == counts_of(held.record)
    )


def differs(new: Found, held: Found) -> bool:
    """Say whether two records of one run both have a result, and not the same one."""
    return (
        isinstance(new.record, Record)
        and isinstance(held.record, Record)
        and has_result(new.record)
        and has_result(held.record)
        and counts_of(new.record) != counts_of(held.record)
    )
