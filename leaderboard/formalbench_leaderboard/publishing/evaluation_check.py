"""A record's test or verification, planned and drawn again: strings, counts, chance, network.

The recorded accuracy is not checked until the network is tested or verified again.

Bounds on the cross-entropy: a right answer has the largest of K probabilities, so at least 1/K. It
costs at most log2 K bits, as much as the answer of a network with uniform probabilities. A wrong
answer has probability at most 1/2, so it costs at least one bit and can cost any larger number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import torch
from formalbench.contracts.cells import Cells
from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION, Measure
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import SelectedCheckpoint, TestResult
from formalbench.contracts.task import Task
from formalbench.contracts.verification import StringCounts, VerificationRecord
from formalbench.device import usable_cores
from formalbench.evaluation.cells import check_process, test_set, validation_set
from formalbench.evaluation.evaluate import CellScore, blank, evaluate, total
from formalbench.host import PluginHost
from formalbench.metrics.answers import Accuracy, StringAccuracy
from formalbench.running.run_record import cells_of
from formalbench.store.weights import bounded
from formalbench.verification.judge import DTYPES
from formalbench.verification.plan import PortionKind, VerificationPlan, VerificationRequest
from formalbench.verification.verify import Subject, Verification, prepare
from torch import nn

from formalbench_leaderboard.publishing.places import check_fields
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses

_CHANCE_ERROR = 1e-6


_ROUNDING = 1e-3
"""Relative tolerance; nearly equal logits may be rounded in either direction."""


@dataclass(frozen=True, slots=True)
class ExpectedTest:
    """The values of a test and a validation that do not depend on the network.

    Attributes:
        facts: fields of the test, named as in its record: metric, fingerprint, chance levels.
        chances: returns the chance level in each cell.
        scores: the scores of an uninformed network; its right answers have no meaning.
        validated: the same over the whole validation, by metric.
        validation_strings: number of validation strings.
        own: the metrics that belong to the objective.
        likeliest: whether an answer is right if it is the most likely one, given the right answers
            before it.
    """

    facts: Mapping[str, object]
    chances: Callable[[], tuple[float, ...]]
    scores: tuple[CellScore, ...]
    validated: Mapping[str, Measure]
    validation_strings: int
    own: frozenset[str]
    likeliest: bool

    def cells(self, not_finite: Sequence[int]) -> Cells:
        """Return the cells of an uninformed network whose logits are not finite in some cells."""
        marked = [
            replace(score, finite=index not in not_finite)
            for index, score in enumerate(self.scores)
        ]
        return cells_of(marked, str(self.facts["metric"]), self.chances)


def expected_test(task: Task, protocol: Protocol) -> ExpectedTest:
    """Draw a test and a validation, and score an uninformed network on them."""
    check_process(task, protocol)
    test, validation = test_set(task, protocol), validation_set(task, protocol)
    scores, validated = (
        evaluate(blank(task), task, strings, torch.device("cpu"), usable_cores(), "fp32")
        for strings in (test, validation)
    )
    chance, whole = task.chance(test.lengths), total(validated)
    return ExpectedTest(
        facts={
            "metric": task.primary.name,
            "fingerprint": test.fingerprint,
            "chance_constant": chance.constant,
            "chance_length": chance.length_only,
        },
        chances=cache(partial(test.chances, task)),
        scores=tuple(scores),
        validated=whole.measures,
        validation_strings=whole.strings,
        own=frozenset(one.name for one in task.objective.metrics(task.source)),
        likeliest=task.layout != "decoded" and isinstance(task.primary, Accuracy | StringAccuracy),
    )


def with_metrics(task: Task, versions: Mapping[str, int], known: Mapping[str, int]) -> Task:
    """Return a task with those of its additional metrics that a record names.

    Raises:
        RequestError: one line, if a metric is missing or has another version here.
    """
    installed = {name: version for name, version in known.items() if name in versions}
    check_fields(versions, installed, field="test.extra_metrics")
    metrics = tuple(metric for metric in task.extra_metrics if metric.name in versions)
    return replace(task, extra_metrics=metrics)


def check_test(test: TestResult, expected: ExpectedTest) -> None:
    """Refuse a test on other strings, or with other metrics or chance levels.

    Raises:
        RequestError: one line that says why.
    """
    recorded, marked = test.cells, test.cells.not_finite or ()
    reference = expected.cells(marked)

    def facts(cells: Cells) -> dict[str, object]:
        """Return the fields that only the strings decide; non-finite cells count as chance."""
        metrics = {
            name: {"count": sums.count}
            for name, sums in cells.metrics.items()
            if name in recorded.metrics or name != MUTUAL_INFORMATION  # older records lack it
        }
        return {
            **{name: getattr(cells, name) for name in ("length", "first", "group", "strings")},
            **{"answers": cells.asked, "window": cells.window, "metrics": metrics},
            "correct": {str(index): cells.correct[index] for index in marked},
        }

    values = {name: getattr(test, name) for name in expected.facts}
    check_fields(values, expected.facts, within=_CHANCE_ERROR, field="test")
    check_fields(facts(recorded), facts(reference), field="test.cells")
    for at, most in enumerate(reference.metrics[CROSS_ENTROPY].total):
        indices = range(at * recorded.window, min((at + 1) * recorded.window, len(recorded.length)))
        finite = [index for index in indices if index not in marked]
        right = sum(recorded.correct[index] for index in finite)
        answers = sum(recorded.asked[index] for index in finite)
        sums = {
            name: Measure(one.total[at] / (1000 if name == CROSS_ENTROPY else 1), one.count[at])
            for name, one in recorded.metrics.items()
        }
        _check_sums("test", Measure(right, answers), sums, most / 1000, expected)


def check_selected(selected: SelectedCheckpoint, expected: ExpectedTest) -> None:
    """Refuse a validation with another number of strings or answers, or with other metrics.

    Raises:
        RequestError: one line that says why.
    """
    primary, metrics = expected.facts["metric"], selected.metrics
    counts = {
        name: measure.count
        for name, measure in expected.validated.items()
        if name != primary
        and (name in metrics or (name in expected.own and name != MUTUAL_INFORMATION))
    }
    check_fields(
        {
            "strings": selected.strings,
            "answers": selected.asked,
            "metrics": {name: sums.count for name, sums in metrics.items()},
        },
        {
            "strings": expected.validation_strings,
            "answers": expected.validated[str(primary)].count,
            "metrics": counts,
        },
        field="selected",
    )
    sums = {name: Measure(one.total, one.count) for name, one in metrics.items()}
    most = expected.validated[CROSS_ENTROPY].total
    _check_sums("validation", Measure(selected.correct, selected.asked), sums, most, expected)


def _check_sums(
    what: str, right: Measure, sums: Mapping[str, Measure], most: float, expected: ExpectedTest
) -> None:
    """Refuse sums that no network can have.

    Args:
        what: the set of strings, for the error message.
        right: the primary metric, with greedy answers.
        sums: the other metrics; cross-entropies are in bits.
        most: the bits of an uninformed network, an upper bound for right answers.
        expected: knows the objective's own metrics; others may be negative.
    """
    for name, one in sorted(sums.items()):
        share = "accuracy" in name
        above = one.total > (one.count if share else math.inf)
        above |= name == MUTUAL_INFORMATION and one.total > most + 0.001
        if above or (one.total < 0 and (share or name in expected.own)):
            raise RequestError(f"its {what} cannot have {one.total:g} as the sum of {name}")
    if not expected.likeliest:
        return
    bits, wrong = sums[CROSS_ENTROPY].total, right.count - right.total
    if bits < wrong * (1 - _ROUNDING) - 0.001:
        raise RequestError(f"its {what} has more strings wrong than its cross-entropy can pay for")
    if not wrong and bits > most * (1 + _ROUNDING) + 0.001:
        raise RequestError(f"its {what} has nothing wrong, and its cross-entropy is that of errors")


MOST_SYMBOLS = 1 << 33
"""Maximum total of symbols in a verification; more would take days, and an audit takes minutes."""


def prepared(
    record: VerificationRecord,
    host: PluginHost,
    processes: PluginProcesses | None = None,
    device: str = "cpu",
) -> tuple[Subject, Verification]:
    """Return the model and task of a verification's record, and its strings, planned again.

    This builds the network and judges no string. Without `processes`, the model's code runs in this
    process.

    Raises:
        RequestError: one line, if nobody could have requested it.
    """
    entry = host.select_task(record.task.name)
    model, task = record.model, host.task(record.task.name, record.task.options)

    def build() -> nn.Module:
        if processes is not None:
            return processes.network(record, task, device)
        network: nn.Module = host.network(model.name, task, model.options)
        return network

    subject = Subject(model, build, record.task, task, lambda: host.blaming(entry.plugin))
    settings = record.asked
    request = VerificationRequest(
        settings.exhaustive or 0, settings.lengths or None, settings.count, settings.seed
    )
    dtype = record.dtype if record.break_length is None else "all"
    with bounded(model.name):
        return subject, prepare(subject, request, dtype)


def check_verified(
    record: VerificationRecord, host: PluginHost, processes: PluginProcesses | None = None
) -> None:
    """Refuse a verification with values that its model, task and request cannot give.

    Raises:
        RequestError: one line that says why.
    """
    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        _, verification = prepared(record, host, processes)
    plan = verification.plan
    check_fields(_network_facts(record), _network_facts(verification), field="model", within=1e-9)
    expected = {"exhaustive": plan.asked.exhaustive, "lengths": plan.asked.lengths}
    recorded = {name: getattr(record.asked, name) for name in expected}
    check_fields(recorded, expected, field="asked")
    if sum(portion.size * max(1, portion.length) for portion in plan.portions) > MOST_SYMBOLS:
        raise RequestError("it judged more strings than anybody would judge again")
    _check_number("exhaustive", record.exhaustive, plan)
    _check_number("adversarial", record.adversarial, plan)
    _check_break(record, plan)


def _network_facts(verification: VerificationRecord | Verification) -> dict[str, object]:
    """Return the fields that are known once the network is built."""
    return {
        "parameters": verification.model.parameters,
        "depth": verification.depth,
        "width": verification.width,
        "constants": verification.constants,
    }


def _check_number(kind: PortionKind, recorded: StringCounts | None, plan: VerificationPlan) -> None:
    """Refuse more strings than exist; only an audit counts whether all of them were tested."""
    most = sum(portion.size for portion in plan.portions if portion.kind == kind)
    if recorded is not None and recorded.strings > most:
        raise RequestError(f"it judged {recorded.strings:,} {kind} strings, and there are {most:,}")


def _check_break(record: VerificationRecord, plan: VerificationPlan) -> None:
    """Refuse break lengths that were not tested, or that contradict the record's errors."""
    recorded = record.break_length
    if recorded is None:
        return
    if set(recorded) != set(DTYPES):
        raise RequestError("it does not say how far each precision goes")
    tested = {portion.length for portion in plan.portions if portion.size}
    if set(recorded.values()) - {None} - tested:
        raise RequestError("it says that a precision goes up to a length that was not tested")
    errors = zip(record.asked.lengths, record.by_length.errors, strict=True)
    wrong = min((length for length, error in errors if error), default=None)
    own = recorded[record.dtype]
    if (not record.errors and own != max(tested, default=None)) or (
        wrong is not None and own is not None and own >= wrong
    ):
        raise RequestError(f"it says that {record.dtype} goes up to {own}, and its errors do not")
