"""A record's test and its network, computed again: strings, counts, parameters.

Their strings are drawn again from task and protocol.

A right answer has the largest of K probabilities, so at least 1/K: it costs at most log2 K bits, as
much as an answer of a network that knows nothing. A wrong one has at most 1/2: it costs at least
one bit, and any number more.

Legend: B strings, A answers, K outputs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION
from formalbench.contracts.record import Record, Selected, TestResult
from formalbench.metrics.accuracy import Accuracy, StringAccuracy

from formalbench_leaderboard.publishing.weights import lacks_weights

if TYPE_CHECKING:
    from formalbench.contracts.cells import Cells
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.task import Task
    from formalbench.evaluation.evaluate import CellScore
    from formalbench.host.host import PluginHost
    from torch import nn

    from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses


_CHANCE_ERROR = 1e-6


_ROUNDING = 1e-3
"""Relative; logits that are nearly equal may be rounded either way."""


@dataclass(frozen=True, slots=True)
class ExpectedValidation:
    """What a validation says that does not depend on the model.

    Attributes:
        strings: how many there are.
        metric: the primary one.
        counts: over how many answers each metric is; those beside the objective's own, too.
        needed: the metrics that the objective has by itself.
        bits: what a network that knows nothing pays for all answers.
        likeliest: whether what is right is the likeliest answer, given the right ones before it.
    """

    strings: int
    metric: str
    counts: Mapping[str, int]
    needed: frozenset[str]
    bits: float
    likeliest: bool


@dataclass(frozen=True, slots=True)
class ExpectedTest:
    """What a test says that does not depend on the model tested.

    Attributes:
        metric: the primary one.
        fingerprint: of the strings.
        chance_constant, chance_length: the chance levels.
        chances: returns the second at each cell.
        scores: those of a network that knows nothing; what it got right means nothing.
        validation: strings, and answers by metric, of the validation.
    """

    metric: str
    fingerprint: str
    chance_constant: float
    chance_length: float
    chances: Callable[[], tuple[float, ...]]
    scores: tuple[CellScore, ...]
    validation: ExpectedValidation

    def cells(self, not_finite: Sequence[int]) -> Cells:
        """Return the cells of a network that knows nothing, and is not finite at some of them."""
        from formalbench.running.run_record import cells_of

        marked = [
            replace(score, finite=index not in not_finite)
            for index, score in enumerate(self.scores)
        ]
        return cells_of(marked, self.metric, self.chances)


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
        metric=task.primary.name,
        fingerprint=drawn.fingerprint,
        chance_constant=chance.constant,
        chance_length=chance.length_only,
        chances=cache(partial(drawn.chances, task)),
        scores=tuple(scores),
        validation=ExpectedValidation(
            strings=whole.strings,
            metric=task.primary.name,
            counts={name: measure.count for name, measure in whole.measures.items()},
            needed=frozenset(one.name for one in task.objective.metrics(task.source)),
            bits=whole.measures[CROSS_ENTROPY].total,
            likeliest=task.layout != "decoded"
            and isinstance(task.primary, Accuracy | StringAccuracy),
        ),
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
    for name, version in versions.items():
        if name not in known:
            raise RequestError(f"metric {name} is not known here")
        if version != known[name]:
            raise RequestError(
                f"metric {name} is at version {known[name]}, the record used version {version}"
            )
    named = tuple(metric for metric in task.extra_metrics if metric.name in versions)
    return replace(task, extra_metrics=named)


def check_test(test: TestResult, expected: ExpectedTest) -> None:
    """Refuse a test on other strings, or measured by other metrics or chance levels.

    Raises:
        RequestError: one line that says why.
    """
    recorded, known = test.cells, expected.cells(test.cells.not_finite or ())
    if test.metric != expected.metric:
        raise RequestError(f"its metric is {test.metric}, not {expected.metric}")
    if (recorded.length, recorded.first, recorded.group) != (
        known.length,
        known.first,
        known.group,
    ):
        raise RequestError("it was tested at other lengths than its protocol says")
    if recorded.strings != known.strings:
        raise RequestError("it was tested on more or fewer strings than its protocol says")
    if test.fingerprint != expected.fingerprint:
        raise RequestError("it was tested on other strings than its task and protocol give")
    if recorded.asked != known.asked:
        raise RequestError("it was asked for more or fewer answers than its test strings have")
    if any(recorded.correct[index] != known.correct[index] for index in recorded.not_finite or ()):
        raise RequestError("where its logits are not finite it does not count as chance")
    _check_metrics(recorded, known)
    if expected.validation.likeliest:
        _check_costs(recorded, known)
    for name in ("chance_constant", "chance_length"):
        level, right = getattr(test, name), getattr(expected, name)
        if abs(level - right) > _CHANCE_ERROR:
            raise RequestError(f"its {name} is {level:.6g}, not {right:.6g}")


def check_selected(selected: Selected, expected: ExpectedValidation) -> None:
    """Refuse a validation on more or fewer strings or answers than there are, or by other metrics.

    Raises:
        RequestError: one line that says why.
    """
    asked = expected.counts[expected.metric]
    if (selected.strings, selected.asked) != (expected.strings, asked):
        raise RequestError(
            f"it was validated on {selected.strings:,} strings and {selected.asked:,} answers, "
            f"and its protocol has {expected.strings:,} and {asked:,}"
        )
    recorded = selected.metrics
    if missing := sorted(expected.needed - recorded.keys() - {expected.metric, MUTUAL_INFORMATION}):
        raise RequestError(f"its validation lacks the metric {missing[0]}")
    for name, sums in sorted(recorded.items()):
        if sums.count != expected.counts.get(name) or name == expected.metric:
            raise RequestError(f"its validation has no {name} of {sums.count:,} answers")
        most = expected.bits + 0.001 if name == MUTUAL_INFORMATION else float(sums.count)
        bounded = "accuracy" in name or name == MUTUAL_INFORMATION
        if sums.total < 0 or (bounded and sums.total > most):
            raise RequestError(f"its {name} of the validation cannot be {sums.total:g}")
    if expected.likeliest:
        entropy = recorded[CROSS_ENTROPY].total
        _check_cost(selected.correct, selected.asked, entropy, expected.bits, "validation")


def _check_metrics(recorded: Cells, known: Cells) -> None:
    if missing := sorted(known.metrics.keys() - recorded.metrics.keys() - {MUTUAL_INFORMATION}):
        raise RequestError(f"it lacks the metric {missing[0]}")
    if extra := sorted(recorded.metrics.keys() - known.metrics.keys()):
        raise RequestError(f"{extra[0]} is no metric of its task")
    if recorded.window != known.window:
        raise RequestError("its metrics are summed up over other cells than its test has")
    for name, sums in sorted(recorded.metrics.items()):
        if sums.count != known.metrics[name].count:
            raise RequestError(f"its {name} counts more or fewer answers than its test has")
        share = "accuracy" in name
        if share and any(map(_impossible, sums.total, sums.count)):
            raise RequestError(f"its {name} counts more right answers than there are")
        if name in {CROSS_ENTROPY, MUTUAL_INFORMATION} and min(sums.total) < 0:
            raise RequestError(f"its {name} is negative")
        if name == MUTUAL_INFORMATION and any(
            1000 * total > most + 1
            for total, most in zip(sums.total, known.metrics[CROSS_ENTROPY].total, strict=True)
        ):
            raise RequestError(f"its {name} is more than answers can tell")


def _check_costs(recorded: Cells, known: Cells) -> None:
    """Hold each window of a test to what its answers cost (`_check_cost`)."""
    bits, most = recorded.metrics[CROSS_ENTROPY].total, known.metrics[CROSS_ENTROPY].total
    for at, pair in enumerate(zip(bits, most, strict=True)):
        of = range(at * recorded.window, min((at + 1) * recorded.window, len(recorded.length)))
        finite = [index for index in of if index not in (recorded.not_finite or ())]
        right, asked = (
            sum(recorded.correct[index] for index in finite),
            sum(recorded.asked[index] for index in finite),
        )
        _check_cost(right, asked, pair[0] / 1000, pair[1] / 1000, "test")


def _check_cost(right: float, asked: int, bits: float, most: float, what: str) -> None:
    """Refuse a cross-entropy that these numbers of right and wrong answers cannot have.

    Args:
        right: how many strings or answers are right, each by the likeliest answers.
        asked: out of how many.
        bits: what all answers to them cost.
        most: what they cost a network that knows nothing, as all right answers may.
        what: which test they are of, in the error.
    """
    if bits < (asked - right) * (1 - _ROUNDING) - 0.001:
        raise RequestError(f"its {what} has more strings wrong than its cross-entropy can pay for")
    if right == asked and bits > most * (1 + _ROUNDING) + 0.001:
        raise RequestError(f"its {what} has nothing wrong, and its cross-entropy is that of errors")


def _impossible(total: float, count: int) -> bool:
    return not 0 <= total <= count


class Networks:
    """Builds the networks of records; those of one model on one task once.

    Args:
        host: the plugins.
        processes: where the code of those that are not formalbench's own runs.
    """

    def __init__(self, host: PluginHost, processes: PluginProcesses | None = None) -> None:
        self._host, self._processes = host, processes
        self._built: dict[tuple[str, str, int], tuple[Task, int, bool]] = {}

    def check(self, record: Record, task: Task) -> None:
        """Refuse a run of a network of another size, or without the weights that belong to it.

        Args:
            record: of a model that is at hand.
            task: as the protocol applies it; the same object for the same task.

        Raises:
            RequestError: one line, also if the network is far larger than any that could be
                tested again.
        """
        model = record.model
        key = (model.name, json.dumps(model.options, sort_keys=True), id(task))
        if key not in self._built:
            entry, _ = self._host.models.get(model.name)
            with self._host.blaming(entry.plugin):
                self._built[key] = task, *self._build(record, task)  # kept, the task keeps its id
        _, parameters, is_kept = self._built[key]
        if model.parameters != parameters:
            raise RequestError(
                f"its network has {parameters:,} parameters, not {model.parameters:,}"
            )
        if is_kept and lacks_weights(record):
            raise RequestError("it names no weights, and they are published with it: run it again")

    def _build(self, record: Record, task: Task) -> tuple[int, bool]:
        """Return how many parameters a network has, and whether its weights are kept."""
        import torch
        from formalbench.store.weights import bounded, pack

        model = record.model
        if self._processes is not None and "model" in self._processes.foreign(record):
            remote = self._processes.network(record, task, "cpu").remote
            return remote.size, remote.is_kept
        with torch.random.fork_rng(devices=[]), bounded(model.name):
            network: nn.Module = self._host.network(model.name, task, model.options)
        return sum(part.numel() for part in network.parameters()), pack(network) is not None
