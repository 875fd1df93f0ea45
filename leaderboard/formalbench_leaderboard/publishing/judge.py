"""Published weights tested again, and compared with their records."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError
from formalbench.contracts.metric import Measure
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION
from formalbench.contracts.record import Record, Selected, Summed
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.device import check_precision
from formalbench.host.loader import as_failures
from formalbench.running.sandbox import Tell
from formalbench.running.worker import load_host
from formalbench.statistics.records import protocol_contents

from formalbench_leaderboard.publishing.agreement import (
    ALARM,
    CellCounts,
    allowed,
    allowed_bits,
    changed,
    p_value,
)
from formalbench_leaderboard.publishing.record_check import Admission
from formalbench_leaderboard.publishing.rerun import verify_again
from formalbench_leaderboard.publishing.retest import Retester, told_counts
from formalbench_leaderboard.publishing.untrusted_plugins import LOADING, Question

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.evaluation.cells import TestSet
    from formalbench.host.host import PluginHost
    from formalbench.host.plugin import LocalPlugin
    from torch import nn

    from formalbench_leaderboard.publishing.rerun import Retrained, Reverified


Verdict = Literal["ok", "MISMATCH", "not judged", "refused", "skipped"]


@dataclass(slots=True)
class Audit:
    """What came of a record's audit.

    Attributes:
        path: of the record.
        record: None if it could not be read.
        verdict: ``refused`` if it could not be tested as what it says it is; ``not judged`` if
            training again under other conditions than it names gives other counts.
        reasons: why, if it is not ok; one line each.
        recorded, fresh: accuracy as recorded, and on fresh strings.
        p: how likely one network gives both (`p_value`).
        changed: of the record's own test strings, how many are answered otherwise now, at least.
        retrained: the run, done again, if that was asked for.
        reverified: the verification, done again.
    """

    path: Path
    record: AnyRecord | None = None
    verdict: Verdict = "ok"
    reasons: list[str] = field(default_factory=list)
    recorded: float | None = None
    fresh: float | None = None
    p: float | None = None
    changed: int | None = None
    retrained: Retrained | None = None
    reverified: Reverified | None = None

    def mismatch(self, reason: str) -> None:
        """Note what does not agree."""
        self.verdict = "MISMATCH"
        self.reasons.append(reason)


@dataclass(frozen=True, slots=True)
class _Strings:
    """A task, and the sets of strings that its records are tested on; fresh ones, if it has any."""

    key: tuple[object, ...]
    task: Task
    own: TestSet
    fresh: TestSet | None
    validation: TestSet


BORDER = 1
"""Cells that rounding may tip over: logits that grow with the length end as infinite somewhere."""


class WeightsTest:
    """Tests the networks of runs again; those of one task in a row share its strings.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
    """

    def __init__(self, host: PluginHost, seed: int, device: str) -> None:
        self._host = host
        self._seed = seed
        self._device = device
        self._strings: _Strings | None = None

    def test(
        self,
        found: Audit,
        record: Record,
        packed: bytes | None,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        """Test a record's network again, and note in `found` what does not agree.

        Args:
            found: what is noted.
            record: of a run that `Admission` takes.
            packed: its weights, those that it names; None if they are not at hand.
            alive: called now and then.

        Raises:
            RequestError: one line, if it is of a learned model and they are not.
        """
        import torch
        from formalbench.evaluation.beam_search import search_of
        from formalbench.store.weights import network_from

        assert record.test is not None
        check_precision(record.protocol, self._device)
        strings = self._strings_of(record)
        if record.model.kind == "learned":
            if packed is None:
                raise RequestError(_not_at_hand(record))
            network: nn.Module = network_from(self._host, record, packed, str(found.path))
        else:  # a construction is its own weights
            network = self._host.network(record.model.name, strings.task, record.model.options)
        device, protocol = torch.device(self._device), record.protocol
        retester = Retester(
            network, strings.task, device, protocol.precision, alive, search_of(protocol)
        )
        recorded = told_counts(record.test.cells)
        found.recorded = recorded.accuracy
        self._own(found, record, retester, strings)
        if strings.fresh is None:
            return
        fresh = retester.test(strings.fresh)
        found.fresh, found.p = fresh.counts.accuracy, p_value(recorded, fresh.counts)
        if found.p < ALARM:
            found.mismatch("fresh strings give other counts")

    def _own(self, found: Audit, record: Record, retester: Retester, strings: _Strings) -> None:
        """Compare the answers on the strings that the record is about."""
        assert record.test is not None
        cells = record.test.cells
        told, own = told_counts(cells), retester.test(strings.own)
        found.changed = changed(told, own.counts)
        if not self._could_be(retester, strings.own, told, own.counts):
            found.mismatch(f"{found.changed:,} of its own test strings are answered otherwise")
        differ = {*told.not_finite} ^ {*own.counts.not_finite}
        if len(differ) > BORDER:
            found.mismatch("its logits are not finite at other lengths")
        if not differ:  # else the other metrics are over other cells
            entropy = cells.whole(CROSS_ENTROPY)
            told_bits = entropy.mean / 1000 if entropy else math.nan  # in a record in 1/1000 bit
            if bits := self._other_bits(retester, strings.own, told_bits, own.bits):
                found.mismatch(f"cross-entropy on its own test strings is {bits}")
            _compare(
                found, {name: cells.whole(name) for name in cells.metrics}, own.measures, "test"
            )
            _compare(found, _measures(record.test.pooled or {}), own.pooled, "test")
        if record.selected is not None:
            said = replace(retester, how=None)  # nothing is searched for there
            self._validation(found, record.selected, said, strings.validation)

    def _validation(
        self, found: Audit, selected: Selected, retester: Retester, drawn: TestSet
    ) -> None:
        """Compare the answers on the strings that the checkpoint was chosen by."""
        now = retester.test(drawn)
        right, asked = round(now.whole.total), now.whole.count
        if (now.strings, asked) != (selected.strings, selected.asked) or (
            abs(now.whole.total - selected.correct) > allowed(selected.asked)
        ):
            what = "strings" if asked == now.strings else "answers"
            found.mismatch(
                f"{right:,} of {asked:,} validation {what} are right, "
                f"not {selected.correct:,} of {selected.asked:,}"
            )
        if bits := self._other_bits(retester, drawn, selected.bits, now.bits):
            found.mismatch(f"cross-entropy on validation strings is {bits}")
        _compare(found, _measures(selected.metrics), now.measures, "validation")

    @staticmethod
    def _other_bits(retester: Retester, cells: TestSet, told: float, now: float) -> str | None:
        """Say how two cross-entropies differ, if by more than the arithmetic can make them."""
        difference = abs(told - now)
        if difference <= allowed_bits(now):
            return None
        double = retester.test(cells, double=True).bits
        if difference <= allowed_bits(now, abs(now - double)):
            return None
        return f"{now:.3g} bits, not {told:.3g}"

    @staticmethod
    def _could_be(retester: Retester, cells: TestSet, told: CellCounts, now: CellCounts) -> bool:
        """Say whether one network's arithmetic can give both counts on the same strings."""
        answers, difference = sum(told.asked), changed(told, now)
        if difference <= allowed(answers):
            return True
        if p_value(told, now) < ALARM:  # too much even for other strings
            return False
        double = retester.test(cells, double=True).counts
        return difference <= allowed(answers, changed(now, double))

    def _strings_of(self, record: Record) -> _Strings:
        """Return the strings of a record's task; those of the last one are at hand."""
        from formalbench.evaluation.cells import fresh_set, has_fixed_test, test_set, validation_set

        used, protocol = record.task, record.protocol
        key = (used.name, tuple(sorted(used.options.items())), protocol_contents(protocol))
        if self._strings is None or self._strings.key != key:
            task = protocol.apply(self._host.task(used.name, used.options))
            self._strings = _Strings(
                key,
                task,
                test_set(task, protocol),
                None if has_fixed_test(task) else fresh_set(task, protocol, self._seed),
                validation_set(task, protocol),
            )
        return self._strings


