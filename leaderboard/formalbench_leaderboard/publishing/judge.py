"""Test published weights again, and compare the results with their records.

Plugins' code runs in other processes: a network receives strings and returns logits, a task returns
strings and labels (`untrusted_plugins`). All comparisons are made here.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from formalbench.contracts.cells import Cells
from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION, Measure
from formalbench.contracts.record import Record, SelectedCheckpoint
from formalbench.contracts.task import Task
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.device import check_precision, usable_cores
from formalbench.evaluation.beam_search import Search, search_of
from formalbench.evaluation.cells import (
    TestSet,
    fresh_set,
    has_fixed_test,
    test_set,
    validation_set,
)
from formalbench.evaluation.evaluate import evaluate, total
from formalbench.host import PluginHost
from formalbench.host.loader import as_failures
from formalbench.running.run_record import cells_of
from formalbench.statistics.records import protocol_contents
from formalbench.store.weights import network_from
from torch import nn

from formalbench_leaderboard.publishing.agreement import (
    ALARM,
    allowed,
    allowed_bits,
    changed,
    p_value,
)
from formalbench_leaderboard.publishing.rerun import (
    RepeatedTraining,
    RepeatedVerification,
    verify_again,
)
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses

Verdict = Literal["ok", "MISMATCH", "not judged", "refused", "skipped"]


@dataclass(slots=True)
class Audit:
    """The result of a record's audit.

    Attributes:
        path: the record's file.
        record: None if it could not be read.
        verdict: ``refused`` if the record could not be tested as it is; ``not judged`` if training
            again under other conditions than the recorded ones gives other counts.
        reasons: the reasons for a verdict other than ok, one line each.
        recorded, fresh: accuracy as recorded, and on fresh strings.
        p: the p-value of the two accuracies under the hypothesis of one network (`p_value`).
        changed: lower bound of the number of the record's own test strings with another answer.
        retrained: the repeated run, if it was requested.
        reverified: the repeated verification, if it was requested.
    """

    path: Path
    record: AnyRecord | None = None
    verdict: Verdict = "ok"
    reasons: list[str] = field(default_factory=list)
    recorded: float | None = None
    fresh: float | None = None
    p: float | None = None
    changed: int | None = None
    retrained: RepeatedTraining | None = None
    reverified: RepeatedVerification | None = None

    def mismatch(self, reason: str) -> None:
        """Add a mismatch."""
        self.verdict = "MISMATCH"
        self.reasons.append(reason)

    def not_judged(self, reason: str) -> None:
        """Add a reason why the result is not judged."""
        self.verdict = "not judged"
        self.reasons.append(reason)

    def compare_retrained(self) -> None:
        """Add what does not agree with the repeated run."""
        assert self.retrained is not None
        if self.retrained.mismatch:
            self.mismatch(self.retrained.mismatch)
        elif self.retrained.unlike and self.verdict == "ok":
            self.not_judged("trained under other conditions, which can end elsewhere")


OWN_WORD = "what is right is for a plugin's own code to say"
"""Why results of a plugin's own objective, and verifications on its own task, are not judged."""


BORDER = 1
"""Number of cells that may differ in whether logits are finite: they can grow with the length."""


@dataclass(frozen=True, slots=True)
class NetworkScore:
    """The result of a network's test: in each cell, as in a record, and in total.

    Attributes:
        cells: the results in each cell.
        measures: every metric over all finite cells, by name.
    """

    cells: Cells
    measures: dict[str, Measure]


@dataclass(frozen=True, slots=True)
class NetworkTest:
    """A network that is ready to be tested.

    Attributes:
        network: the network, on the CPU.
        task: its task.
        device: where to test it.
        precision: the protocol's precision.
        how: the search for the most likely answer of several symbols; None for greedy decoding.
    """

    network: nn.Module
    task: Task
    device: torch.device
    precision: str
    how: Search | None = None

    def test(self, drawn: TestSet, double: bool = False) -> NetworkScore:
        """Test the network, in the protocol's precision or in double precision."""
        network = copy.deepcopy(self.network).double() if double else self.network
        scores = evaluate(
            network.to(self.device),
            self.task,
            drawn,
            self.device,
            usable_cores(),
            "fp32" if double else self.precision,
            how=self.how,
            by_cell=True,
        )
        primary = self.task.primary.name
        cells = cells_of(scores, primary, partial(drawn.chances, self.task))
        finite = [score for score in scores if score.finite] or scores
        return NetworkScore(cells, total(finite).measures)


