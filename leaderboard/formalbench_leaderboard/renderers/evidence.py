"""What the board is evidence of: theory's predictions, and published numbers, beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formalbench.analysis.beside import Beside
from formalbench.analysis.expected import Expected, expected
from formalbench.analysis.keys import grouped_by
from formalbench.analysis.markdown import Markdown, written
from formalbench.analysis.predictions import Foretold
from formalbench.analysis.results import Result
from formalbench.analysis.tables import (
    agreement_table,
    beside_summary,
    taught_table,
)
from formalbench.analysis.tables.beside import SUMMARY, Group
from formalbench.analysis.tables.expected import TAUGHT
from formalbench.analysis.tables.outcomes import tried
from formalbench.analysis.tables.predicted import MEANINGS
from formalbench.analysis.text import MISSING, percent
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
    """Return how often predictions hold, and where they do not: contradictions first."""
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
        against=_first([_contradiction(cell, here) for cell in cells if cell.found == "against"]),
        short=_first([_contradiction(cell, here) for cell in cells if cell.found == "not beyond"]),
        taught=taught_table(evidence.expected),
        explained=[f"{column.heading}: {column.meaning}" for column in TAUGHT],
        untaught=_first([_untaught(cell, here) for cell in evidence.expected if not cell.taught]),
        sources=[
            f"{theorem.name} ({theorem.evidence}): {theorem.conditions}. {theorem.source}"
            for theorem in theorems()
            if theorem.name in used
        ],
    )


MOST_LISTED = 50
"""Lines of a list; the command has the others."""


def _first(lines: Sequence[Markdown]) -> list[Markdown]:
    """Return so many lines that a page stays short, and how many others there are."""
    more = len(lines) - MOST_LISTED
    return [*lines[:MOST_LISTED], *([Markdown(f"{more} more")] if more > 0 else [])]


def _contradiction(cell: Foretold, links: Links) -> Markdown:
    """Return a line on what is not as predicted, with what is known of it."""
    result, theorem = cell.result, cell.theorem
    told = written(
        f"on {result.task} ({cell.board.name}): predicted “{cell.kind}” by "
        f"{theorem.name if theorem else ''}; {result.learned} of {result.seeds} seeds learned the "
        f"training lengths ({percent(result.validation)} there), and {_tested(result)}."
    )
    return Markdown(f"{links.model(cell.row)} {told}")


def _tested(result: Result) -> str:
    if result.finished == 0:
        return f"of the tests {result.outcome}"
    said = f"the test has {percent(result.mean)} on average, {percent(result.max)} at best"
    return f"{said} ({result.outcome})" if result.marked else said


def _untaught(cell: Expected, links: Links) -> Markdown:
    """Return a line on what was to be learned and was not, with what was tried."""
    result = cell.result
    some = "it, the others not" if result.learned else "it"
    told = written(
        f"on {result.task} ({cell.board.name}): {result.learned} of {result.seeds} seeds learned "
        f"{some} within at most {tried(result)}; validation accuracy "
        f"{percent(result.validation)} % on average; to be expected by {', '.join(cell.said_by)}."
    )
    return Markdown(f"{links.model(cell.row)} {told}")


def papers_page(found: Sequence[Beside], links: Links | None = None) -> str:
    """Return published numbers beside ours, a table for each paper, summed up over its tasks."""
    here = (links or Links()).on(PAPERS)
    held = list(grouped_by(lambda one: one.paper.key, found).values())
    return made(
        "papers.md.j2",
        here,
        FRONT=FRONT,
        columns=[f"{column.heading}: {column.meaning}" for column in SUMMARY],
        papers=[
            (
                part[0].paper,
                shown := beside_summary(part),
                [_differs(one, here) for one in shown.items],
            )
            for part in held
        ],
        name=lambda group: here.model(group[0].row),
    )


def _differs(group: Group, links: Links) -> Markdown:
    """Return a line on what differs of all numbers of a model, as far as their paper says."""
    first = group[0]
    same = [one for one in first.differs if all(one in other.differs for other in group)]
    told = written(
        f"({first.board.name}) beside {first.theirs.model}: {'; '.join(same) or MISSING}"
    )
    return Markdown(f"{links.model(first.row)} {told}")
