"""Trained networks tested again: on strings that their runs were not tested on, or otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from formalbench.analysis.statistics import Measured, measured
from formalbench.contracts.record import Record
from formalbench.contracts.task import Task
from formalbench.device import choose_device, usable_cores
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import CellScore, evaluate

from formalbench_papers.framework.accuracies import Score, score_of
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.runs import Got
from formalbench_papers.framework.trained import NoWeightsError, TrainedNetwork


def draw_strings(task: Task, lengths: Sequence[int], count: int) -> TestSet:
    """Return `count` strings at each length, from the stream that tests are drawn from."""
    drawn = (
        (length, task.sample(task.stream("test", length, count), length, count))
        for length in lengths
    )
    return TestSet(tuple(Cell(length, length, (example,)) for length, example in drawn))


def retest(
    bench: Bench,
    got: Got,
    task: Task,
    cells: TestSet,
    metric: tuple[str, float] | None = None,
) -> Score | None:
    """Test the selected weights of the chosen runs on other strings.

    Args:
        bench: knows where the weights are.
        got: runs on a task of the same symbols.
        task: of the strings.
        cells: the strings.
        metric: the name of a metric of the task, and what a guess has; None for its primary one.

    Returns:
        None if a run has no weights to test.
    """
    finished = [record for record in got.chosen if record.status == "finished"]
    if metric is None:
        metric = task.primary.name, task.chance(cells.lengths).length_only
    try:
        runs = [_retested(bench, record, task, cells, metric[0]) for record in finished]
    except NoWeightsError as error:
        bench.report(str(error))
        return None
    outcome = f"{len(finished)} of {len(got.chosen)} finished"
    return score_of(
        runs,
        str(len(runs)) if len(finished) == len(got.chosen) else outcome,
        metric[1],
        ("retest", got.wanted.row, got.wanted.column, cells.fingerprint),
        missing=got.missing,
    )


def score_again(bench: Bench, record: Record, task: Task, cells: TestSet) -> list[CellScore]:
    """Score the selected weights of a run on strings of a task with the same symbols.

    Raises:
        NoWeightsError: if they are not there.
    """
    device = torch.device(choose_device(bench.device))
    network = TrainedNetwork(bench, record).module.float().to(device)
    threads = bench.jobs or usable_cores()
    return evaluate(network, task, cells, device, threads, record.protocol.precision)


def _retested(bench: Bench, record: Record, task: Task, cells: TestSet, metric: str) -> Measured:
    def test() -> dict[str, float]:
        scores = score_again(bench, record, task, cells)
        mean = sum(score.measures[metric].mean for score in scores) / len(scores)
        found = measured([score.strings for score in scores], mean)
        return {"accuracy": found.accuracy, "strings": found.strings}

    step = {
        "test_id": record.test_id,
        "task": task.name,
        "options": dict(task.parameters),
        "strings": cells.fingerprint,
        "metric": metric,
    }
    return Measured(**bench.measured(step, test))
