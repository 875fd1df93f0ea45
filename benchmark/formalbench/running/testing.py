"""Test a run: score the cells of its test set, and compute the chance level."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from formalbench.cache import cached, code_digest
from formalbench.contracts.record import TestResult
from formalbench.evaluation.beam_search import search_of
from formalbench.evaluation.cells import saved_test_set
from formalbench.evaluation.evaluate import evaluate, pooled
from formalbench.running.run_record import RunResult, cells_of, summed
from formalbench.running.units import task_of

if TYPE_CHECKING:
    import torch

    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import TaskUsed
    from formalbench.contracts.task import Task
    from formalbench.evaluation.cells import TestSet
    from formalbench.evaluation.evaluate import CellScore
    from formalbench.host import PluginHost
    from formalbench.running.plan import Run


def test_run(
    host: PluginHost,
    result: RunResult,
    device: torch.device,
    cores: int,
    alive: Callable[[], None],
) -> None:
    """Test the network of a run, and note the result.

    Args:
        host: the plugins.
        result: contains the network, and receives the result.
        device: the device to test on.
        cores: number of parallel batches, one thread each.
        alive: called from time to time, to report progress.
    """
    run = result.run
    start = time.perf_counter()
    task = task_of(host, run)
    test_set = _test_set(task, run.task.source.model_dump_json(), run.protocol)
    alive()
    assert result.network is not None
    precision = run.protocol.precision
    how = search_of(run.protocol)
    scores = evaluate(
        result.network, task, test_set, device, cores, precision, alive, how, by_cell=True
    )
    result.tested = _tested(run, task, test_set, scores, time.perf_counter() - start)
    if infinite := [score for score in scores if not score.finite]:
        result.status = "diverged"
        result.message = (
            f"a logit is not finite at {len(infinite)} of {len(scores)} test lengths, "
            f"the first is {infinite[0].last}"
        )


test_run.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for a test by its name


@lru_cache(maxsize=1)
def _test_set(task: Task, source: str, protocol: Protocol) -> TestSet:
    """Return a task's test set; the last one is cached, since the next runs usually share it."""
    return saved_test_set(task, source, protocol)


def chance_of(used: TaskUsed, task: Task, test_set: TestSet) -> tuple[float, float]:
    """Return the chance level of a test; it is cached on disk.

    Args:
        used: the task as records name it.
        task: the task.
        test_set: the strings of the test.

    Returns:
        The accuracy of the best constant answer, and of the best one that sees only the length.
    """
    from formalbench import __version__

    def compute() -> list[float]:
        chance = task.chance(test_set.lengths)
        return [chance.constant, chance.length_only]

    code = code_digest(task.source, task.objective)
    key = ["chance", __version__, used.model_dump(), code, test_set.fingerprint]
    constant, length_only = cached(key, compute)
    return constant, length_only


def _tested(
    run: Run, task: Task, test_set: TestSet, scores: Sequence[CellScore], seconds: float
) -> TestResult:
    constant, length_only = chance_of(run.task, task, test_set)
    return TestResult(
        metric=task.primary.name,
        fingerprint=test_set.fingerprint,
        chance_constant=constant,
        chance_length=length_only,
        seconds=round(seconds, 3),
        cells=cells_of(scores, task.primary.name, partial(test_set.chances, task)),
        extra_metrics=dict(run.extra_metrics) or None,
        signatures={one.name: one.signature for one in task.metrics if one.signature} or None,
        pooled=summed(pooled(task, scores)) or None,
    )
