"""What a reproduction is made of: data, cells and claims with their verdicts, and a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError, unknown
from formalbench.store import default_results

if TYPE_CHECKING:
    from formalbench.contracts.record import Record
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost
    from matplotlib.figure import Figure
    from torch import nn

    from formalbench_papers.framework.runs import Got, Wanted

Scale = Literal["quick", "paper"]
"""``quick``: what two CPU cores do in minutes, an hour at most. ``paper``: as many runs, lengths,
strings and updates as in the paper, or more."""

Verdict = Literal["holds", "differs", "cannot tell", "not run at this scale"]

Answer = bool | Literal["cannot tell"] | None
"""Whether something holds; None if nothing was run that could tell."""

Row = Mapping[str, str | int | float]


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
    holds: Answer

    @property
    def verdict(self) -> Verdict:
        """In words."""
        return verdict(self.holds)


@dataclass(frozen=True, slots=True)
class TableCell:
    """One cell of a paper's table, beside ours.

    Attributes:
        row, column: where it stands in the table.
        paper: the paper's number, as text.
        ours: what was measured, with its interval and the number of seeds; empty if not run.
        holds: whether they agree; None if it was not run.
    """

    row: str
    column: str
    paper: str
    ours: str
    holds: Answer

    @property
    def verdict(self) -> Verdict:
        """In words."""
        return verdict(self.holds)


def verdict(holds: Answer) -> Verdict:
    """Return the words for an answer."""
    if holds is None:
        return "not run at this scale"
    if holds == "cannot tell":
        return "cannot tell"
    return "holds" if holds else "differs"


def count_verdicts(verdicts: Iterable[Verdict]) -> str:
    """Return how many of each there are, as in ``18 hold, 1 differs``."""
    counts = Counter(verdicts)
    one_and_many: dict[Verdict, tuple[str, str]] = {
        "holds": ("holds", "hold"),
        "differs": ("differs", "differ"),
        "cannot tell": ("cannot tell",) * 2,
        "not run at this scale": ("not run at this scale",) * 2,
    }
    return ", ".join(
        f"{counts[verdict]} {words[counts[verdict] != 1]}"
        for verdict, words in one_and_many.items()
        if counts[verdict]
    )


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of a reproduction.

    Attributes:
        rows: the data of the figure, one mapping per line of the CSV, all with the same keys.
        claims: each checked.
        draw: draws the figure from the data; None for a table.
        remarks: how this differs from the paper, one line each; what the scale left out, too.
        cells: of the paper's table, if it is one.
        records: of the models it rests on, if any were trained.
    """

    rows: Sequence[Row]
    claims: Sequence[Claim]
    draw: Callable[[], Figure] | None
    remarks: Sequence[str] = ()
    cells: Sequence[TableCell] = ()
    records: Sequence[Record] = ()

    @property
    def holds(self) -> bool:
        """Whether no claim differs: what cannot be told from the seeds is no failure."""
        return all(claim.holds is not False for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One figure or table of a paper.

    Attributes:
        name: its identity, as on the command line and in file names.
        title: what is reproduced.
        source: the paper, and where in it.
        about: what the figure shows, in a paragraph.
        carry_out: measures, and checks the claims.
        reduced: what is less at the scale ``quick`` than at ``paper``; a sentence or two.
        duration: how long each scale takes, in words.
        figure: whether it draws one.
        inside: whether it looks into the networks, so that records alone do not give its numbers.
        points: the points of the paper's figure that can be asked for one by one, all of them.
    """

    name: str
    title: str
    source: str
    about: str
    carry_out: Callable[[Bench], Findings]
    reduced: str = ""
    duration: str = ""
    figure: bool = True
    inside: bool = False
    points: tuple[str, ...] = ()

    def asked_points(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Return the points that are meant; spaces and case do not matter.

        Raises:
            RequestError: for one that there is not.
        """
        if asked and not self.points:
            raise RequestError(f"--also {asked[0]}: {self.name} has no points to choose")
        known = {_squeezed(point): point for point in self.points}
        for one in asked:
            if _squeezed(one) not in known:
                raise unknown("point", one, self.points)
        return tuple(known[_squeezed(one)] for one in asked)


def _squeezed(point: str) -> str:
    return "".join(point.split()).casefold()
