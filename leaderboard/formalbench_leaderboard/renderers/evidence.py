"""What the board is evidence of: theory's predictions, and published numbers, beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formalbench.analysis.beside import Beside
from formalbench.analysis.expected import Expected, expected
from formalbench.analysis.keys import grouped_by
from formalbench.analysis.predictions import Foretold
from formalbench.analysis.results import Result
from formalbench.analysis.tables import (
    agreement_table,
    beside_table,
    predicted_table,
    taught_table,
)
from formalbench.analysis.tables.beside import BESIDE
from formalbench.analysis.tables.expected import TAUGHT
from formalbench.analysis.tables.outcomes import tried
from formalbench.analysis.tables.predicted import CELLS, MEANINGS
from formalbench.analysis.text import percent
from formalbench.theory.theorems import theorems

from formalbench_leaderboard.renderers.links import FRONT, Links
from formalbench_leaderboard.renderers.markdown import made

PREDICTIONS = FRONT.with_name("predictions.md")
PAPERS = FRONT.with_name("papers.md")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the pages are made of.

    Attributes:
        predictions: each beside the measurement.
        papers: published numbers beside ours.
    """

    predictions: Sequence[Foretold] = ()
    papers: Sequence[Beside] = ()

    @property
    def expected(self) -> list[Expected]:
        """What was to be learned, by either."""
        return expected(self.predictions, self.papers)


def pages(evidence: Evidence, links: Links) -> dict[Path, str]:
    """Return the pages that there is something to say on."""
    found = {}
    if evidence.predictions:
        found[PREDICTIONS] = predictions_page(evidence, links)
    if evidence.papers:
        found[PAPERS] = papers_page(evidence.papers, links)
    return found


def predictions_page(evidence: Evidence, links: Links | None = None) -> str:
    """Return every prediction beside the measurement, the contradictions first."""
    here = (links or Links()).on(PREDICTIONS)
    cells = evidence.predictions
    used = {cell.prediction.theorem for cell in cells if cell.prediction}
    return made(
        "predictions.md.j2",
        here,
        FRONT=FRONT,
        cells=cells,
        agreement=agreement_table,
        meanings=[f"{name}: {meaning}" for name, meaning in MEANINGS.items()],
        against=[_contradiction(cell) for cell in cells if cell.found == "against"],
        short=[_contradiction(cell) for cell in cells if cell.found == "not beyond"],
        taught=taught_table(evidence.expected),
        explained=[f"{column.heading}: {column.meaning}" for column in TAUGHT],
        untaught=[_untaught(cell) for cell in evidence.expected if not cell.taught],
        columns=[f"{column.heading}: {column.meaning}" for column in CELLS],
        shown=predicted_table(cells),
        name=lambda cell: here.model(cell.row),
        sources=[
            f"{theorem.name} ({theorem.evidence}): {theorem.conditions}. {theorem.source}"
            for theorem in theorems()
            if theorem.name in used
        ],
    )


def _contradiction(cell: Foretold) -> str:
    """Return a line on what is not as predicted, with what is known of it."""
    result, theorem = cell.result, cell.theorem
    told = [
        f"{cell.row.model} on {result.task} ({cell.board.name}): predicted “{cell.kind}” by "
        f"{theorem.name if theorem else ''}",
        f"{result.learned} of {result.seeds} seeds learned the training lengths "
        f"({percent(result.validation)} there), and {_tested(result)}",
    ]
    if theorem:
        told.append(f"it is said under conditions: {theorem.conditions}")
    return f"{'; '.join(told)}."


def _tested(result: Result) -> str:
    if result.finished == 0:
        return f"of the tests {result.outcome}"
    said = f"the test has {percent(result.mean)} on average, {percent(result.max)} at best"
    return f"{said} ({result.outcome})" if result.marked else said


def _untaught(cell: Expected) -> str:
    """Return a line on what was to be learned and was not, with what was tried."""
    result = cell.result
    some = "it, the others not" if result.learned else "it"
    return (
        f"{cell.row.model} on {result.task} ({cell.board.name}): {result.learned} of "
        f"{result.seeds} seeds learned {some} within at most {tried(result)}; "
        f"validation accuracy {percent(result.validation)} % on average; to be expected by "
        f"{', '.join(cell.said_by)}."
    )


def papers_page(found: Sequence[Beside], links: Links | None = None) -> str:
    """Return published numbers beside ours, a table for each paper."""
    here = (links or Links()).on(PAPERS)
    held = grouped_by(lambda one: one.paper.key, found).values()
    return made(
        "papers.md.j2",
        here,
        FRONT=FRONT,
        columns=[f"{column.heading}: {column.meaning}" for column in BESIDE],
        papers=[(part[0].paper, beside_table(part).without("paper")) for part in held],
        name=lambda one: here.model(one.row),
    )