class AuditJudge:
    """Tests networks again; consecutive records of one task share their strings.

    Its methods add what does not agree to an audit of a record that `Admission` accepts.

    Args:
        host: the plugins.
        seed: seed of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
        processes: where plugins' code runs.
    """

    def __init__(
        self, host: PluginHost, seed: int, device: str, processes: PluginProcesses
    ) -> None:
        self._host = host
        self._seed = seed
        self._device = device
        self._processes = processes
        self._key: tuple[object, ...] = ()
        self._strings: tuple[Task, dict[str, TestSet]]

    def run(self, found: Audit, record: Record, packed: bytes | None) -> None:
        """Test a run's network again, with the weights that its record names, if they were found.

        Raises:
            RequestError: one line, if a learned model has no weights.
        """
        assert record.test is not None
        check_precision(record.protocol, self._device)
        learned = record.model.kind == "learned"  # a construction needs no weights
        if learned and packed is None:
            raise RequestError(
                "not audited: its weights were not found (--weights names their archive or folder, "
                "--retrain N trains N runs again)"
            )
        foreign = self._processes.foreign(record)
        if "objective" in foreign:
            found.not_judged(OWN_WORD)
            return
        task, strings = self._strings_of(record, foreign)
        network = self._network(record, task, packed if learned else None, foreign)
        device, protocol = torch.device(self._device), record.protocol
        how = search_of(protocol)
        retester = NetworkTest(network, task, device, protocol.precision, how)
        found.recorded = record.test.accuracy
        self._test(found, record, retester, strings)
        if "fresh" not in strings:
            return
        fresh = retester.test(strings["fresh"])
        found.fresh, found.p = fresh.cells.accuracy, p_value(record.test.cells, fresh.cells)
        if found.p < ALARM:
            found.mismatch("fresh strings give other counts")

    def verification(self, found: Audit, record: VerificationRecord) -> None:
        """Verify a model again."""
        foreign = self._processes.foreign(record)
        if "task" in foreign:
            found.not_judged(OWN_WORD)
            return
        processes = self._processes if foreign else None
        done = found.reverified = verify_again(record, self._host, self._device, processes)
        if done.otherwise and not done.judged:
            found.not_judged("verified under other conditions, which round otherwise")
        for reason in done.otherwise:
            found.reasons.append(reason)
            if done.judged:
                found.verdict = "MISMATCH"

    def _test(
        self, found: Audit, record: Record, retester: NetworkTest, strings: Mapping[str, TestSet]
    ) -> None:
        """Compare the answers on the record's own test strings."""
        assert record.test is not None
        recorded, own = record.test.cells, retester.test(strings["test"])
        found.changed = changed(recorded, own.cells)
        if not self._is_consistent(retester, strings["test"], recorded, own.cells):
            found.mismatch(f"{found.changed:,} of its own test strings are answered otherwise")
        differ = {*(recorded.not_finite or ())} ^ {*(own.cells.not_finite or ())}
        if len(differ) > BORDER:
            found.mismatch("its logits are not finite at other lengths")
        if not differ:  # otherwise the other metrics cover different cells
            sums = {name: whole for name in recorded.metrics if (whole := recorded.whole(name))}
            if entropy := sums.get(CROSS_ENTROPY):  # records store thousandths of a bit
                sums[CROSS_ENTROPY] = Measure(entropy.total / 1000, entropy.count)
            _compare(
                found, sums, own.measures, "test", partial(retester.test, strings["test"], True)
            )
        if record.selected is not None:
            greedy = replace(retester, how=None)  # validation does not search
            self._validate(found, record.selected, greedy, strings["validation"])

    def _validate(
        self, found: Audit, selected: SelectedCheckpoint, retester: NetworkTest, drawn: TestSet
    ) -> None:
        """Compare the answers on the validation strings that selected the checkpoint."""
        now = retester.test(drawn)
        whole = now.measures[retester.task.primary.name]
        recorded = selected.strings, selected.asked
        if (sum(now.cells.strings), whole.count) != recorded or (
            abs(whole.total - selected.correct) > allowed(selected.asked)
        ):
            found.mismatch(
                f"{round(whole.total):,} of {whole.count:,} answers to validation strings are "
                f"right, not {selected.correct:,} of {selected.asked:,}"
            )
        sums = {name: Measure(one.total, one.count) for name, one in selected.metrics.items()}
        _compare(found, sums, now.measures, "validation", partial(retester.test, drawn, True))

    @staticmethod
    def _is_consistent(retester: NetworkTest, drawn: TestSet, recorded: Cells, now: Cells) -> bool:
        """Whether the arithmetic of one network can give both results on the same strings."""
        answers, difference = sum(recorded.asked), changed(recorded, now)
        if difference <= allowed(answers):
            return True
        if p_value(recorded, now) < ALARM:  # too large a difference even for other strings
            return False
        double = retester.test(drawn, double=True).cells
        return difference <= allowed(answers, changed(now, double))

    def _network(
        self, record: Record, task: Task, packed: bytes | None, foreign: frozenset[str]
    ) -> nn.Module:
        if foreign & {"model", "task"}:
            return self._processes.network(record, task, self._device, packed)
        if packed is not None:
            return network_from(self._host, record, packed, "its weights", record.protocol)
        network: nn.Module = self._host.network(record.model.name, task, record.model.options)
        return network

    def _strings_of(
        self, record: Record, foreign: frozenset[str]
    ) -> tuple[Task, dict[str, TestSet]]:
        """Return a record's task and its strings, as `PluginProcesses.strings` does.

        Those of the last task are cached.
        """
        used, protocol, seed = record.task, record.protocol, self._seed
        objective = self._host.objective(used.name.partition(":")[2])
        if foreign and objective.layout == "decoded":
            seed ^= int(record.test_id, 16)  # its last process has seen the right answers
        key = (used.name, tuple(sorted(used.options.items())), protocol_contents(protocol), seed)
        if key == self._key:
            return self._strings
        if "task" in foreign:
            task, sets = self._processes.strings(record, seed)
            if sets["test"].fingerprint != getattr(record.test, "fingerprint", ""):
                raise RequestError("it was tested on other strings than its plugin draws")
        else:
            task = protocol.apply(self._host.task(used.name, used.options))
            sets = {"test": test_set(task, protocol), "validation": validation_set(task, protocol)}
            if not has_fixed_test(task):
                sets["fresh"] = fresh_set(task, protocol, seed)
        self._key, self._strings = key, (task, sets)
        return self._strings


