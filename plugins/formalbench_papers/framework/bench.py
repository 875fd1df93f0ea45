"""What an experiment works with: its scale, its runs, trained networks, re-tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.specs import ReproductionSpec
from formalbench.contracts.task import Task
from formalbench.device import choose_device, usable_cores
from formalbench.documents.reproduction import UNFINISHED, Scale
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import CellScore, evaluate
from formalbench.host.host import load
from formalbench.statistics.intervals import RunAccuracy, measured
from formalbench.store import Store, default_results, weights_path
from formalbench.store.weights import load_network
from torch import nn

from formalbench_papers.framework.claims import Findings
from formalbench_papers.framework.measurements import Measurements, Step
from formalbench_papers.framework.runs import (
    CellPlan,
    CellRecords,
    has_learned,
    held,
    select,
    train,
)
from formalbench_papers.framework.scores import Score, score_of

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools of a reproduction.

    Attributes:
        host: the plugins: models and tasks come from them by name.
        scale: how much to do.
        report: called with one line about each step.
        results: where the records of trained models are and go; None for the default.
        device: ``auto``, ``cpu`` or ``cuda:i``: where models are trained.
        jobs: how many train at once; None for the default.
        training: whether to train what has no record yet.
        only: rows and columns of the page; if there are any, nothing else is trained.
        measurements: what was measured without training.
        planned: for each cell that belongs to the scale, whether it lacks runs; filled by `train`.
        asked: told what is wanted before any record is read; may raise.
    """

    host: PluginHost
    scale: Scale
    report: Callable[[str], None]
    results: Path | None = None
    device: str = "auto"
    jobs: int | None = None
    training: bool = True
    only: tuple[str, ...] = ()
    measurements: Measurements = field(default_factory=Measurements)
    planned: list[bool] = field(default_factory=list)
    asked: Callable[[Sequence[CellPlan]], None] = lambda wanted: None

    def train(
        self, wanted: Sequence[CellPlan], now: Callable[[CellPlan], bool] = lambda one: True
    ) -> list[CellRecords | None]:
        """Train and test models, and return all that has records, in the order given.

        Args:
            wanted: every cell of the paper, those that decide first: training is in this order.
            now: whether a cell belongs to the scale. The others are not trained unless the user
                asks for them; what has records is returned all the same.

        Returns:
            One per cell: its records, perhaps not of all seeds yet; None if it has none.

        Raises:
            RequestError: for a bad request, as a point that is none of the page's.
        """
        self.asked(wanted)
        chosen = select(wanted, self.only) if self.only else [one for one in wanted if now(one)]
        if self.training and chosen:
            train(self.host, chosen, self.folder, self.device, self.jobs)
        cells = held(self.host, wanted, self.folder)
        self.planned.extend(
            cell is None or cell.missing > 0
            for one, cell in zip(wanted, cells, strict=True)
            if now(one)
        )
        return cells

    def train_each(
        self, wanted: Mapping[K, CellPlan], now: Callable[[K], bool] = lambda key: True
    ) -> dict[K, CellRecords]:
        """Train models as `train` does; return what has records, by key.

        Args:
            wanted: every cell of the paper, those that decide first.
            now: whether a cell belongs to the scale.
        """
        own = {one.shown for key, one in wanted.items() if now(key)}
        cells = self.train(list(wanted.values()), lambda one: one.shown in own)
        return {key: cell for key, cell in zip(wanted, cells, strict=True) if cell is not None}

    def measured(self, step: Step, measure: Callable[[], Any]) -> Any:
        """Return the result of a measurement; measure it if it is not stored.

        Args:
            step: all that decides it, as JSON can say it. The versions of its ``model`` and its
                ``task``, if it names them, are added; a step that looks into a trained network
                names its run as ``test_id``.
            measure: does it; returns what JSON can say.

        Raises:
            RequestError: if the user asked for some points only, and this is of no run.
        """
        if self.only and "test_id" not in step:
            raise RequestError(
                f"--only {self.only[0]}: this is measured in minutes, as a whole; leave --only out"
            )
        versions = {}
        if "model" in step:
            versions["model"] = self.host.models.get(step["model"])[0].spec.version
        if "task" in step:
            versions["task"] = self.host.select_task(step["task"]).spec.version
        return self.measurements.get({**step, "versions": versions}, measure)

    @property
    def folder(self) -> Path:
        """Where records are and go."""
        return self.results or default_results()

    def task(self, name: str) -> Task:
        """Return a task."""
        return self.host.task(name)

    def network(self, model: str, task: Task, **options: Value) -> nn.Module:
        """Return a model's network for a task, in double precision."""
        network: nn.Module = self.host.network(model, task, options)
        return network.double()

    def choose(self, quick: Any, paper: Any) -> Any:
        """Return the value for the current scale."""
        return paper if self.scale == "paper" else quick


