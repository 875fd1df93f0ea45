"""The page of a model: where it stands, every result, every seed's record, every command."""

from __future__ import annotations

from formalbench.analysis.markdown import table
from formalbench.analysis.results import Result, SeedResult
from formalbench.analysis.text import (
    MISSING,
    count,
    interval,
    markdown,
    percent,
    ranks,
    rate,
)

from formalbench_leaderboard.board import Board, Row
from formalbench_leaderboard.renderers.exact import HEADER, LEFT, LEGEND, cells
from formalbench_leaderboard.renderers.links import FRONT, link, relative
from formalbench_leaderboard.renderers.markdown import code, joined
from formalbench_leaderboard.renderers.site import ModelPage, Site, rows_of


def render(model: ModelPage, site: Site) -> str:
    """Return the page of a model."""
    front = relative(FRONT, model.path)
    about = f"{model.summary} (from {model.key[1]})" if model.summary else f"from {model.key[1]}"
    parts = [f"# {markdown(model.title)}", f"{markdown(about)} · [Leaderboard]({front}#models)"]
    parts += _places(model, site)
    for board, row in site.rows_of(model.key):
        parts += _measured(model, site, board, row)
    return joined(parts + _verified(model, site))


def _places(model: ModelPage, site: Site) -> list[str]:
    header = ["suite", "protocol", "rank", "within", "score", "interval", "IQM", "IQM interval"]
    lines = [
        [
            link(suite.name, suite.path, model.path),
            markdown(board.name),
            f"{row.rank} of {sum(other.rank is not None for other in board.rows)}",
            ranks(row.rank_low, row.rank_high),
            percent(row.score),
            interval(row.low, row.high),
            percent(row.iqm),
            interval(row.iqm_low, row.iqm_high),
        ]
        for suite in site.suites
        for board, row in rows_of(suite.board, model.key)
        if row.rank is not None
    ]
    return ["## Where it stands", table(header, lines, header[:2])] if lines else []


def _measured(model: ModelPage, site: Site, board: Board, row: Row) -> list[str]:
    header = ["task", "mean", "interval", "median", "scaled", "≥ 99 % to", "≥ 90 % to", "rate"]
    lines = [
        [
            markdown(result.task),
            percent(result.mean),
            interval(result.low, result.high),
            percent(result.median),
            percent(result.scaled),
            str(result.longest_99 or MISSING),
            str(result.longest_90 or MISSING),
            rate(result.learning_rate),
            " ".join(_seed(model, site, run) for run in result.runs),
        ]
        for result in row.results
    ]
    commands = [[markdown(result.task), code(result.command)] for result in row.results]
    return [
        f"## Protocol {markdown(board.name)}",
        f"{count(*row.parameters)} parameters. The last column leads to the record of each seed.",
        table([*header, "seeds"], lines, ["task", "seeds"]),
        *_failed(row.results),
        "Each row again:",
        table(["task", "command"], commands, ["task", "command"]),
    ]


def _seed(model: ModelPage, site: Site, run: SeedResult) -> str:
    shown = run.status if run.accuracy is None else percent(run.accuracy)
    return site.links.record(run.test_id, shown, model.path)


def _failed(results: tuple[Result, ...]) -> list[str]:
    lines = [
        f"- {markdown(result.task)}: {markdown(result.outcome)}; what did not finish counts as "
        "chance level."
        for result in results
        if result.finished < result.seeds
    ]
    return ["\n".join(lines)] if lines else []


def _verified(model: ModelPage, site: Site) -> list[str]:
    rows = site.verified(model.key)
    if not rows:
        return []
    lines = [
        [
            *map(markdown, cells(row)[1:]),
            " ".join(
                site.links.record(identity, str(number), model.path)
                for number, identity in enumerate(row.records, start=1)
            ),
        ]
        for row in rows
    ]
    commands = [[markdown(row.task), code(line)] for row in rows for line in row.commands]
    left = [*LEFT, "records"]
    return [
        "## Verified",
        f"{count(*_sizes([row.parameters for row in rows]))} parameters. {LEGEND}",
        table([*HEADER[1:], "records"], lines, left),
        "Each row again:",
        table(["task", "command"], commands, ["task", "command"]),
    ]


def _sizes(parameters: list[int]) -> tuple[int, int]:
    return min(parameters), max(parameters)
