"""What a reproduction works with, and how one is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.analysis.reproduced import UNFINISHED, Scale
from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import ReproductionSpec
from formalbench.host.host import load
from formalbench.store import default_results

from formalbench_papers.framework.findings import Findings
from formalbench_papers.framework.measurements import Measurements, Step

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost
    from torch import nn

    from formalbench_papers.framework.runs import Got, Wanted


@dataclass(frozen=True, slots=True)
class Bench:
    """What a reproduction works with.

    Attributes:
        host: the plugins: models and tasks come from them by name.
        scale: how much to do.
        report: told what is being done, one line each.
        results: where the records of trained models are and go; None for the default.
        device: ``auto``, ``cpu`` or ``cuda:i``: where models are trained.
        jobs: how many train at once; None for the default.
        training: whether to train what has no record yet.
        only: rows and columns of the page; if there are any, nothing else is trained.
        measurements: what was measured without training.
        planned: for each cell that belongs to the scale, whether it lacks runs; filled by `train`.
        asked: told the names of the protocols that models are asked for under, before any record is
            read; may raise.
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
    asked: Callable[[set[str]], None] = lambda protocols: None

    def train(
        self, wanted: Sequence[Wanted], now: Callable[[Wanted], bool] = lambda one: True
    ) -> list[Got | None]:
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
        from formalbench_papers.framework.runs import held, select, train

        self.asked({one.protocol for one in wanted})
        chosen = select(wanted, self.only) if self.only else [one for one in wanted if now(one)]
        if self.training and chosen:
            train(self.host, chosen, self.folder, self.device, self.jobs)
        found = held(self.host, wanted, self.folder)
        self.planned.extend(
            got is None or got.missing > 0
            for one, got in zip(wanted, found, strict=True)
            if now(one)
        )
        return found

    def measured(self, step: Step, measure: Callable[[], Any]) -> Any:
        """Return what a step finds; measure it if it was not measured before.

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
            versions["task"] = self.host.task_entry(step["task"])[0].spec.version
        return self.measurements.get({**step, "versions": versions}, measure)

    @property
    def folder(self) -> Path:
        """Where records are and go."""
        return self.results or default_results()

    def task(self, name: str) -> Task:
        """Return a task."""
        task: Task = self.host.task(name)
        return task

    def network(self, model: str, task: Task, **options: Value) -> nn.Module:
        """Return a model's network for a task, in double precision."""
        network: nn.Module = self.host.network(model, task, options)
        return network.double()

    def choose(self, quick: Any, paper: Any) -> Any:
        """Return what belongs to the scale."""
        return paper if self.scale == "paper" else quick


def carry_out(bench: Bench, spec: ReproductionSpec) -> Findings:
    """Measure what a spec announces, and check its claims.

    Raises:
        RequestError: for a bad request.
        TypeError: if what it announces finds something else than findings.
    """
    found = load(spec.factory)(bench)
    if not isinstance(found, Findings):
        raise TypeError(f"the factory of {spec.name} gave a {type(found).__name__}")
    if lacking := sum(bench.planned):
        remark = f"{lacking} of {len(bench.planned)} {UNFINISHED}: the same command trains them."
        found = replace(found, remarks=(*found.remarks, remark))
    return found
