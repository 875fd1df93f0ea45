"""A page as Markdown that GitHub shows as it is meant, byte for byte reproducible.

The pages of the repository (`front`, `suite`, `model`) are made of the same parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from formalbench.analysis.markdown import bullets, table
from formalbench.analysis.results import Result, TaskFacts
from formalbench.analysis.statistics import DRAWS
from formalbench.analysis.text import (
    MISSING,
    PERPLEXITY_LEGEND,
    count,
    grouped,
    interval,
    markdown,
    percent,
    perplexity,
    plural,
    ranks,
    rate,
)
from formalbench.contracts.published import PublishedResult, PublishedTable

from formalbench_leaderboard.board import Board, Page, Row
from formalbench_leaderboard.constructions import ExactModel, ExactModels
from formalbench_leaderboard.renderers.exact import HEADER, LEFT, LEGEND, cells

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
- Neighbours **share a rank** where the interval of their difference contains 0; a row
  is **within** the ranks given in 95 % of the draws.
- **≥ 99 % to** (≥ 90 % to) is the longest test length up to which, at every test length, the mean
  accuracy over the seeds is at least that.
- **Nothing is selected on test data**: the learning rate and the checkpoint are chosen on
  in-distribution validation, and every seed counts. Learning rates are compared on the seeds
  that all of them have. RegularGPT's default norm was set otherwise: docs/method.md says how.
- **A run that did not finish** (diverged, out of memory, timed out) counts as chance level; the
  seeds column says so, and ⚠ marks its row.
- The **language class** is the smallest that theory puts the task's language in (docs/theory.md).
- A task without an objective is asked for one class per string (`classify`).
"""


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
        parts += [f"## Measured: protocol {markdown(board.name)}", *ranking(board)]
        parts += by_task(board)
    parts += exact_models(page.exact) + _exact_commands(page.exact)
    parts += published_numbers(page.published)
    if page.environments:
        parts += ["## Environments", bullets(page.environments)]
    return joined(parts)


def joined(parts: Iterable[str]) -> str:
    """Return a page made of its blocks."""
    return "\n\n".join(parts) + "\n"


def by_task(board: Board, name: Name = plain_name) -> list[str]:
    """Return a heading, the facts and a table for each task of a board."""
    parts = []
    for title in (*board.tasks, *board.other_tasks):
        rows = [(row, result) for row in board.rows if (result := row.on(title)) is not None]
        if rows:
            parts.append(f"### {markdown(title)}")
            facts = board.facts_of(title)
            parts += [_facts(facts)] if facts else []
            if title in board.language_models:
                parts += [PERPLEXITY_LEGEND, _perplexity_table(board, title, name)]
            else:
                parts.append(_task_table(rows, name))
    return parts


def ranking(board: Board, name: Name = plain_name) -> list[str]:
    """Return the ranking of a board, and its notes."""
    header = ["rank", "within", "model", "parameters", "score", "interval", "IQM"]
    tasks = [title for title in board.tasks if title not in board.language_models]
    header += map(markdown, tasks)
    rows = [
        [
            str(row.rank or MISSING),
            ranks(row.rank_low, row.rank_high),
            name(row),
            count(*row.parameters),
            percent(row.score),
            interval(row.low, row.high),
            percent(row.iqm),
            *(_mean_and_max(row.on(title)) for title in tasks),
        ]
        for row in board.rows
    ]
    legend = (
        "Below a task: mean accuracy over the seeds, and the best seed's in parentheses. "
        "⚠: a run did not finish."
    )
    notes = [bullets(board.notes)] if board.notes else []
    return [legend, table(header, rows, ["model"]), *notes]


def exact_models(
    exact: ExactModels, name: Callable[[ExactModel], str] = lambda row: markdown(row.model)
) -> list[str]:
    """Return the heading and the table of exact models, and the notes; nothing of none."""
    if not exact.rows:
        return []
    rows = [[name(row), *map(markdown, cells(row)[1:])] for row in exact.rows]
    parts = ["## Exact models", LEGEND, table(HEADER, rows, LEFT)]
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
    return ["Each is verified again by:", table(header, commands, header)]


def code(command: str) -> str:
    """Return a command as it is, to be copied."""
    return f"<code>{markdown(command)}</code>"


def _mean_and_max(result: Result | None) -> str:
    if result is None:
        return MISSING
    failed = " ⚠" if result.finished < result.seeds else ""
    return f"{percent(result.mean)} ({percent(result.max)}){failed}"


def _facts(facts: TaskFacts) -> str:
    window = facts.cells == 1 and facts.first < facts.last
    lengths = "test strings of any length" if window else plural(facts.cells, "test length")
    return (
        f"Metric: {markdown(facts.metric)}; {lengths} within "
        f"{facts.first}–{facts.last}, {grouped(facts.strings)} strings in all; "
        f"chance {percent(facts.chance_length)} (length only), "
        f"{percent(facts.chance_constant)} (constant)."
        + (f" Language class: {markdown(facts.language_class)}." if facts.language_class else "")
    )


def _perplexity_table(board: Board, title: str, name: Name) -> str:
    lengths, found = board.by_perplexity(title)
    rows = [
        [
            name(row),
            *(perplexity(dict(result.perplexities).get(length)) for length in lengths),
            markdown(result.outcome),
            rate(result.learning_rate),
            code(result.command),
        ]
        for row, result in found
    ]
    return table(["model", *map(str, lengths), "seeds", "rate", "command"], rows, ["model"])


def _task_table(rows: Sequence[tuple[Row, Result]], name: Name) -> str:
    header = [
        *("model", "mean", "interval", "median", "scaled"),
        *("max", "Wilson interval of max", "≥ 99 % to", "≥ 90 % to"),
        *("seeds", "rate", "command"),
    ]
    best_first = sorted(rows, key=lambda pair: (-_order(pair[1].mean), pair[0].model))
    cells = [
        [
            name(row),
            percent(result.mean),
            interval(result.low, result.high),
            percent(result.median),
            percent(result.scaled),
            percent(result.max),
            interval(result.max_low, result.max_high),
            str(result.longest_99 or MISSING),
            str(result.longest_90 or MISSING),
            markdown(result.outcome),
            rate(result.learning_rate),
            code(result.command),
        ]
        for row, result in best_first
    ]
    return table(header, cells, ["model", "command"])


def _order(mean: float | None) -> float:
    return -1.0 if mean is None else round(mean, 12)


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


def _published(published: PublishedTable) -> list[str]:
    tasks = published.tasks
    rows = [
        [markdown(row.model), "*published*", *(_max_and_mean(row.results.get(t)) for t in tasks)]
        for row in published.rows
    ]
    cited = f"{markdown(published.citation)}. [arXiv:{published.arxiv}]"
    return [
        f"### {markdown(published.source)}",
        f"{cited}(https://arxiv.org/abs/{published.arxiv})",
        table(["model", "origin", *map(markdown, tasks)], rows, ["model", "origin"]),
        bullets(published.notes),
    ]


def _max_and_mean(result: PublishedResult | None) -> str:
    if result is None:
        return MISSING
    shown = (MISSING if value is None else f"{value:.1f}" for value in (result.max, result.mean))
    return " / ".join(shown)
