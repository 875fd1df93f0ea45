"""A page of the board as JSON, CSV, LaTeX or Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from formalbench.contracts.verification import dtype_title
from formalbench.documents.markup import Markdown
from formalbench.documents.table import CAPPED, DOUBTFUL, FAILED, SOME, Column, Datum, Sheet
from formalbench.documents.templates import Latex
from formalbench.documents.text import harmless, latex, plural, spreadsheet
from formalbench.statistics.board import (
    DTYPES,
    SHOWN_LENGTHS,
    Board,
    ExactModel,
    ExactModels,
    Page,
    Row,
)
from formalbench.statistics.build import LACKS
from formalbench.statistics.intervals import DRAWS, wilson_each
from tabulate import tabulate

from formalbench_leaderboard import templating
from formalbench_leaderboard.board.missing_runs import MISSING_RUNS
from formalbench_leaderboard.board.paper_comparison import published_data, published_table
from formalbench_leaderboard.board.tables import (
    EXACT,
    LEGEND,
    OUTCOME,
    STANDING,
    Outcome,
    by_place,
    exact_table,
    of_row,
    of_task,
    plugin_metrics,
    ranking,
    standing,
)
from formalbench_leaderboard.renderers.links import Links

# Inside JSON these occur only in strings; escaped, they are harmless in a web page.
_FOR_WEB_PAGES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


# An array of numbers over several lines. No string matches, because strings have no line breaks.
_NUMBERS = re.compile(r"\[\n([-+.\deE,\s]+)\]")


def render_json(page: Page) -> str:
    """Return the page as JSON; shares are fractions of one, rounded to six digits."""
    data = {
        "schema_version": 1,
        "title": page.title,
        "measured": [_rounded(_board_data(board)) for board in page.boards],
        "exact": _exact_data(page.exact),
        "published": [table.model_dump(mode="json") for table in page.published],
        "environments": list(page.environments),
    }
    text = json.dumps(data, ensure_ascii=True, indent=2, allow_nan=False)
    text = _NUMBERS.sub(lambda match: f"[{' '.join(match[1].split())}]", text)
    return text.translate(_FOR_WEB_PAGES) + "\n"


def _board_data(board: Board) -> dict[str, Any]:
    """Return a board, with the Wilson interval of every run at every length."""
    data = asdict(board)
    runs = [run for row in data["rows"] for result in row["results"] for run in result["runs"]]
    for run in runs:
        if metrics := dict(run.pop("metrics")):
            run["metrics"] = metrics
    for cells in (run["cells"] for run in runs if run["cells"] is not None):
        low, high = wilson_each(cells["correct"], cells["strings"])
        cells.update(wilson_low=low.tolist(), wilson_high=high.tolist())
    return data


def _exact_data(exact: ExactModels) -> dict[str, Any]:
    # Not rounded: a margin can be as small as 10^-10.
    rows = [
        {**asdict(row), "bits": dict(zip(map(str, SHOWN_LENGTHS), row.bits, strict=True))}
        for row in exact.rows
    ]
    return {"rows": rows, "notes": list(exact.notes)}


def _rounded(value: Any, key: str = "") -> Any:
    # A learning rate is an input, not a result: it is not rounded.
    if isinstance(value, float) and key != "learning_rate":
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {name: _rounded(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value


_Line = dict[str, Datum]


def render_csv(page: Page) -> str:
    """Return the page as CSV; shares are fractions of one."""
    lines = [line for board in page.boards for line in _board_lines(board)]
    lines += [{"origin": "verified", **line} for line in exact_table(page.exact).data()]
    for table in page.published:
        origin = f"published: {table.source}"
        lines += [{"origin": origin, **line} for line in published_data(table)]
    names = (name for line in lines for name in line)  # metrics of plugins
    return as_csv(lines, list(dict.fromkeys([*_header(), *names])))


def as_csv(lines: Iterable[_Line], names: Sequence[str]) -> str:
    """Return lines as CSV with these columns; cells that look like formulas are escaped."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        plain = {key: spreadsheet(v) if isinstance(v, str) else v for key, v in line.items()}
        writer.writerow(plain)
    return text.getvalue()


def _header() -> list[str]:
    columns: Sequence[Column[object]] = [*STANDING, *OUTCOME, *EXACT]  # type: ignore[list-item]
    names = (name for column in columns for name in column.data)
    return list(dict.fromkeys(["origin", "protocol", "version", *names]))


def _board_lines(board: Board) -> Iterator[_Line]:
    board_line: _Line = {"origin": "measured", "protocol": board.protocol, "version": board.version}
    for row, place in zip(board.rows, standing(board).data(), strict=True):
        for outcome in of_row(board, row).data():
            yield {**board_line, **place, **outcome}


T = TypeVar("T")


_MARKS = {
    SOME: r"$^{\circ}$",
    CAPPED: r"$^{\ddagger}$",
    DOUBTFUL: r"$^{\sim}$",
    FAILED: r"$^{\dagger}$",
}


_COMPARED = ("score",)


def render_latex(page: Page) -> str:
    """Return one table per protocol, then exact models, then one per published source."""
    return templating.render(
        "page.tex.j2",
        page=page,
        LEGEND=LEGEND,
        ranking=_latex_ranking,
        of_task=_latex_of_task,
        exact_table=exact_table,
        published_table=published_table,
        below=_below,
        tabular=_tabular,
        comment=lambda line: Latex(harmless(line)),
    )


def _latex_ranking(board: Board) -> Sheet[Row]:
    return ranking(board).without("kind", "profile", "horizon", "IQM", "IQM interval")


