"""The pages of predictions and of papers: their data and their text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.documents.markup import Markdown, written
from formalbench.documents.text import MISSING, percent
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import grouped_by, protocol_key
from formalbench.statistics.result import Prediction, Result
from formalbench.store import REPRODUCTIONS
from formalbench.store.record_file import read_packed
from formalbench.theory.theorems import theorems

from formalbench_leaderboard.board.paper_comparison import (
    SUMMARY,
    Group,
    PaperComparison,
    Premises,
    paper_comparisons,
    paper_summary,
)
from formalbench_leaderboard.board.plugin_info import (
    defaults_here,
    model_here,
    task_here,
    trained_on,
)
from formalbench_leaderboard.board.predictions import (
    LEARNED_COUNTS,
    MEANINGS,
    ExpectedLearning,
    OutcomeName,
    PredictionOutcome,
    agreement_table,
    expected_learning,
    learned_table,
    prediction_outcomes,
)
from formalbench_leaderboard.board.sources import FRONT
from formalbench_leaderboard.board.tables import tried
from formalbench_leaderboard.board.views import Predictions
from formalbench_leaderboard.renderers.formats import made
from formalbench_leaderboard.renderers.links import Links

if TYPE_CHECKING:
    from formalbench.host import PluginHost
    from formalbench.statistics.board import Row


PREDICTIONS = FRONT.with_name("predictions.md")


PAPERS = FRONT.with_name("papers.md")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The content of the pages.

    Attributes:
        predictions: predictions, each with the measurement.
        papers: published numbers, compared with ours.
    """

    predictions: Sequence[PredictionOutcome] = ()
    papers: Sequence[PaperComparison] = ()

    @property
    def expected_learning(self) -> list[ExpectedLearning]:
        """The results that predictions or papers expected to be learned."""
        return expected_learning(self.predictions, self.papers)


def pages(evidence: Evidence, links: Links) -> dict[Path, str]:
    """Return the pages that have any content."""
    contents = {}
    if evidence.predictions:
        contents[PREDICTIONS] = predictions_page(evidence, links)
    if evidence.papers:
        contents[PAPERS] = papers_page(evidence.papers, links)
    return contents


OUTCOME_MEANINGS = [f"{name}: {meaning}" for name, meaning in MEANINGS.items()]
"""What the columns of the table of predictions mean."""


def predictions_page(evidence: Evidence, links: Links | None = None) -> str:
    """Return the page with how often predictions hold, and the exceptions, contradictions first."""
    here = (links or Links()).on(PREDICTIONS)
    cells = evidence.predictions
    names = {cell.prediction.theorem for cell in cells if cell.prediction}
    return made(
        "predictions.md.j2",
        here,
        FRONT=FRONT,
        cells=cells,
        agreement=agreement_table,
        meanings=OUTCOME_MEANINGS,
        against=_exceptions(cells, "against", here),
        short=_exceptions(cells, "not beyond", here),
        taught=learned_table(evidence.expected_learning),
        explained=[f"{column.heading}: {column.meaning}" for column in LEARNED_COUNTS],
        untaught=_first(
            [
                _unlearned_line(cell, here)
                for cell in evidence.expected_learning
                if not cell.result.mastered
            ]
        ),
        sources=[
            f"{theorem.name} ({theorem.evidence}): {theorem.conditions}. {theorem.source}"
            for theorem in theorems()
            if theorem.name in names
        ],
        undecided=[
            f"{theorem.name} ({theorem.evidence}): networks with "
            f"{', '.join(sorted(theorem.mechanisms))}: {theorem.statement}. Conditions: "
            f"{theorem.conditions}. {theorem.source}"
            for theorem in theorems()
            if theorem.statement
        ],
    )


MOST_LISTED = 50
"""Maximum number of lines of a list; the command shows all."""


def _first(lines: Sequence[Markdown]) -> list[Markdown]:
    """Return at most `MOST_LISTED` lines, and a line with the number of the others."""
    more = len(lines) - MOST_LISTED
    return [*lines[:MOST_LISTED], *([Markdown(f"{more} more")] if more > 0 else [])]


