"""A page as Markdown that GitHub shows as it is meant, byte for byte reproducible.

The pages of the repository (`front`, `suite`, `model`) are made of the same parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.columns import FAILED, SOME, Column, Table
from formalbench.analysis.constructions import ExactModel, ExactModels
from formalbench.analysis.markdown import bullets
from formalbench.analysis.markdown import table as plain_table
from formalbench.analysis.results import TaskFacts
from formalbench.analysis.statistics import DRAWS
from formalbench.analysis.tables import (
    LEGEND,
    exact_table,
    of_task,
    published_table,
    ranking,
)
from formalbench.analysis.text import grouped, markdown, percent, plural
from formalbench.contracts.published import PublishedTable

T = TypeVar("T")

MOST_COLUMNS = 12
"""Of a table: with more, GitHub shows a scroll bar."""

HOW_TO_READ = f"""\
## How to read it

- **Accuracy** is the share of test strings that are right by the task's metric, averaged over
  the test lengths, each length counting the same. All numbers are in percent.
- **Chance** is what the best answer reaches that sees nothing but a string's length.
  **Scaled** accuracy is (mean accuracy − mean chance) / (1 − mean chance): 0 is chance, 100 is
  perfect.
- The **score** is the mean over the tasks of the scaled accuracy of the mean over the seeds. A
  row that lacks a task has no score and no rank.
- An **interval** holds 95 % of {DRAWS:,} draws of what more seeds and more strings would give: in
  each, every seed has a random weight, and so has one that nobody has seen, which is at chance
  in half of the draws and perfect in the other half; and the share of test strings that are right
  is drawn within what their number leaves open. Seeds that agree thus still leave much open, one
  alone nearly everything. An exact model has no seeds: its interval is of the strings alone.
- The **Wilson interval** beside the maximum is another thing: the 95 % interval of the best seed
  alone, given all its test strings. The JSON form of this page has the Wilson interval of every
  seed at every length.
- The **IQM** is the interquartile mean: of the scaled accuracies of all runs on the tasks, the
  mean of the middle half.
- A **rank** is one more than the number of rows that are separably better: compared seed by seed on
  each task, and corrected for how many pairs of rows there are. A row is **within** the ranks given
  in 95 % of the draws.
- **Learned is not extrapolates.** A run learned its training lengths if it gets at least 99 % of
  held-out strings of them right (its *validation* accuracy). A cell of which no seed did says
  nothing of extrapolation: it shows the validation accuracy, *[83.1]*, and not what the test came
  to; the task's table has the budget besides. {SOME} marks one of which some seeds did not. The
  score counts the test accuracy of all of them, learned or not.
- **≥ 99 % to** (≥ 90 % to) is the longest test length up to which, at every test length, the mean
  accuracy over the seeds is at least that; of what every seed learned alone.
- The **shortcut** is the best that counting symbols and neighbours, or looking at the ends, is
  known to reach (docs/shortcuts.md): up to there an accuracy is no sign of the language.
- **Nothing is selected on test data**: the learning rate and the checkpoint are chosen on
  in-distribution validation, and every seed counts. Learning rates are compared on the seeds
  that all of them have. RegularGPT's default norm was set otherwise: docs/method.md says how.
- **A run that did not finish** (diverged, out of memory, timed out) counts as chance level; the
  seeds column says so, and ⚠ marks its row.
- The **language class** is the smallest that theory puts the task's language in (docs/theory.md).
- A task without an objective is asked for one class per string (`classify`).
"""


Markup = Mapping[str, Callable[[T], str]]
"""How an item is written below a heading, as Markdown already, where not as its plain text."""

Name = Callable[[Row], str]
"""How a row's model is written: as Markdown, perhaps a link."""


def plain_name(row: Row) -> str:
    """Return a row's model without a link."""
    return markdown(row.model)


def render(page: Page) -> str:
    """Return the whole page."""
    parts = [f"# {markdown(page.title)}", HOW_TO_READ.rstrip()]
    if not page.boards:
        parts.append("No measured rows yet.")
    for board in page.boards:
        parts += [f"## Measured: protocol {markdown(board.name)}", *ranked(board)]
        parts += by_task(board)
    parts += exact_models(page.exact) + _exact_commands(page.exact)
    parts += published_numbers(page.published)
    if page.environments:
        parts += ["## Environments", bullets(page.environments)]
    return joined(parts)


def joined(parts: Iterable[str]) -> str:
    """Return a page made of its blocks."""
    return "\n\n".join(parts) + "\n"