def _latex_of_task(board: Board, title: str) -> Sheet[Outcome]:
    if title in board.otherwise:
        return by_place(board, title).without("rate", "command")
    sheet = of_task(board, title)
    metrics = plugin_metrics(sheet.items)
    names = ("model", "validation", "mean", "interval", "scaled", *metrics, "≥ 99 % to", "seeds")
    return sheet.only(*names)


def _below(table: Sheet[T]) -> Iterator[str]:
    for name, texts in table.below.items():
        pairs = zip(table.headings, texts, strict=True)
        yield f"{name}: {', '.join(f'{heading} {text}' for heading, text in pairs if text)}."


def _tabular(table: Sheet[T]) -> Latex:
    columns = [_column(column, table.items) for column in table.columns]
    rows = [[_protect(first), *rest] for first, *rest in zip(*columns, strict=True)]
    text = tabulate(
        rows,
        list(map(latex, table.headings)),
        tablefmt="latex_raw",
        disable_numparse=True,
        colalign=["left" if column.left else "right" for column in table.columns],
    )
    for rule in ("toprule", "midrule", "bottomrule"):
        text = text.replace(r"\hline", rf"\{rule}", 1)
    return Latex(text)


def _column(column: Column[T], items: Sequence[T]) -> list[str]:
    """Return the cells of a column; in columns that are compared, the best ones are bold."""
    texts = [column.text(item) for item in items]
    if column.form != "cell" and column.heading not in _COMPARED:
        return list(map(latex, texts))
    orders = [column.order(item) for item in items]
    pairs = [(order, text) for order, text in zip(orders, texts, strict=True) if order is not None]
    pick = min if column.less else max
    best = _split_marks(pick(pairs)[1])[0] if pairs else ""
    return [_mark_best(text, best) for text in texts]


def _mark_best(text: str, best: str) -> str:
    number, marks = _split_marks(text)
    bold = number == best and number[:1].isdigit()
    return (rf"\textbf{{{latex(number)}}}" if bold else latex(number)) + marks


def _split_marks(text: str) -> tuple[str, str]:
    """Return the number in a cell, and LaTeX for the marks after it."""
    number = text.rstrip(f"{SOME}{CAPPED}{DOUBTFUL}{FAILED} ")
    return number, "".join(_MARKS.get(sign, "") for sign in text[len(number) :])


def _protect(cell: str) -> str:
    """Protect a first cell that LaTeX would read as an option of the preceding line break."""
    return f"{{}}{cell}" if cell.startswith(("[", "*")) else cell


def render_markdown(page: Page) -> str:
    """Return the page as Markdown."""
    return made("page.md.j2", Links(), brief=False, complete=False, page=page)


def made(template: str, links: Links, **fields: Any) -> str:
    """Return a page from a template, with the functions that all pages share."""
    return templating.render(template, links=links, **_PARTS, **fields)


def exact_tables(exact: ExactModels) -> list[Sheet[ExactModel]]:
    """Return the table of exact models in three parts: correctness, margins, precisions."""
    table = exact_table(exact)
    precisions = list(map(dtype_title, DTYPES))
    bits = [heading for heading in table.headings if heading.startswith("bits")]
    others = (table.only("model", "task", *part) for part in (bits, precisions))
    return [table.without(*bits, *precisions), *others]


def verified_by(rows: Sequence[ExactModel]) -> Sheet[tuple[ExactModel, str]]:
    """Return the commands that repeat the verifications of exact models, one in each row."""
    return Sheet(
        [
            Column("model", "with the options set", lambda pair: pair[0].model, form="name"),
            Column("task", "the task and its objective", lambda pair: pair[0].task, form="words"),
            Column("command", "what repeats it", lambda pair: pair[1], form="command"),
        ],
        [(row, command) for row in rows for command in row.commands],
    )


def _ranking(board: Board, *, brief: bool, complete: bool) -> Sheet[Row]:
    """Return the ranking.

    Args:
        board: the board.
        brief: whether to have only the columns that fit on a page beside six tasks.
        complete: whether to have only rows with a score, if there is one.
    """
    left_out = ("IQM",) if brief else ()
    sheet = ranking(board, best_seed=True).without("kind", "parameters", "IQM interval", *left_out)
    scored = [row for row in sheet.items if row.score is not None]
    return Sheet(sheet.columns, scored if complete and scored else sheet.items)


def _notes(board: Board, *, complete: bool) -> list[str]:
    """Return the notes; if complete, without those on missing tasks, as a page lists them."""
    return [note for note in board.notes if not complete or LACKS not in note]


def _of_task(board: Board, title: str) -> Sheet[Outcome]:
    if title in board.otherwise:
        return by_place(board, title)
    return of_task(board, title).without("task", "measure", "median")


def _seeds(board: Board) -> str:
    """Return how many seeds the results of a board have."""
    counts = [result.seeds for row in board.rows for result in row.results] or [0]
    least = f"{min(counts)} to " if min(counts) < max(counts) else ""
    return f"{least}{plural(max(counts), 'seed')}"


_PARTS = {
    "seeds": _seeds,
    "FAILED": FAILED,
    "SOME": SOME,
    "CAPPED": CAPPED,
    "DOUBTFUL": DOUBTFUL,
    "LEGEND": Markdown(LEGEND),
    "missing_explained": [f"{column.heading}: {column.meaning}" for column in MISSING_RUNS],
    "draws": DRAWS,
    "ranking": _ranking,
    "notes_on": _notes,
    "of_task": _of_task,
    "exact_tables": exact_tables,
    "verified_by": verified_by,
    "published_table": published_table,
    "marked": lambda row: Markdown("*published*"),
}


HOW_TO_READ = made("reading.md.j2", Links())
