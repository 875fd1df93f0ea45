"""Scores a function, network or object on the test strings of a task or a suite."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import TestResult, date_now
from formalbench.contracts.specs import split_task
from formalbench.contracts.verification import (
    SCHEMA_VERSION,
    EvaluatedRecord,
    ValidationCounts,
    validated,
)
from formalbench.device import choose_device
from formalbench.evaluation.evaluate import NotFiniteError, pooled, total
from formalbench.evaluation.evaluate import evaluate as test_network
from formalbench.host import load_plugins
from formalbench.host.options import MAX_TEXT, parse_instance
from formalbench.running.run_record import cells_of, summed
from formalbench.scoring.predictor import network_of
from formalbench.scoring.report import Report, SuiteReport
from formalbench.task_handle import STANDARD, LabelledStrings, TaskHandle

if TYPE_CHECKING:
    from torch import nn

    from formalbench.evaluation.evaluate import CellScore
    from formalbench.host import PluginHost


def evaluate(
    predict: Any,
    task: str | TaskHandle,
    *,
    name: str = "",
    protocol: str | None = None,
    device: str | torch.device = "cpu",
    plugins: Sequence[Path | str] = (),
) -> Report | SuiteReport:
    """Score answers to the leaderboard's test and validation strings.

    Args:
        predict: one of

            - a function from ids, a NumPy array (B, N), to labels or logits, arrays of any
              framework: for ``classify`` (B,) or (B, K), for ``tag`` (B, N) or (B, N, K), for
              ``next-symbols`` bits or logits (B, N+1, S+1). Integers are labels; floats with the
              logits' shape are logits;
            - an `nn.Module`, which gets a LongTensor (B, N) on its device, or a network with
              `formalbench.Traits`, which gets a `formalbench.Batch`;
            - an object with a method named after the objective, such as ``next_symbols``;
            - a class of any of these, which is called with the task (`formalbench.Task`).
        task: name of a task or suite, or the result of `formalbench.load`.
        name: name in the report; by default that of the function or class.
        protocol: the protocol that defines the strings; None for that of the handle of
            `formalbench.load`, else ``standard``.
        device: ``cpu``, ``cuda`` or ``cuda:i``, for classes. A network with parameters is tested on
            the device of these.
        plugins: local plugins to load; a handle has its own.

    Returns:
        A `Report`; for a suite, reports by task name.

    Raises:
        RequestError: for an unknown name, answers of the wrong shape, an invalid label, or a logit
            that is not finite.

    Example:
        >>> report = evaluate(lambda ids: ids.sum(1) % 2, "parity")  # doctest: +SKIP
        >>> report.accuracy, report.learned, report.extrapolated  # doctest: +SKIP
        (1.0, True, True)
    """
    handles, suite = _handles(task, protocol, plugins)
    if not isinstance(name, str) or len(name) > MAX_TEXT:
        raise RequestError(f"name={name!r:.60}: must be a text of at most {MAX_TEXT} characters")
    name = name or getattr(predict, "__name__", type(predict).__name__)[:MAX_TEXT]
    device = choose_device(str(device))
    reports = [evaluate_task(predict, handle, name, device) for handle in handles]
    return SuiteReport(reports) if suite else reports[0]


def _handles(
    task: str | TaskHandle, protocol: str | None, plugins: Sequence[Path | str]
) -> tuple[list[TaskHandle], bool]:
    """Return the named tasks, and whether the name is a suite's."""
    if not isinstance(task, str | TaskHandle):
        raise RequestError(
            f"task is a {type(task).__name__}: pass the name of a task or suite, or what "
            "formalbench.load returns, after predict"
        )
    if isinstance(task, TaskHandle):
        if protocol is not None or plugins:
            raise RequestError(
                f"the loaded task {task.title} has its own protocol and plugins: pass protocol and "
                "plugins to formalbench.load"
            )
        return [task], False
    protocol = STANDARD if protocol is None else protocol
    host = load_plugins(plugins)
    if is_suite(host, task):
        return [TaskHandle(host, one, (), protocol) for one in host.suite(task).tasks], True
    return [TaskHandle(host, task, (), protocol)], False