def _exceptions(
    cells: Sequence[PredictionOutcome], outcome: OutcomeName, links: Links
) -> list[Markdown]:
    """Return a line for each result with this outcome, with all predictions that say so."""
    groups: dict[tuple[Row, str, str], list[PredictionOutcome]] = {}
    for cell in cells:
        if cell.outcome == outcome:
            groups.setdefault((cell.row, cell.result.task, cell.board.name), []).append(cell)
    return _first([_exception(group, links) for group in groups.values()])


def _exception(group: Sequence[PredictionOutcome], links: Links) -> Markdown:
    """Return a line on a result that none of its predictions agrees with, with its details."""
    result = group[0].result
    predicted = " and ".join(
        f"“{cell.kind}” by {cell.theorem.name if cell.theorem else ''}" for cell in group
    )
    text = written(
        f"on {result.task} ({group[0].board.name}): predicted {predicted}; "
        f"{result.learned} of {result.seeds} seeds learned the "
        f"training lengths (validation {percent(result.validation)}); {_test_text(result)}."
    )
    return Markdown(f"{links.model(group[0].row)} {text}")


def _test_text(result: Result) -> str:
    if result.finished == 0:
        return f"tests: {result.outcome}"
    text = f"test accuracy {percent(result.mean)} on average, {percent(result.max)} at best"
    return f"{text} ({result.outcome})" if result.marked else text


def _unlearned_line(cell: ExpectedLearning, links: Links) -> Markdown:
    """Return a line on a result that was expected to be learned and was not, with the attempts."""
    result = cell.result
    text = written(
        f"on {result.task} ({cell.board.name}): {result.learned} of {result.seeds} seeds learned "
        f"within at most {tried(result)}; mean validation accuracy {percent(result.validation)} %; "
        f"expected by {', '.join(cell.said_by)}."
    )
    return Markdown(f"{links.model(cell.row)} {text}")


def papers_page(found: Sequence[PaperComparison], links: Links | None = None) -> str:
    """Return published numbers compared with ours: a table per paper, averaged over its tasks."""
    here = (links or Links()).on(PAPERS)
    return made(
        "papers.md.j2",
        here,
        FRONT=FRONT,
        columns=[f"{column.heading}: {column.meaning}" for column in SUMMARY],
        papers=[
            (
                part[0].paper,
                shown := paper_summary(part),
                [_differs(one, here) for one in shown.items],
            )
            for part in grouped_by(lambda one: one.paper.key, found).values()
        ],
        name=lambda group: here.model(group[0].row),
    )


def _differs(group: Group, links: Links) -> Markdown:
    """Return a line on the differences that all numbers of a model share, as far as known."""
    first = group[0]
    same = [one for one in first.differs if all(one in other.differs for other in group)]
    text = written(f"({first.board.name}) and {first.theirs.model}: {'; '.join(same) or MISSING}")
    return Markdown(f"{links.model(first.row)} {text}")


def evidence_of(
    records: Collection[Record], view: View, host: PluginHost, *, own: bool = False
) -> Evidence:
    """Return the predictions and published numbers for records.

    Args:
        records: records of runs.
        view: the view of the records, with the published tables.
        host: the plugins.
        own: whether to use only the models and tasks that come with formalbench, for pages that do
            not depend on the installed plugins.
    """
    predictions = Predictions(host, view.theory)
    predicted = partial(_built_in_predictions, host, predictions) if own else predictions.each
    page = build_page(records, replace(view, predicted=predicted))
    return Evidence(prediction_outcomes(page), paper_comparisons(page, premises(records, host)))


def premises(records: Iterable[Record], host: PluginHost) -> Premises:
    """Return the properties of records that a comparison with published numbers needs."""
    return Premises(
        {protocol_key(record): record.protocol for record in records},
        cache(partial(defaults_here, host)),
        cache(lambda title: trained_on(host, title.partition("[")[0])),
    )


def kept_records(repository: Path) -> list[Record]:
    """Return the records beside the pages of a repository's reproductions.

    A damaged file counts as empty; `leaderboard check` reports it.
    """
    records: list[Record] = []
    for file in sorted((repository / REPRODUCTIONS).glob("*.records.jsonl")):
        with suppress(RequestError):
            records += [record for record in read_packed(file) if isinstance(record, Record)]
    return records


def _built_in_predictions(
    host: PluginHost, predictions: Predictions, model: str, task: str
) -> tuple[Prediction, ...]:
    own = model_here(host, model, own=True) and task_here(host, task, own=True)
    return predictions.each(model, task) if own else ()
