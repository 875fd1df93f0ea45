"""Auditing: the weights of a run tested again, on its own strings and on fresh ones.

A record is taken in on trust as to what its network got right. Whoever has its weights can ask
again: a number that was made up, or weights of something else, show as a mismatch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from formalbench.contracts.closes import closes_of
from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError
from formalbench.contracts.record import Record
from formalbench.precision import check_precision
from formalbench.store import read_record, weights_path

from formalbench_leaderboard.auditing.agreement import (
    ALARM,
    Counts,
    allowed,
    allowed_bits,
    changed,
    p_value,
)
from formalbench_leaderboard.auditing.retested import Bench
from formalbench_leaderboard.auditing.retrain import Retrained, Retrainer
from formalbench_leaderboard.keys import protocol_contents
from formalbench_leaderboard.publishing.admission import Admission
from formalbench_leaderboard.sources import current_of

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.evaluation.cells import CellSet
    from formalbench.host.host import PluginHost
    from torch import nn

Verdict = Literal["ok", "MISMATCH", "refused", "skipped"]

_LONGEST = 500
"""Characters of what a stranger's code says when it fails."""

VERIFICATION = "`formalbench verify` repeats verifications"
UNFINISHED = "did not finish: nothing to test"
STALE = "made with another version of the task, the model or the protocol: does not count"
UNKNOWN = "of a plugin that is not at hand: name it with --plugin"
NO_WEIGHTS = "no weights are published with it"


@dataclass(slots=True)
class Audit:
    """What came of a record's audit.

    Attributes:
        path: of the record.
        record: None if it could not be read.
        verdict: ``refused`` if it could not be tested as what it says it is.
        reasons: why, if it is not ok; one line each.
        recorded, fresh: accuracy as recorded, and on fresh strings.
        p: how likely one network gives both (`p_value`).
        changed: of the record's own test strings, how many are answered otherwise now, at least.
        retrained: the run, done again, if that was asked for.
    """

    path: Path
    record: Record | None = None
    verdict: Verdict = "ok"
    reasons: list[str] = field(default_factory=list)
    recorded: float | None = None
    fresh: float | None = None
    p: float | None = None
    changed: int | None = None
    retrained: Retrained | None = None

    def mismatch(self, reason: str) -> None:
        """Note what does not agree."""
        self.verdict = "MISMATCH"
        self.reasons.append(reason)


@dataclass(frozen=True, slots=True)
class _Strings:
    """A task, and the sets of strings that its records are tested on."""

    key: tuple[object, ...]
    task: Task
    own: CellSet
    fresh: CellSet
    validation: CellSet