def table(shown: Table[T], markup: Markup[T] | None = None) -> str:
    """Return a table; its lines below come last, and in italics."""
    written = [_writer(column, markup or {}) for column in shown.columns]
    lines = [[write(item) for write in written] for item in shown.items]
    for name, texts in shown.below.items():
        named = (
            f"*{name}*" if column.form == "name" else markdown(text or "")
            for column, text in zip(shown.columns, texts, strict=True)
        )
        lines.append(list(named))
    left = [markdown(column.heading) for column in shown.columns if column.left]
    return plain_table(list(map(markdown, shown.headings)), lines, left)


def _writer(column: Column[T], markup: Markup[T]) -> Callable[[T], str]:
    if column.heading in markup:
        return markup[column.heading]
    if column.form == "cell":
        return column.text  # a number and our own marks: brackets alone are no link
    escape = code if column.form == "command" else markdown
    return lambda item: escape(column.text(item))


def code(command: str) -> str:
    """Return a command as it is, to be copied."""
    return f"<code>{markdown(command)}</code>"


def by_task(board: Board, name: Name = plain_name) -> list[str]:
    """Return a heading, the facts and a table for each task of a board."""
    parts = []
    for title in (*board.tasks, *board.other_tasks):
        shown = of_task(board, title).without("task", "median")
        if shown.items:
            parts.append(f"### {markdown(title)}")
            facts = board.facts_of(title)
            parts += [_facts(facts)] if facts else []
            parts.append(table(shown, {"model": lambda outcome: name(outcome.row)}))
    return parts


def ranked(board: Board, name: Name = plain_name) -> list[str]:
    """Return the ranking of a board, and its notes."""
    legend = (
        "Below a task: mean accuracy over the seeds, and the best seed's in parentheses. "
        "[n]: not learned within the budget; n is the validation accuracy on the training "
        "lengths, and the score counts the test accuracy all the same. "
        f"{SOME}: some seeds did not learn. {FAILED}: a run did not finish."
    )
    shown = ranking(board, best_seed=True).without("kind", "parameters", "IQM interval")
    tables = [table(part, {"model": name}) for part in _narrow(shown)]
    return [legend, *tables, *([bullets(board.notes)] if board.notes else [])]


def _narrow(shown: Table[T]) -> Iterator[Table[T]]:
    """Distribute tasks over tables that fit; rank and model begin each of them."""
    cells = [column for column in shown.columns if column.form == "cell"]
    fixed = [column for column in shown.columns if column.form != "cell"]
    again = [column for column in fixed if column.heading in ("rank", "model")]
    columns, first = fixed, True
    while cells or first:
        room = MOST_COLUMNS - len(columns)
        yield Table([*columns, *cells[:room]], shown.items)
        cells, columns, first = cells[room:], again, False


def exact_models(
    exact: ExactModels, name: Callable[[ExactModel], str] = lambda row: markdown(row.model)
) -> list[str]:
    """Return the heading and the table of exact models, and the notes; nothing of none."""
    if not exact.rows:
        return []
    parts = ["## Exact models", LEGEND, table(exact_table(exact), {"model": name})]
    return [*parts, *([bullets(exact.notes)] if exact.notes else [])]


def _exact_commands(exact: ExactModels) -> list[str]:
    if not exact.rows:
        return []
    commands = [
        [markdown(row.model), markdown(row.task), code(command)]
        for row in exact.rows
        for command in row.commands
    ]
    header = ("model", "task", "command")
    return ["Each is verified again by:", plain_table(header, commands, header)]


def _facts(facts: TaskFacts) -> str:
    window = facts.cells == 1 and facts.first < facts.last
    lengths = "test strings of any length" if window else plural(facts.cells, "test length")
    return (
        f"Metric: {markdown(facts.metric)}; {lengths} within "
        f"{facts.first}–{facts.last}, {grouped(facts.strings)} strings in all; "
        f"chance {percent(facts.chance_length)} (length only), "
        f"{percent(facts.chance_constant)} (constant)."
        + (f" Shortcut: {percent(facts.shortcut)}." if facts.shortcut is not None else "")
        + (f" Language class: {markdown(facts.language_class)}." if facts.language_class else "")
    )


_PUBLISHED_RULE = (
    "These rows are *published*: copied from papers, not measured here, under other protocols. "
    "They are never mixed with the measured ones. Each cell is maximum / mean over the seeds."
)


def published_numbers(tables: Sequence[PublishedTable]) -> list[str]:
    """Return the heading and the tables of papers; nothing of none."""
    if not tables:
        return []
    parts = ["## Published numbers", _PUBLISHED_RULE]
    for published in tables:
        parts += _published(published)
    return parts


def _published(paper: PublishedTable) -> list[str]:
    cited = f"{markdown(paper.citation)}. [arXiv:{paper.arxiv}]"
    return [
        f"### {markdown(paper.source)}",
        f"{cited}(https://arxiv.org/abs/{paper.arxiv})",
        table(published_table(paper), {"origin": lambda row: "*published*"}),
        bullets(paper.notes),
    ]