def _not_at_hand(record: Record) -> str:
    """Say why a run is not audited."""
    if record.weights is None:
        return "not audited: it kept no weights, and --retrain N trains N runs again"
    return (
        "not audited: its weights were not found (--weights names their archive or folder, "
        "--retrain N trains N runs again)"
    )


def _measures(told: Mapping[str, Summed]) -> dict[str, Measure]:
    return {name: Measure(one.total, one.count) for name, one in told.items()}


def _compare(
    found: Audit,
    told: Mapping[str, Measure | None],
    now: Mapping[str, Measure],
    which: str,
) -> None:
    """Compare the other metrics; those in bits are compared by how they round."""
    for name, measure in sorted(told.items()):
        again = now.get(name)
        if measure is None or again is None or name == CROSS_ENTROPY:
            continue
        most = float(allowed(measure.count))
        if name == MUTUAL_INFORMATION:  # an answer moves it by no more than its logarithm
            most *= math.log2(measure.count + 2)
        if measure.count != again.count or abs(measure.total - again.total) > most:
            found.mismatch(
                f"{name} on {which} strings is {again.total:,.6g} of {again.count:,}, "
                f"not {measure.total:,.6g} of {measure.count:,}"
            )


_LONGEST = 500
"""Characters of what a stranger's code says when it fails."""