class Auditor:
    """Audits records; those of one task in a row share its strings.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
        again: whether to train every run again.
    """

    def __init__(self, host: PluginHost, seed: int, device: str, again: bool = False) -> None:
        self._host = host
        self._seed = seed
        self._device = device
        self._retrainer = Retrainer(host, device) if again else None
        self._admission = Admission(host)
        self._current = current_of(host)
        self._strings: _Strings | None = None

    def audit(self, path: Path, asked: bool = True) -> Audit:
        """Audit one record.

        Args:
            path: of its file; its weights lie beside it.
            asked: whether it was named, and not only its folder: then having no weights is a
                reason to refuse it, not to pass over it.
        """
        found = Audit(path)
        try:
            self._audit(found, asked)
        except PLUGIN_FAILURES as error:  # a task and a network can be a stranger's code
            kind = "" if isinstance(error, FormalbenchError) else f"{type(error).__name__}: "
            line = " ".join(f"{kind}{error}".split())
            found.verdict, found.reasons = "refused", [line[:_LONGEST]]
        return found

    def _audit(self, found: Audit, asked: bool) -> None:
        record = read_record(found.path)
        if not isinstance(record, Record):
            found.verdict, found.reasons = "skipped", [VERIFICATION]
            return
        found.record = record
        if why := self._passed_over(record, found.path, asked):
            found.verdict, found.reasons = "skipped", [why]
            return
        self._admission.check(record)
        learned = record.model.kind == "learned"
        if not (self._retrainer and learned and not weights_path(found.path).exists()):
            self._test(found, record)
        if self._retrainer and learned:
            found.retrained = self._retrainer.retrain(record)
            if found.retrained.mismatch:
                found.mismatch(found.retrained.mismatch)

    def _passed_over(self, record: Record, path: Path, asked: bool) -> str | None:
        if record.test is None:
            return UNFINISHED
        standing = self._current.standing(record)
        if standing == "stale":
            return STALE
        if standing == "unknown" and not asked:
            return UNKNOWN
        learned = record.model.kind == "learned"
        return NO_WEIGHTS if learned and not asked and not weights_path(path).exists() else None

    def _test(self, found: Audit, record: Record) -> None:
        """Test a record's network again, and compare."""
        import torch
        from formalbench.weights import load_network

        assert record.test is not None
        check_precision(record.protocol, self._device)
        strings = self._strings_of(record)
        if record.model.kind == "learned":
            network: nn.Module = load_network(self._host, record, weights_path(found.path))
        else:  # a construction is its own weights
            network = self._host.network(record.model.name, strings.task, record.model.options)
        size = sum(parameter.numel() for parameter in network.parameters())
        if size != record.model.parameters:
            found.mismatch(f"it has {size:,} parameters, not {record.model.parameters:,}")
        bench = Bench(network, strings.task, torch.device(self._device), record.protocol.precision)
        recorded = Counts(record.test.cells.strings, record.test.cells.correct)
        found.recorded = recorded.accuracy
        self._own(found, record, bench, strings)
        fresh = bench.test(strings.fresh)
        found.fresh, found.p = fresh.counts.accuracy, p_value(recorded, fresh.counts)
        if found.p < ALARM:
            found.mismatch("fresh strings give other counts")

    def _own(self, found: Audit, record: Record, bench: Bench, strings: _Strings) -> None:
        """Compare the answers on the strings that the record is about."""
        assert record.test is not None
        closes, selected = record.test.closes, record.selected
        told = Counts(record.test.cells.strings, record.test.cells.correct)
        own = bench.test(strings.own)
        found.changed = changed(told, own.counts)
        if not self._could_be(bench, strings.own, told, own.counts):
            found.mismatch(f"{found.changed:,} of its own test strings are answered otherwise")
        if bits := self._other_bits(bench, strings.own, record.test.cells.bits, own.total.bits):
            found.mismatch(f"cross-entropy on its own test strings is {bits}")
        again = closes_of(own.total.close_brackets)
        if closes and again and abs(closes.right - again.right) > allowed(closes.asked):
            found.mismatch(f"{again.right:,} close brackets are right, not {closes.right:,}")
        if selected is not None:
            score = bench.test(strings.validation).total
            if score.strings != selected.strings or (
                abs(score.correct - selected.correct) > allowed(selected.strings)
            ):
                right = f"{selected.correct:,} of {selected.strings:,}"
                found.mismatch(
                    f"{score.correct:,} of {score.strings:,} validation strings are right, "
                    f"not {right}"
                )
            if bits := self._other_bits(bench, strings.validation, selected.bits, score.bits):
                found.mismatch(f"cross-entropy on validation strings is {bits}")

    @staticmethod
    def _other_bits(bench: Bench, cells: CellSet, told: float, now: float) -> str | None:
        """Say how two cross-entropies differ, if by more than the arithmetic can make them."""
        difference = abs(told - now)
        if difference <= allowed_bits(now):
            return None
        double = bench.test(cells, double=True).total.bits
        if difference <= allowed_bits(now, abs(now - double)):
            return None
        return f"{now:.3g} bits, not {told:.3g}"

    @staticmethod
    def _could_be(bench: Bench, cells: CellSet, told: Counts, now: Counts) -> bool:
        """Say whether one network's arithmetic can give both counts on the same strings."""
        strings, difference = sum(told.strings), changed(told, now)
        if difference <= allowed(strings):
            return True
        if p_value(told, now) < ALARM:  # too much even for other strings
            return False
        double = bench.test(cells, double=True).counts
        return difference <= allowed(strings, changed(now, double))

    def _strings_of(self, record: Record) -> _Strings:
        """Return the strings of a record's task; those of the last one are at hand."""
        from formalbench.evaluation.cells import fresh_set, test_set, validation_set

        used, protocol = record.task, record.protocol
        key = (used.name, tuple(sorted(used.options.items())), protocol_contents(protocol))
        if self._strings is None or self._strings.key != key:
            task = protocol.apply(self._host.task(used.name, used.options))
            self._strings = _Strings(
                key,
                task,
                test_set(task, protocol),
                fresh_set(task, protocol, self._seed),
                validation_set(task, protocol),
            )
        return self._strings
