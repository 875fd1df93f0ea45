"""What a reproduction is made of: data, claims that hold or not, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from formalbench.contracts.specs import Value

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost
    from matplotlib.figure import Figure
    from torch import nn

Scale = Literal["quick", "paper"]
"""``quick``: a minute or two on a CPU. ``paper``: as many lengths, strings and updates as in the
paper, or more."""

Row = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Bench:
    """What a reproduction works with.

    Attributes:
        host: the plugins: models and tasks come from them by name.
        scale: how much to do.
        report: told what is being done, one line each.
    """

    host: PluginHost
    scale: Scale
    report: Callable[[str], None]

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


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper, held against what was measured.

    Attributes:
        text: what is claimed.
        paper: what the paper says or shows: a number, or where.
        ours: what was found.
        holds: whether it holds here.
    """

    text: str
    paper: str
    ours: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of a reproduction.

    Attributes:
        rows: the data of the figure, one mapping per line of the CSV, all with the same keys.
        claims: each checked.
        draw: draws the figure from the data.
        remarks: how this differs from the paper, one line each.
    """

    rows: Sequence[Row]
    claims: Sequence[Claim]
    draw: Callable[[], Figure]
    remarks: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One figure or table of a paper.

    Attributes:
        name: its identity, as on the command line and in file names.
        title: what is reproduced.
        source: the paper, and where in it.
        about: what the figure shows, in a paragraph.
        carry_out: measures, and checks the claims.
    """

    name: str
    title: str
    source: str
    about: str
    carry_out: Callable[[Bench], Findings]
