"""The views of tasks and models as HTML, and the results that they share.

A result's cells are written once, as a row of one table. The tables of the views name the rows and
the cells that they show, and the script copies them (`script/views.js`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from formalbench.documents.text import MISSING, count, grouped, harmless, interval, percent, ranks
from formalbench.documents.text import rate as rate_text
from formalbench.statistics.board import DTYPES, Board, Page, Row
from formalbench.statistics.result import Result, SeedResult, TaskFacts
from markupsafe import Markup

from formalbench_leaderboard.board.summary import verdict_of
from formalbench_leaderboard.board.tables import TRAINING_COST, cell, training_seconds, validation
from formalbench_leaderboard.page.curves import Curves, cost_charts
from formalbench_leaderboard.page.descriptions import Definitions
from formalbench_leaderboard.page.html_tables import address, breakable, link
from formalbench_leaderboard.page.page_data import PageResult, colours, duration
from formalbench_leaderboard.templating import render

MOST_PLACES = 12
"""With more lengths or parts of a text, only the chart shows them."""


CELLS = (
    *("model", "task", "class", "learned", "checked", "validation", "steps", "validations"),
    *("budget", "reach", "seeds", "lengths", "mean", "interval", "scaled", "max", "median"),
    *("longest_99", "longest_90", "each", "rate", "time", "chip", "figure", "command"),
)
"""The kinds of cells that a result has, beside the metrics of plugins."""


NUMBERS = "validation mean interval scaled max median longest_99 longest_90 each rate time"
"""The cells of the tables with all numbers."""


HEADS = (
    *("validation", "mean", "<95 % interval", "scaled", "best", "median", "≥ 99 % to", "≥ 90 % to"),
    *("<each seed", "rate", "time a seed"),
)


@dataclass(frozen=True, slots=True)
class Badge:
    """A badge: its text, its SVG, and the name and the address of its file."""

    value: str
    drawing: Markup
    file: str

    @property
    def address(self) -> str:
        """The drawing as an address to download."""
        return f"data:image/svg+xml;charset=utf-8,{quote(self.drawing)}"

    @property
    def markdown(self) -> str:
        """The line that shows the downloaded file in Markdown."""
        alt = re.sub(r"([\[\]\\])", r"\\\1", f"formalbench: {self.value}")
        return f"![{alt}]({self.file})"


class Views:
    """Renders the views of a page."""

    def __init__(
        self, page: Page, known: Definitions, shown: Sequence[PageResult], seeds: bool
    ) -> None:
        self.page, self.known, self.shown, self.seed_curves = page, known, shown, seeds
        self.details = {name: known.details.get(name, {}) for name in _DETAILS}
        metrics = dict.fromkeys(name for one in shown for name in one.result.metrics)
        self.metric_names = {f"metric{at}": name for at, name in enumerate(metrics)}
        self.curves = Curves(page, shown)

    def html(self) -> str:
        """Return the results, the views, and the frames of the charts."""
        titles = dict.fromkeys([*self.known.tasks, *(one.result.task for one in self.shown)])
        models = dict.fromkeys([one.row.model for one in self.shown])
        models |= dict.fromkeys(row.model for row in self.page.exact.rows)
        return render(
            "views.html.j2",
            view=self,
            cells=[*CELLS, *self.metric_names],
            titles=titles,
            models=models,
            boards=self.page.boards,
            costs=[cost_charts(board) for board in self.page.boards],
            **_SHARED,
        )

    # Tasks

    def definition(self, title: str) -> list[tuple[str, object]]:
        """Return the terms of a task's definition with their values; those without one last."""
        task, facts = self.known.tasks[title], self.facts_of(title)
        binary = task.classes == 2
        accuracy = facts if facts and facts.measure.accuracy else None
        symbols = "  ".join(task.alphabet)
        pairs: list[tuple[str, object]] = [
            ("objective", task.objective),
            ("classes", "2 (1: in the language, 0: not)" if binary else task.classes),
            (
                "alphabet",
                symbols if len(task.alphabet) <= 24 else f"{len(task.alphabet)} symbols",
            ),
            ("training lengths", f"{task.train[0]}–{task.train[1]}"),
            ("test lengths", facts and f"{facts.first}–{facts.last}"),
            ("test strings", facts and f"{facts.strings:,}"),
            (
                "language class",
                self.details["classes"].get(title) or (facts and facts.language_class),
            ),
            (
                "best order-blind baseline",
                facts and facts.shortcut is not None and f"{percent(facts.shortcut)} %",
            ),
            ("chance, length only", accuracy and f"{percent(accuracy.chance_length)} %"),
            ("chance, constant", accuracy and f"{percent(accuracy.chance_constant)} %"),
            ("metric", facts and facts.metric),
            ("main metric", facts and not accuracy and facts.measure.title),
            ("members", task.members),
            ("source", task.reference),
        ]
        return [(term, value) for term, value in pairs if value]

    def facts_of(self, title: str) -> TaskFacts | None:
        """Return the facts of a task on the first board with its results."""
        return next((one.facts for one in self.shown if one.result.task == title), None)

    def is_text(self, title: str) -> bool:
        """Return whether a task is measured by something else than accuracy."""
        return any(one.text for one in self.shown if one.result.task == title)

    def on_task(self, title: str) -> list[tuple[Board, list[PageResult]]]:
        """Return the boards with results on a task, and these results, the best first."""

        def order(one: PageResult) -> float:
            if one.text and one.facts:
                return one.facts.measure.order(one.result.shown)
            return 1.0 if one.result.mean is None else -one.result.mean

        boards = []
        for number, board in enumerate(self.page.boards):
            part = [o for o in self.shown if o.result.task == title and o.place == number]
            if part:
                boards.append((board, sorted(part, key=order)))
        return boards

    def learned(self, found: Sequence[PageResult]) -> list[PageResult]:
        """Return the results of trained models, those that learned with most seeds first."""

        def order(one: PageResult) -> tuple[float, float]:
            return (-one.result.learned / one.result.seeds, _steps(one.result) or 0.0)

        by_row = sorted(found, key=lambda one: one.number)
        return sorted((one for one in by_row if one.row.kind == "learned"), key=order)

    def extrapolates(
        self, found: Sequence[PageResult]
    ) -> tuple[list[PageResult], list[PageResult], list[PageResult]]:
        """Return the results that reach beyond training, that were not learned, and the others."""
        by_row = sorted(found, key=lambda one: one.number)
        some = [one for one in by_row if one.facts and (one.curve or one.result.learned)]
        able = [one for one in some if one.curve and one.result.reaches]
        able.sort(key=lambda one: -(one.result.mean or 0.0))
        unlearned = [one for one in some if one.result.unlearned]
        return able, unlearned, [one for one in some if one not in able and one not in unlearned]

    def solved(self, found: Sequence[PageResult]) -> list[PageResult]:
        """Return the results with at least 99 % at every test length."""
        last = found[0].facts and found[0].facts.last_informative_length
        return [one for one in found if last is not None and one.result.longest_99 == last]

    def theory(self, title: str) -> list[dict[str, Any]]:
        """Return what theorems say of kinds of networks on a task."""
        return [
            {"verdict": verdict, **self.details["theorems"][name]}
            for name, verdict in self.details["theory"].get(title, ())
        ]

    def unmeasured(self, title: str) -> list[tuple[str, str, Any]]:
        """Return published numbers that have no number of ours beside them."""
        pairs = {tuple(line[:2]) for line in self.details["beside"].get(title, ())}
        return [
            (row.model, table.source, row.results[title])
            for table in self.page.published
            for row in table.rows
            if title in row.results and (table.source, row.model) not in pairs
        ]

    def places(self, found: Sequence[PageResult]) -> list[str]:
        """Return the lengths or parts of a text; none if there are many."""
        names = dict.fromkeys(name for one in found for name in dict(one.result.places))
        return list(names) if len(names) <= MOST_PLACES else []

    def metrics_of(self, found: Sequence[PageResult]) -> dict[str, str]:
        """Return the metrics of plugins that some results have, by the names of their cells."""
        names = {name for one in found for name in one.result.metrics}
        return {cell: name for cell, name in self.metric_names.items() if name in names}

    # Models

    def of_model(self, model: str) -> list[tuple[Board, Row, list[PageResult]]]:
        """Return the boards with a model, its row, and its results."""
        return [
            (board, row, [o for o in self.shown if o.place == place and o.row is row])
            for place, board in enumerate(self.page.boards)
            for row in board.rows
            if row.model == model
        ]

    def facts_about(self, board: Board, row: Row) -> list[tuple[str, object]]:
        """Return terms with their values for a row."""
        reason = (
            "no other model has a score" if row.score is not None else "not tested on every task"
        )
        rank = f"{ranks(row.rank_low, row.rank_high)} of {board.ranked}"
        score = f"{percent(row.score)} ({interval(row.low, row.high)})"
        seconds = training_seconds(row, board)
        pairs = [
            ("rank", f"none: {reason}" if row.rank is None else rank),
            ("score", row.score is not None and score),
            ("IQM", row.iqm is not None and percent(row.iqm)),
            ("kind", row.kind),
            ("parameters", count(*row.parameters)),
            (TRAINING_COST, seconds and f"{float(f'{seconds:.3g}'):,.6g}"),
        ]
        return [(term, value) for term, value in pairs if value]

    def options(self, board: Board, row: Row) -> list[tuple[str, str, str, str]]:
        """Return each option of a row's model: its value, the default, and what it means."""
        settings = self.details["settings"].get(board.name, {}).get(row.model, {})
        facts = self.details["options"].get(self.details["names"].get(row.model), {})
        return [
            (name, settings.get(f"option {name}", value), value, meaning)
            for name, (value, meaning) in facts.items()
        ]

    def reach(self, found: Sequence[PageResult]) -> list[PageResult]:
        """Return the results for the row of the map."""
        return [o for o in found if o.facts and (o.curve or (o.result.learned and not o.text))]

    def badge(self, board: Board, row: Row) -> Badge:
        """Return the badge of a row."""
        learned = sum(one.learned == one.seeds for one in row.results)
        value = f"{learned} of {len(row.results)} learned"
        if row.score is not None:
            value = f"{percent(row.score)} ({percent(row.low, 0)}–{percent(row.high, 0)})"
        name = re.sub(r"[^\w.-]+", "-", harmless(row.model), flags=re.ASCII)[:80].rstrip("-")
        sides = [(text, round(len(text) * _LETTER + 14)) for text in ("formalbench", value)]
        title = f"{row.model}, protocol {board.name}: {value}"
        drawing = render("badge.svg.j2", sides=sides, title=title).replace("\n", "")
        return Badge(value, Markup(drawing), f"formalbench-{name}.svg")  # noqa: S704 - our template

    # Cells

    def record(self, run: SeedResult) -> str | None:
        """Return the address of a run's record, if it is known."""
        href: str | None = self.details["records"].get(run.test_id)
        return href

    def each(self, one: PageResult) -> list[tuple[SeedResult, str]]:
        """Return each run of a result with its accuracy, or its status if it has none."""
        runs = one.result.runs
        status = [one.text or run.accuracy is None for run in runs]
        return [
            (r, r.status if s else percent(r.accuracy)) for r, s in zip(runs, status, strict=True)
        ]

    def steps(self, result: Result) -> list[tuple[SeedResult, str]]:
        """Return each run with its steps."""
        return [(run, grouped(run.steps)) for run in result.runs]

    def validations(self, result: Result) -> list[tuple[SeedResult, str]]:
        """Return each run with its validation accuracy, or its status if it is unknown."""
        return [
            (run, run.status if run.validation is None else percent(run.validation))
            for run in result.runs
        ]

    def hollow(self, result: Result) -> str | None:
        """Return which runs did not learn."""
        return " ".join(str(at) for at, run in enumerate(result.runs) if not run.learned) or None

    def number(self, one: PageResult) -> str:
        """Return the mean as a table shows it."""
        result = one.result
        if result.unlearned:
            return f"[{percent(result.validation)}]"
        return cell(result)


def _steps(result: Result) -> float | None:
    """Return the mean number of steps of the runs that learned."""
    steps = [run.steps for run in result.runs if run.learned]
    return sum(steps) / len(steps) if steps else None


def _seconds(result: Result) -> float | None:
    seconds = [run.seconds for run in result.runs if run.seconds is not None]
    return sum(seconds) / len(seconds) if seconds else None


_LETTER = 6.4
"""Width of a letter of a badge, in pixels, about."""


_DETAILS = (
    *("settings", "options", "names", "records", "verified", "classes", "theory", "theorems"),
    *("reproduced", "beside", "constructions"),
)


_SHARED: dict[str, Any] = {
    "link": link,
    "breakable": breakable,
    "address": address,
    "validation": validation,
    "duration": duration,
    "seconds": _seconds,
    "colours": colours,
    "rate": rate_text,
    "verdict": verdict_of,
    "cells_of_numbers": NUMBERS,
    "heads": list(HEADS),
    "dtypes": list(DTYPES),
    "missing": MISSING,
    "dict_of": dict,
}
"""What the templates use."""