def _compare(
    found: Audit,
    recorded: Mapping[str, Measure],
    now: Mapping[str, Measure],
    which: str,
    double: Callable[[], NetworkScore],
) -> None:
    """Compare the other metrics; the tolerance of a cross-entropy depends on rounding, in bits.

    Args:
        found: the audit.
        recorded: the sums of the record; those of cross-entropies are in bits.
        now: the sums of the network.
        which: the set of strings, for messages.
        double: tests the strings in double precision.
    """
    for name, measure in sorted(recorded.items()):
        again = now.get(name)
        if again is None:
            continue
        if name == CROSS_ENTROPY:
            then, bits = measure.mean, again.mean
            if abs(then - bits) <= allowed_bits(bits):
                continue
            moved = abs(bits - double().measures[CROSS_ENTROPY].mean)
            if not abs(then - bits) <= allowed_bits(bits, moved):
                found.mismatch(f"{name} on {which} strings is {bits:.3g} bits, not {then:.3g}")
            continue
        most = float(allowed(measure.count))
        if name == MUTUAL_INFORMATION:  # an answer changes it by at most log2(n)
            most *= math.log2(measure.count + 2)
        if measure.count != again.count or abs(measure.total - again.total) > most:
            found.mismatch(
                f"{name} on {which} strings is {again.total:,.6g} of {again.count:,}, "
                f"not {measure.total:,.6g} of {measure.count:,}"
            )


_LONGEST = 500
"""Maximum number of characters of an error message from a plugin's code."""


@contextlib.contextmanager
def refusing(found: Audit) -> Iterator[None]:
    """Turn any error inside into a reason to refuse a record: plugins' code may have raised it."""
    try:
        with as_failures():
            yield
    except PLUGIN_FAILURES as error:
        kind = "" if isinstance(error, FormalbenchError) else f"{type(error).__name__}: "
        line = " ".join(f"{kind}{error}".split())
        found.verdict, found.reasons = "refused", [line[:_LONGEST]]
