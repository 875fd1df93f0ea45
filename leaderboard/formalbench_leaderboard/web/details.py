"""What the views of a task, a model and a comparison tell besides the board, as plain data."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from formalbench.analysis.beside import Premises, beside
from formalbench.analysis.board import Page
from formalbench.analysis.configured import settings_of
from formalbench.analysis.constructions import ExactModel
from formalbench.analysis.reproduced import Document, read_document
from formalbench.analysis.seeds import spread
from formalbench.analysis.verdict import verdict_of_verified
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.specs import show_value
from formalbench.contracts.theory import WITHIN_REGULAR, Theory
from formalbench.contracts.verification import AnyRecord
from formalbench.host.options import option_facts
from formalbench.host.values import OptionFacts
from formalbench.store import Store, default_results
from formalbench.store.repository import REPRODUCTIONS, repository_above

from formalbench_leaderboard.evidence import premises
from formalbench_leaderboard.publishing.places import published_path
from formalbench_leaderboard.theory import theory_here

if TYPE_CHECKING:
    from formalbench.host import PluginHost

Details = dict[str, Any]

MOST_SEEDS = 200
"""So far the script is told by what factor seeds are spread; for more it hardly matters."""

MOST_LINKED = 5000
"""Of more records than that no addresses are told: they would be half of the page."""


def details(
    page: Page,
    host: PluginHost,
    records: Sequence[AnyRecord],
    folders: Iterable[Path] = (),
    output: Path | None = None,
) -> Details:
    """Return what the scripts of these views draw from.

    Args:
        page: what is shown.
        host: the plugins.
        records: of runs and verifications, among them all that the page shows.
        folders: where records were read from.
        output: the folder of the page, from which links to records lead.
    """
    runs = {one.test_id: one for one in records if isinstance(one, Record)}
    titles = {title for board in page.boards for title in (*board.tasks, *board.other_tasks)}
    titles |= {row.task for row in page.exact.rows}
    theories = {title: theory_here(host, title) for title in sorted(titles)}
    known = {title: theory for title, theory in theories.items() if theory is not None}
    options = cache(partial(_options, host))
    return {
        "spread": [spread(float(seeds)) for seeds in range(1, MOST_SEEDS + 1)],
        "settings": _settings(page, runs, options),
        "options": {name: options(name) for name in sorted({r.model.name for r in runs.values()})},
        "names": _names(page, runs),
        "records": _links(page, host, runs, [*folders, default_results()], output),
        "constructions": [_construction(row) for row in page.exact.rows],
        "verified": _verified(page.exact.rows),
        "classes": {title: _classes(theory) for title, theory in known.items()},
        **_theorems(known),
        "reproduced": _reproduced(sorted(titles)),
        "beside": _beside(page, premises(runs.values(), host)),
    }


def _runs_of(page: Page, runs: Mapping[str, Record]) -> Iterable[tuple[str, str, list[Record]]]:
    """Yield of each row its board's name, its own, and the records that it is made of."""
    for board in page.boards:
        for row in board.rows:
            ids = [run.test_id for result in row.results for run in result.runs]
            yield board.name, row.model, [runs[one] for one in ids if one in runs]


def _settings(
    page: Page, runs: Mapping[str, Record], options: Callable[[str], dict[str, Any]]
) -> dict[str, dict[str, dict[str, str]]]:
    def defaults(name: str) -> dict[str, Any]:
        return {key: default for key, (default, _) in options(name).items()}

    found: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for board, model, records in _runs_of(page, runs):
        if records:
            found[board][model] = settings_of(records, defaults)
    return dict(found)


def _names(page: Page, runs: Mapping[str, Record]) -> dict[str, str]:
    """Return of each row the name of its model, without options."""
    return {model: records[0].model.name for _, model, records in _runs_of(page, runs) if records}


def _options(host: PluginHost, name: str) -> dict[str, tuple[Any, str]]:
    """Return the options of a model, each with its default and what it is."""
    try:
        facts: dict[str, OptionFacts] = option_facts(host.models.get(name)[0].spec)
    except FormalbenchError:  # not at hand here, or broken
        return {}
    return {key: (show_value(fact["default"]), fact["help"]) for key, fact in facts.items()}