def is_suite(host: PluginHost, name: str) -> bool:
    """Return whether a name is a suite's and not a task's."""
    suites = {entry.spec.name for entry in host.suites.all()}
    language = split_task(parse_instance(name)[0])[0]
    try:
        host.tasks.get(language)
    except RequestError:
        if name in suites:
            return True
        tasks = {entry.spec.name for entry in host.tasks.all()}
        raise unknown("task or suite", name, tasks | suites, "formalbench list tasks") from None
    return False


def evaluate_task(predict: Any, handle: TaskHandle, name: str, device: str = "cpu") -> Report:
    """Score answers on one task (`evaluate`)."""
    tests, val = handle.test_set(), handle.test_set("validation")
    network = network_of(predict, handle.task, bits=answers_are_bits(tests, handle))
    own = predict if isinstance(predict, torch.nn.Module) else None
    if own is None:
        network = network.to(device)
    elif network is own and (first := next(own.parameters(), None)) is not None:
        device = str(first.device)
    modes = {module: module.training for module in own.modules()} if own is not None else {}
    try:
        held_out = total(_scores(network, handle, val, device)).measures[handle.task.primary.name]
        start = time.perf_counter()
        scores = _scores(network, handle, tests, device)
    finally:
        for module, training in modes.items():  # each as it was: some may be frozen
            module.training = training
    validation = ValidationCounts(
        strings=sum(cell.strings for cell in val.cells),
        correct=held_out.total,
        answers=held_out.count,
    )
    seconds = time.perf_counter() - start
    return report_of(handle, name, getattr(network, "gave", "logits"), scores, validation, seconds)


def answers_are_bits(tests: LabelledStrings, handle: TaskHandle) -> bool:
    """Return whether an answer is a set of outputs (bits) instead of one output."""
    targets = tests.cells[0].examples[0].targets
    return bool(targets.ndim == (2 if handle.task.layout == "last" else 3))


def report_of(
    handle: TaskHandle,
    name: str,
    gave: Any,
    scores: Sequence[CellScore],
    validation: ValidationCounts | None,
    seconds: float,
) -> Report:
    """Return the report of a test's scores."""
    from formalbench import __version__

    tests, task = handle.test_set(), handle.task
    if gave == "labels":  # without probabilities there is no cross-entropy
        for score in scores:
            score.measures.pop(CROSS_ENTROPY, None)
    constant, length_only = handle.chances
    test = TestResult(
        metric=task.primary.name,
        fingerprint=tests.fingerprint,
        chance_constant=constant,
        chance_length=length_only,
        seconds=round(seconds, 3),
        cells=cells_of(scores, task.primary.name),
        pooled=summed(pooled(task, scores)) or None,
    )
    facts = {
        "schema_version": SCHEMA_VERSION,
        "kind": "evaluated",
        "evaluated_id": "0" * 16,
        "name": name,
        "gave": gave,
        "task": handle.used,
        "protocol": handle.protocol,
        "validation": validation,
        "test": test,
        "formalbench": __version__,
        "date": date_now(),
    }
    record = validated(EvaluatedRecord, facts, name)
    record = record.model_copy(update={"evaluated_id": record.identity})
    with handle.blaming():
        chances = tests.held.chances(task)
    return Report(record, chances, handle.shortcuts.get("best"))


def _scores(
    network: nn.Module, handle: TaskHandle, strings: LabelledStrings, device: str
) -> list[CellScore]:
    try:
        test = partial(test_network, network, handle.task, strings.held, torch.device(device))
        return test(precision=handle.protocol.precision)
    except NotFiniteError as error:
        raise RequestError(f"{handle.title}: {error}: no score was computed") from None
