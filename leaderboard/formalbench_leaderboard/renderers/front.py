"""The front page of the repository's leaderboard."""

from __future__ import annotations

from formalbench.analysis.markdown import bullets, table
from formalbench.analysis.text import count, markdown, plural

from formalbench_leaderboard.renderers.links import FRONT, link
from formalbench_leaderboard.renderers.markdown import (
    HOW_TO_READ,
    exact_models,
    joined,
    published_numbers,
    ranked,
)
from formalbench_leaderboard.renderers.site import Site, SuitePage
from formalbench_leaderboard.renderers.suite import figures

_INTRODUCTION = """\
# formalbench leaderboard

Which formal languages can a sequence model express, learn, and extrapolate on? Everything here is
rendered from the records in [results](results): each number carries its seeds, its interval, its
chance level and the command that repeats it. Scores are scaled so that 0 is chance and 100 is
perfect, and a rank is one more than the number of models that are separably better
([how to read it](#how-to-read-it)). A model's name leads to its own page: every result, every
record."""


def render(site: Site) -> str:
    """Return the front page: the first suite's rankings, and the way to everything else."""
    parts = [_INTRODUCTION, _ways(site)]
    if not site.suites:
        parts.append("No measured rows yet.")
    for suite in site.suites[:1]:
        parts += _rankings(site, suite)
    parts += _suites(site) + _models(site)
    parts += exact_models(
        site.everything.exact, lambda row: site.links.model(row.key, row.model, FRONT)
    )
    parts += published_numbers(site.everything.published) + _reproductions(site)
    parts.append(HOW_TO_READ.rstrip())
    if site.everything.environments:
        parts += ["## Environments", bullets(site.everything.environments)]
    return joined(parts)


def _ways(site: Site) -> str:
    there = {
        "Suites": site.suites,
        "Models": site.models,
        "Exact models": site.everything.exact.rows,
        "Published numbers": site.everything.published,
        "Reproductions": site.reproductions,
    }
    names = [*(name for name, items in there.items() if items), "How to read it"]
    return " · ".join(f"[{name}](#{name.lower().replace(' ', '-')})" for name in names)


def _rankings(site: Site, suite: SuitePage) -> list[str]:
    parts = []
    for board in suite.ranked:
        parts.append(f"## Suite {markdown(suite.name)}, protocol {markdown(board.name)}")
        parts += ranked(board, lambda row: site.links.model(row.key, row.model, FRONT))
        parts += figures(suite, board, FRONT)
    return [*parts, f"Task by task, with intervals: {link(suite.name, suite.path, FRONT)}."]


def _suites(site: Site) -> list[str]:
    if not site.suites:
        return []
    header = ["suite", "what it is", "tasks", "models with a score", "protocols"]
    rows = []
    for suite in site.suites:
        ranked = {row.key for board in suite.board.boards for row in board.rows if row.rank}
        tasks = {
            task for board in suite.board.boards for task in (*board.tasks, *board.other_tasks)
        }
        rows.append(
            [
                link(suite.name, suite.path, FRONT),
                markdown(suite.summary),
                str(len(tasks)),
                str(len(ranked)),
                ", ".join(markdown(board.protocol) for board in suite.board.boards),
            ]
        )
    return ["## Suites", table(header, rows, ["suite", "what it is", "protocols"])]


def _models(site: Site) -> list[str]:
    if not site.models:
        return []
    rows = []
    for model in site.models:
        measured = [row for _, row in site.rows_of(model.key)]
        verified = site.verified(model.key)
        sizes = [size for row in measured for size in row.parameters]
        sizes += [row.parameters for row in verified]
        tasks = {result.task for row in measured for result in row.results}
        tasks |= {row.task for row in verified}
        rows.append(
            [
                link(model.title, model.path, FRONT),
                markdown(model.summary),
                count(min(sizes), max(sizes)),
                plural(len(tasks), "task"),
            ]
        )
    header = ["model", "what it is", "parameters", "on"]
    return ["## Models", table(header, rows, header[:2])]


def _reproductions(site: Site) -> list[str]:
    if not site.reproductions:
        return []
    lines = [f"- {link(title, page, FRONT)}" for title, page in site.reproductions]
    return ["## Reproductions", "Does a published result hold?", "\n".join(lines)]
