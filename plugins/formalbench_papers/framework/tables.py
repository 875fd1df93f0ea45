"""A paper's table: the runs of its cells.

Its rows are tasks and its columns models. A paper's statements about its table are checked by
claims; `claims` has common ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.paper_tables import PublishedResult, PublishedTable
from formalbench.documents.reproduction import Scale
from formalbench.host.host import read_table

from formalbench_papers.framework import scores as framework_scores
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings, Row, TableCell
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
from formalbench_papers.framework.scores import Score
from formalbench_papers.index import TABLES

RULE = (
    "A cell holds if the paper's average, and its maximum if it has one, are within 2 points of "
    "ours, over three or more seeds. It differs if the average is further away and outside our "
    "95 % interval (over seeds and test strings), or if three or more seeds are all more than 2 "
    "points below the average, or all more than 2 points above the maximum (above the average, if "
    "the paper has no maximum); and, where the averages agree, if all are 10 points below the "
    "maximum."
)
"""What the rule for verdicts, `claims.RULE`, means for a cell with a number."""


Key = tuple[str, str]
"""A task and a model's title."""

TrainingResult = Mapping[Key, CellRecords]
"""What was trained, by cell."""


@dataclass(frozen=True, slots=True)
class PaperModel:
    """One of a paper's models.

    Attributes:
        title: as among the published rows.
        name: ours.
        quick, paper: its options at either scale.
    """

    title: str
    name: str
    quick: Mapping[str, Value] = field(default_factory=dict)
    paper: Mapping[str, Value] = field(default_factory=dict)

    def options(self, scale: Scale) -> Mapping[str, Value]:
        """Return the options that belong to the scale."""
        return self.paper if scale == "paper" else self.quick


def residual(
    title: str, name: str, options: Mapping[str, Value] | None = None, **paper: Value
) -> PaperModel:
    """Return a model of two blocks: of width 64 at the scale quick, and of 128 as in the paper.

    Args:
        title: as among the published rows.
        name: ours.
        options: at both scales.
        **paper: further ones, or others, as in the paper's code.
    """
    quick = dict(options or {})
    return PaperModel(title, name, quick, {**quick, "width": 128, **paper})


@dataclass(frozen=True, slots=True)
class AccuracyTable:
    """A paper's table of accuracies on strings longer than any trained on.

    Attributes:
        published: its numbers; its tasks go by our names.
        models: one for each published row that is measured.
        protocols: how the models are trained and tested at either scale.
        quick: the tasks of the scale ``quick``, the most informative first; empty for all.
        quick_models: of such a task the titles of its models; without an entry, all.
        quick_seeds: of a cell how many seeds the scale ``quick`` trains; without an entry, as many
            as the protocol says.
        failing: the cells of which the paper says that the model does not learn the task. There a
            network that did not learn the training lengths is no less evidence than in a claim,
            unless its training was cut off.
    """

    published: PublishedTable
    models: tuple[PaperModel, ...]
    protocols: Mapping[Scale, str]
    quick: tuple[str, ...] = ()
    quick_models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quick_seeds: Mapping[Key, int] = field(default_factory=dict)
    failing: frozenset[Key] = frozenset()

    def train(self, bench: Bench) -> dict[Key, CellRecords]:
        """Train the cells of the scale; return all records."""
        every = self.published.tasks
        titles = tuple(model.title for model in self.models)
        now = bench.choose(self.quick or every, every)
        by = bench.choose(self.quick_models, {})
        seeds: Mapping[Key, int] = bench.choose(self.quick_seeds, {})
        order = dict.fromkeys((*self.quick, *every))
        plans = {
            (task, model.title): CellPlan(
                row=task,
                column=model.title,
                model=model.name,
                task=task,
                protocol=self.protocols[bench.scale],
                model_options=model.options(bench.scale),
                seeds=seeds.get((task, model.title)),
                reduced=bench.scale == "quick",
            )
            for task in order
            for model in self.models
        }
        return bench.train_each(
            plans, lambda key: key[0] in now and key[1] in by.get(key[0], titles)
        )

    def scores(self, got: TrainingResult) -> dict[Key, Score]:
        """Return the scores of every trained cell."""
        return {key: Score.of_test(cell) for key, cell in got.items()}

    def findings(
        self, got: TrainingResult, claims: Sequence[Claim], remarks: Sequence[str] = ()
    ) -> Findings:
        """Return the table cell by cell, with the claims."""
        scores = {
            key: replace(
                score, learned=score.learned or (key in self.failing and not score.cut_off)
            )
            for key, score in self.scores(got).items()
        }
        keys = [(task, model.title) for task in self.published.tasks for model in self.models]
        cells, rows = judged(
            (*key, self.published.result(key[1], key[0]), scores.get(key), got.get(key))
            for key in keys
        )
        return Findings(rows, claims, None, remarks, cells, records_of(got.values()))


def judged(
    places: Iterable[tuple[str, str, PublishedResult, Score | None, CellRecords | None]],
) -> tuple[list[TableCell], list[Row]]:
    """Return the cells of a table, judged by `RULE`, and the data.

    Args:
        places: of each cell the row, the column, the paper's numbers, ours, and what was trained.
    """
    cells, rows = [], []
    for row, column, paper, score, records in places:
        one = framework_scores.cell(row, column, paper, score)
        cells.append(one)
        rows.append(framework_scores.data(one, paper, score, records))
    return cells, rows


def published(name: str) -> PublishedTable:
    """Return a table of a paper, by the name that it is announced under."""
    return read_table(TABLES[name])


FETCHED = ("debian-en-vi", "sotu")
"""Corpora that `formalbench corpus fetch` makes; users describe the others themselves."""


def text_task(bench: Bench, corpus: str, objective: str) -> str:
    """Return the name of a task on a corpus.

    Raises:
        RequestError: one line that says how the corpus is had, if it is not there.
    """
    try:
        bench.host.tasks.get(corpus)
    except RequestError:
        if corpus in FETCHED:
            how, file = f"make it with `formalbench corpus fetch {corpus}`", f"{corpus}/{corpus}"
        else:
            kind = "Translations" if objective == "translate" else "Texts"
            file = corpus
            how = f"describe its files in a YAML file of this name (docs/plugins.md, {kind})"
        line = f"no corpus {corpus}: {how}, and name it: --plugin {file}.yaml"
        raise RequestError(line) from None
    return f"{corpus}:{objective}"
