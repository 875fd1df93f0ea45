"""What a reproduction is made of: data, cells and claims with their verdicts, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from formalbench.analysis.reproduced import all_hold

if TYPE_CHECKING:
    from formalbench.analysis.reproduced import Verdict
    from formalbench.contracts.record import Record
    from matplotlib.figure import Figure


Answer = bool | Literal["approx", "cannot tell"] | None
"""Whether something holds; None if nothing was run that could tell, ``approx`` if other data were
used, so that a number cannot be the paper's."""

Row = Mapping[str, str | int | float]


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
    if isinstance(holds, str):
        return holds
    return "holds" if holds else "differs"


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
        """Whether a claim holds and none differs."""
        return all_hold(claim.verdict for claim in self.claims)