def carry_out(bench: Bench, spec: ReproductionSpec) -> Findings:
    """Measure what a spec announces, and check its claims.

    Raises:
        RequestError: for a bad request.
        TypeError: if what it announces finds something else than findings.
    """
    findings = load(spec.factory)(bench)
    if not isinstance(findings, Findings):
        raise TypeError(f"the factory of {spec.name} gave a {type(findings).__name__}")
    if unfinished := sum(bench.planned):
        remark = f"{unfinished} of {len(bench.planned)} {UNFINISHED}: the same command trains them."
        findings = replace(findings, remarks=(*findings.remarks, remark))
    return findings


class NoWeightsError(RequestError):
    """A run without weights and without stored measurements of its network."""


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network.

    Attributes:
        bench: knows where its weights are, and what was found in it before.
        record: of its run.
    """

    bench: Bench
    record: Record

    @cached_property
    def module(self) -> nn.Module:
        """The network with the selected weights, in double precision.

        Raises:
            NoWeightsError: one line, if they are not there.
        """
        path = Store(self.bench.folder).path_of(self.record)
        weights = weights_path(path)
        if self.record.weights is None or not weights.is_file():
            raise NoWeightsError(f"{path} kept no weights to look into: remove it to train again")
        network: nn.Module = load_network(self.bench.host, self.record, weights).double()
        return network

    @property
    def accuracy(self) -> float:
        """The share of test strings answered right."""
        assert self.record.test is not None
        return self.record.test.accuracy

    @property
    def learned(self) -> bool:
        """Whether it learned the training lengths."""
        return has_learned(self.record)

    def find(self, step: Step, look: Callable[[], Any]) -> Any:
        """Return a measurement of the network; measure it once.

        Args:
            step: all that decides it beside the network.
            look: does it; returns what JSON can say.
        """
        return self.bench.measured({"test_id": self.record.test_id, **step}, look)


def trained(bench: Bench, wanted: Sequence[CellPlan]) -> list[list[TrainedNetwork]]:
    """Train what is wanted, and return its networks, those of each in the order of their seeds.

    Returns:
        One list per cell; an empty one where nothing was trained yet.

    Raises:
        RequestError: one line, if no run of something finished.
    """
    every = []
    for cell in bench.train(wanted):
        finished = [one for one in cell.chosen if one.status == "finished"] if cell else []
        if cell and not finished:
            first = cell.records[0]
            raise RequestError(
                f"no run of {cell.plan.model} on {cell.plan.task} finished: "
                f"{first.status}, {first.message}"
            )
        every.append([TrainedNetwork(bench, record) for record in finished])
    return every


def records_of_networks(every: Iterable[Iterable[TrainedNetwork]]) -> list[Record]:
    """Return the records of networks."""
    return [network.record for networks in every for network in networks]


def draw_strings(task: Task, lengths: Sequence[int], count: int) -> TestSet:
    """Return `count` strings at each length, from the stream that tests are drawn from."""
    samples = (
        (length, task.sample(task.stream("test", length, count), length, count))
        for length in lengths
    )
    return TestSet(tuple(Cell(length, length, (example,)) for length, example in samples))


def retest(
    bench: Bench,
    got: CellRecords,
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
    key = ("retest", got.plan.row, got.plan.column, cells.fingerprint)
    score = score_of(runs, metric[1], key, len(got.chosen), missing=got.missing)
    return replace(score, cut_off=got.cut_off)


def score_again(bench: Bench, record: Record, task: Task, cells: TestSet) -> list[CellScore]:
    """Score the selected weights of a run on strings of a task with the same symbols.

    Raises:
        NoWeightsError: if they are not there.
    """
    device = torch.device(choose_device(bench.device))
    network = TrainedNetwork(bench, record).module.float().to(device)
    threads = bench.jobs or usable_cores()
    return evaluate(network, task, cells, device, threads, record.protocol.precision)


def _retested(bench: Bench, record: Record, task: Task, cells: TestSet, metric: str) -> RunAccuracy:
    def test() -> dict[str, float]:
        scores = score_again(bench, record, task, cells)
        mean = sum(score.measures[metric].mean for score in scores) / len(scores)
        run = measured([score.strings for score in scores], mean)
        return {"accuracy": run.accuracy, "strings": run.strings}

    step = {
        "test_id": record.test_id,
        "task": task.name,
        "options": dict(task.parameters),
        "strings": cells.fingerprint,
        "metric": metric,
    }
    return RunAccuracy(**bench.measured(step, test))
