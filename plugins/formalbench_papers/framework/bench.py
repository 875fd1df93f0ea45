"""What a reproduction works with, and how one is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.analysis.reproduced import Scale
from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.specs import ReproductionSpec
from formalbench.host.host import load
from formalbench.store import default_results

from formalbench_papers.framework.findings import Findings

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
        also: points of the paper's figure to measure although the scale leaves them out.
    """

    host: PluginHost
    scale: Scale
    report: Callable[[str], None]
    results: Path | None = None
    device: str = "auto"
    jobs: int | None = None
    training: bool = True
    also: tuple[str, ...] = ()

    def train(self, wanted: Sequence[Wanted]) -> list[Got]:
        """Train and test models, unless their records are there already; in the order given.

        Raises:
            RequestError: if a record is missing and nothing is to be trained.
        """
        from formalbench_papers.framework.runs import train

        if self.training:
            return train(self.host, wanted, self.folder, self.device, self.jobs)
        held = [got for got in self.held(wanted) if got is not None]
        if len(held) < len(wanted):
            raise RequestError(
                f"--no-training: {len(wanted) - len(held)} of {len(wanted)} models have no "
                f"complete set of records in {self.folder}"
            )
        return held

    def held(self, wanted: Sequence[Wanted]) -> list[Got | None]:
        """Return what is there without training; None where a run has no record yet."""
        from formalbench_papers.framework.runs import held

        return held(self.host, wanted, self.folder)

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
    return found


def asked_points(spec: ReproductionSpec, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the points of a figure that are meant; spaces and case do not matter.

    Raises:
        RequestError: for one that there is not.
    """
    if asked and not spec.points:
        raise RequestError(f"--also {asked[0]}: {spec.name} has no points to choose")
    known = {_squeezed(point): point for point in spec.points}
    for one in asked:
        if _squeezed(one) not in known:
            raise unknown("point", one, spec.points)
    return tuple(known[_squeezed(one)] for one in asked)


def _squeezed(point: str) -> str:
    return "".join(point.split()).casefold()