@dataclass(frozen=True)
class Demand:
    """What is asked of a record.

    Attributes:
        path: of its file.
        weights: whether its network is tested, or only admitted.
        packed: the weights of a learned one, if they are at hand.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
    """

    path: Path
    weights: bool
    packed: bytes | None
    seed: int
    device: str


@contextlib.contextmanager
def refusing(found: Audit) -> Iterator[None]:
    """Take what fails inside for a reason to refuse a record: it can be a stranger's code."""
    try:
        with as_failures():
            yield
    except PLUGIN_FAILURES as error:
        kind = "" if isinstance(error, FormalbenchError) else f"{type(error).__name__}: "
        line = " ".join(f"{kind}{error}".split())
        found.verdict, found.reasons = "refused", [line[:_LONGEST]]


def examine_apart(question: Question[Demand], tell: Tell) -> Audit:
    """Examine a record in a process of its own (see `Strangers`)."""
    demand = question.asked
    tell(LOADING)
    examination = _examination(question.plugins, demand.seed, demand.device)
    return examination.examine(question.record, demand, tell)


@lru_cache(maxsize=1)
def _examination(plugins: tuple[LocalPlugin, ...], seed: int, device: str) -> Examination:
    return Examination(load_host(plugins), seed, device)


class Examination:
    """What one process knows while it examines records; those of one task in a row share strings.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
    """

    def __init__(self, host: PluginHost, seed: int, device: str) -> None:
        self._host = host
        self._admission = Admission(host)
        self._weights = WeightsTest(host, seed, device)

    def examine(self, record: AnyRecord, demand: Demand, tell: Tell = lambda line: None) -> Audit:
        """Return what comes of a record whose code is asked; refused, if that fails."""
        found = Audit(demand.path, record)
        with refusing(found):
            tell("drawing its strings and building its network")
            self._admission.admit(record)
            if isinstance(record, VerificationRecord):
                tell("verifying it again")
                _verify(found, record, self._host, demand.device, tell)
            elif demand.weights:
                tell("testing its weights")
                self._weights.test(found, record, demand.packed, partial(tell, ""))
        return found


def _verify(
    found: Audit, record: VerificationRecord, host: PluginHost, device: str, tell: Tell
) -> None:
    done = found.reverified = verify_again(record, host, device, lambda *_: tell(""))
    if done.otherwise and not done.judged:
        found.verdict = "not judged"
        found.reasons.append("verified under other conditions, which round otherwise")
    for reason in done.otherwise:
        found.reasons.append(reason)
        if done.judged:
            found.verdict = "MISMATCH"