def _links(
    page: Page,
    host: PluginHost,
    runs: Mapping[str, Record],
    folders: Sequence[Path],
    output: Path | None,
) -> dict[str, str]:
    """Return the address of each record that is shown and lies where it belongs."""
    shown = {one for *_, part in _runs_of(page, runs) for record in part if (one := record.test_id)}
    if len(shown) > MOST_LINKED or output is None:
        return {}
    root = repository_above(Path.cwd())
    found = {}
    for identity in sorted(shown):
        record = runs[identity]
        places = [Store(folder).path_of(record) for folder in folders]
        if root is not None:
            places.insert(0, root / published_path(record, host))
        file = next((place for place in places if place.is_file()), None)
        if file is not None:
            found[identity] = _address(file.resolve(), root, output.resolve())
    return found


def _address(file: Path, root: Path | None, output: Path) -> str:
    """Return where a page finds a file: in the repository on the web, if its address is known."""
    name, commit = os.environ.get("GITHUB_REPOSITORY"), os.environ.get("GITHUB_SHA")
    server = os.environ.get("GITHUB_SERVER_URL", "")
    if name and commit and root is not None and file.is_relative_to(root.resolve()):
        inside = file.relative_to(root.resolve()).as_posix()
        return f"{server}/{name}/blob/{commit}/{quote(inside, safe='/=+')}"
    return quote(Path(os.path.relpath(file, output)).as_posix(), safe="/=+")


def _construction(row: ExactModel) -> dict[str, Any]:
    named = ("model", "task", "exhaustive", "tested_to", "strings", "errors", "margin")
    return {
        **{name: getattr(row, name) for name in named},
        "breaks": row.break_length or {},
        "size": [row.depth, row.width, row.parameters],
        "commands": row.commands,
    }


def _verified(rows: Sequence[ExactModel]) -> dict[str, str]:
    """Return what verifications say of each exact model in sentences."""
    by_model: dict[str, list[ExactModel]] = defaultdict(list)
    for row in rows:
        by_model[row.model].append(row)
    return {model: verdict_of_verified(found) for model, found in by_model.items()}


def _classes(theory: Theory) -> str:
    """Return what theory says of a language, the smallest class first."""
    parts = [theory.label]
    if theory.level == "regular":
        for answer, word in ((False, "not"), (None, "unknown whether")):
            names = [name for name in WITHIN_REGULAR if theory.within(name) is answer]
            parts += [f"{word} {', '.join(names)}"] if names else []
    return "; ".join(parts) + (f" ({theory.note})" if theory.note else "")


def _theorems(theories: Mapping[str, Theory]) -> dict[str, Any]:
    """Return which theorems decide each language, and what these are."""
    from formalbench.theory.theorems import theorem_facts, verdicts

    said = {title: verdicts(theory) for title, theory in theories.items()}
    told = {one.name: theorem_facts(one) for found in said.values() for one, _ in found}
    return {
        "theory": {
            title: [[theorem.name, verdict] for theorem, verdict in found]
            for title, found in said.items()
        },
        "theorems": told,
    }


def _beside(page: Page, known: Premises) -> dict[str, list[list[Any]]]:
    """Return of each task the published numbers that results stand beside, and what differs."""
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for one in beside(page, known):
        numbers = [one.published.max, one.published.mean, one.max, one.mean, one.difference]
        names = [one.paper.source, one.theirs.model, one.row.model, one.board.name]
        found[one.result.task].append([*names, *numbers, "; ".join(one.differs)])
    return dict(found)


def _reproduced(titles: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return of each task what reproductions found on it, if the user is in the repository."""
    root = repository_above(Path.cwd())
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((root / REPRODUCTIONS).glob("*.json")) if root is not None else ():
        try:
            document = read_document(file)
        except RequestError:  # `check` says what is wrong with it
            continue
        for title in titles:
            if told := _told_on(document, title):
                found.setdefault(title, []).append(told)
    return found


def _told_on(document: Document, title: str) -> dict[str, Any] | None:
    """Return what a reproduction found on a task: the cells that have its name at their side."""
    cells = [
        ([side for side in (cell.row, cell.column) if not _names_task(side, title)], cell)
        for cell in document.cells
        if _names_task(cell.row, title) or _names_task(cell.column, title)
    ]
    if not cells:
        return None
    return {
        "name": document.reproduction,
        "title": document.title,
        "source": document.source,
        "command": document.command,
        "verdicts": Counter(cell.verdict for _, cell in cells),
        "cells": [[", ".join(at), cell.paper, cell.ours, cell.verdict] for at, cell in cells],
    }


def _names_task(side: str, title: str) -> bool:
    return side == title or side.startswith(f"{title}, ")
