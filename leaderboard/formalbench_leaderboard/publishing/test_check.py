"""A record's test or verification, planned and drawn again: strings, counts, chance, network.

What a network got right is its author's word until it is tested or verified again.

A right answer has the largest of K probabilities, so at least 1/K: it costs at most log2 K bits, as
much as an answer of a network that knows nothing. A wrong one has at most 1/2: it costs at least
one bit, and any number more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.metric import Measure
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION
from formalbench.contracts.record import Selected, TestResult
from formalbench.contracts.verification import Judged, VerificationRecord
from formalbench.metrics.accuracy import Accuracy, StringAccuracy

from formalbench_leaderboard.publishing.untrusted_records import check_fields

if TYPE_CHECKING:
    from formalbench.contracts.cells import Cells
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.task import Task
    from formalbench.evaluation.evaluate import CellScore
    from formalbench.host.host import PluginHost
    from formalbench.verification.plan import PortionKind, VerificationPlan
    from formalbench.verification.verify import Subject, Verification
    from torch import nn

    from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses


_CHANCE_ERROR = 1e-6


_ROUNDING = 1e-3
"""Relative; logits that are nearly equal may be rounded either way."""


@dataclass(frozen=True, slots=True)
class ExpectedTest:
    """What a test and a validation say that does not depend on the network tested.

    Attributes:
        facts: of the test, as its record names them: metric, fingerprint, chance levels.
        chances: returns the chance level at each cell.
        scores: those of a network that knows nothing; what it got right means nothing.
        validated: the same over the whole validation, by metric.
        validation_strings: how many it has.
        own: the metrics that the objective has by itself.
        likeliest: whether what is right is the likeliest answer, given the right ones before it.
    """

    facts: Mapping[str, object]
    chances: Callable[[], tuple[float, ...]]
    scores: tuple[CellScore, ...]
    validated: Mapping[str, Measure]
    validation_strings: int
    own: frozenset[str]
    likeliest: bool

    def cells(self, not_finite: Sequence[int]) -> Cells:
        """Return the cells of a network that knows nothing, and is not finite at some of them."""
        from formalbench.running.run_record import cells_of

        marked = [
            replace(score, finite=index not in not_finite)
            for index, score in enumerate(self.scores)
        ]
        return cells_of(marked, str(self.facts["metric"]), self.chances)


def expected_test(task: Task, protocol: Protocol) -> ExpectedTest:
    """Draw a test and a validation, and have them answered by a network that knows nothing.

    Args:
        task: as the protocol applies it, with the metrics that are to be measured.
        protocol: says what is tested.
    """
    import torch
    from formalbench.device import usable_cores
    from formalbench.evaluation.cells import check_process, test_set, validation_set
    from formalbench.evaluation.evaluate import blank, evaluate, total

    check_process(task, protocol)
    drawn, asked = test_set(task, protocol), validation_set(task, protocol)
    scores, validated = (
        evaluate(blank(task), task, strings, torch.device("cpu"), usable_cores(), "fp32")
        for strings in (drawn, asked)
    )
    chance, whole = task.chance(drawn.lengths), total(validated)
    return ExpectedTest(
        facts={
            "metric": task.primary.name,
            "fingerprint": drawn.fingerprint,
            "chance_constant": chance.constant,
            "chance_length": chance.length_only,
        },
        chances=cache(partial(drawn.chances, task)),
        scores=tuple(scores),
        validated=whole.measures,
        validation_strings=whole.strings,
        own=frozenset(one.name for one in task.objective.metrics(task.source)),
        likeliest=task.layout != "decoded" and isinstance(task.primary, Accuracy | StringAccuracy),
    )


def with_metrics(task: Task, versions: Mapping[str, int], known: Mapping[str, int]) -> Task:
    """Return a task with those of its extra metrics that a record names.

    Args:
        task: with all that are at hand.
        versions: by which the record measured.
        known: the versions at hand.

    Raises:
        RequestError: one line, if one is missing or another here.
    """
    here = {name: version for name, version in known.items() if name in versions}
    check_fields(versions, here, field="test.extra_metrics")
    named = tuple(metric for metric in task.extra_metrics if metric.name in versions)
    return replace(task, extra_metrics=named)


def check_test(test: TestResult, expected: ExpectedTest) -> None:
    """Refuse a test on other strings, or measured by other metrics or chance levels.

    Raises:
        RequestError: one line that says why.
    """
    recorded, marked = test.cells, test.cells.not_finite or ()
    known = expected.cells(marked)

    def facts(cells: Cells) -> dict[str, object]:
        """Return what strings alone decide; where a network is not finite, chance is right."""
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

    told = {name: getattr(test, name) for name in expected.facts}
    check_fields(told, expected.facts, within=_CHANCE_ERROR, field="test")
    check_fields(facts(recorded), facts(known), field="test.cells")
    for at, most in enumerate(known.metrics[CROSS_ENTROPY].total):
        of = range(at * recorded.window, min((at + 1) * recorded.window, len(recorded.length)))
        finite = [index for index in of if index not in marked]
        right = sum(recorded.correct[index] for index in finite)
        asked = sum(recorded.asked[index] for index in finite)
        sums = {
            name: Measure(one.total[at] / (1000 if name == CROSS_ENTROPY else 1), one.count[at])
            for name, one in recorded.metrics.items()
        }
        _check_sums("test", Measure(right, asked), sums, most / 1000, expected)


def check_selected(selected: Selected, expected: ExpectedTest) -> None:
    """Refuse a validation on more or fewer strings or answers than there are, or by other metrics.

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
    """Refuse sums that no network gives.

    Args:
        what: which strings they are of, in the error.
        right: of the primary metric, by the likeliest answers.
        sums: of the others; those in bits as such.
        most: the bits that a network pays which knows nothing, as all right answers may.
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
"""Of all strings of a verification together: days, in place of the minutes that an audit takes."""


def subject_of(
    record: VerificationRecord,
    host: PluginHost,
    processes: PluginProcesses | None = None,
    device: str = "cpu",
) -> Subject:
    """Return what a record says was verified, as it is here.

    Args:
        record: of the verification.
        host: the plugins.
        processes: where the model's code runs; None if it may run here.
        device: ``cpu`` or ``cuda:i``.
    """
    from formalbench.verification.verify import Subject

    entry, _, _ = host.task_entry(record.task.name)
    model, task = record.model, host.task(record.task.name, record.task.options)

    def build() -> nn.Module:
        if processes is not None:
            return processes.network(record, task, device)
        network: nn.Module = host.network(model.name, task, model.options)
        return network

    return Subject(model, build, record.task, task, lambda: host.blaming(entry.plugin))


def prepared(record: VerificationRecord, subject: Subject) -> Verification:
    """Build the network of a verification and plan its strings again; none is judged yet.

    Raises:
        RequestError: one line, if it could not have been asked for.
    """
    from formalbench.store.weights import bounded
    from formalbench.verification.plan import VerificationRequest
    from formalbench.verification.verify import prepare

    asked = record.asked
    request = VerificationRequest(
        asked.exhaustive or 0, asked.lengths or None, asked.count, asked.seed
    )
    with bounded(record.model.name):
        return prepare(subject, request, record.dtype if record.break_length is None else "all")


def check_verified(
    record: VerificationRecord, host: PluginHost, processes: PluginProcesses | None = None
) -> None:
    """Refuse a verification that its model, its task and its request cannot give.

    Raises:
        RequestError: one line that says why.
    """
    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        known = prepared(record, subject_of(record, host, processes))
    plan = known.plan
    check_fields(_network_facts(record), _network_facts(known), field="model", within=1e-9)
    asked = {"exhaustive": plan.asked.exhaustive, "lengths": plan.asked.lengths}
    told = {name: getattr(record.asked, name) for name in asked}
    check_fields(told, asked, field="asked")
    if sum(portion.size * max(1, portion.length) for portion in plan.portions) > MOST_SYMBOLS:
        raise RequestError("it judged more strings than anybody would judge again")
    _check_number("exhaustive", record.exhaustive, plan)
    _check_number("adversarial", record.adversarial, plan)
    _check_break(record, plan)


def _network_facts(found: VerificationRecord | Verification) -> dict[str, object]:
    """Return what is known of a network once it is built."""
    return {
        "parameters": found.model.parameters,
        "depth": found.depth,
        "width": found.width,
        "constants": found.constants,
    }


def _check_number(kind: PortionKind, recorded: Judged | None, plan: VerificationPlan) -> None:
    """Refuse more strings than there are; how many there are at least, an audit counts."""
    most = sum(portion.size for portion in plan.portions if portion.kind == kind)
    if recorded is not None and recorded.strings > most:
        raise RequestError(f"it judged {recorded.strings:,} {kind} strings, and there are {most:,}")


def _check_break(record: VerificationRecord, plan: VerificationPlan) -> None:
    """Refuse break lengths that were not tested, or that its own errors contradict."""
    from formalbench.verification.judge import DTYPES

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
