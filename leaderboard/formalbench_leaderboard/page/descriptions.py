"""The page's descriptions of tasks, models and options, and citations."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from formalbench import __version__
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.paper_tables import PublishedTable
from formalbench.contracts.record import Record, TaskUsed
from formalbench.contracts.specs import display, show_value
from formalbench.contracts.theory import Theory
from formalbench.contracts.verification import AnyRecord
from formalbench.documents.reproduction import Document, read_document
from formalbench.documents.text import harmless
from formalbench.statistics.board import ExactModel, Page
from formalbench.statistics.records import title_of
from formalbench.store import REPRODUCTIONS, Store, default_results, repository_above
from formalbench.theory.lookup import theory_for_theorems

from formalbench_leaderboard.board.comparison import settings_of
from formalbench_leaderboard.board.paper_comparison import Premises, paper_comparisons
from formalbench_leaderboard.board.plugin_info import options_here
from formalbench_leaderboard.board.summary import verdict_of_verified
from formalbench_leaderboard.board.views import theory_here
from formalbench_leaderboard.page.automaton import DrawnAutomaton, drawing
from formalbench_leaderboard.publishing.places import published_path
from formalbench_leaderboard.renderers.evidence_pages import premises

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host import PluginHost


TITLE = "formalbench: which formal languages a sequence model can express, learn and extrapolate on"


YEAR = 2026


_CITATION = re.compile(r"(?P<authors>.+?) \((?P<year>\d{4})\), (?P<rest>.+)")


_PLACE = re.compile(r"(Table|Figure|section|§).*")


_UNSAFE = str.maketrans(dict.fromkeys('{}\\@%"#$', ""))


def bibtex(suite: str, version: int, reference: str, tables: Iterable[PublishedTable]) -> str:
    """Return the citations for a paper that uses a suite.

    Args:
        suite: the suite's name.
        version: the suite's version.
        reference: the source of its list of tasks; may be empty.
        tables: the papers whose numbers are shown; for two tables of one paper, the first is used.
    """
    note = f"Suite {_plain(suite)}, version {version}"
    note += f"; its tasks are those of {_plain(reference)}" if reference else ""
    software = _entry(
        "software",
        "formalbench",
        title=f"{{{TITLE}}}",
        author="{formalbench contributors}",
        year=str(YEAR),
        version=__version__,
        license="Apache-2.0",
        note=note,
    )
    papers = {table.arxiv: table for table in reversed(list(tables))}
    return "\n".join([software, *map(_paper, reversed(papers.values()))])


def _paper(table: PublishedTable) -> str:
    match = _CITATION.fullmatch(harmless(table.citation))
    if match is None:  # a plugin's reference in another format
        fields = {"title": _plain(table.citation)}
    else:
        *title, last = [part for part in match["rest"].split(", ") if not _PLACE.fullmatch(part)]
        venue = last if title and re.search(r"\d{4}$", last) else ""
        fields = {
            "author": " and ".join(_plain(match["authors"]).replace(", ", " and ").split(" and ")),
            "title": f"{{{_plain(', '.join(title if venue else [*title, last]))}}}",
            "year": match["year"],
            "howpublished": _plain(venue),
        }
    key = re.sub(r"-(table|figure)-\d+$", "", table.key)
    return _entry("misc", key, **fields, eprint=table.arxiv, archiveprefix="arXiv")


def _entry(kind: str, key: str, **fields: str) -> str:
    wide = max(map(len, fields))
    lines = [f"  {name:<{wide}} = {{{text}}}," for name, text in fields.items() if text]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"]) + "\n"


def _plain(text: str) -> str:
    """Return text without the characters that have a meaning in BibTeX."""
    return harmless(text).translate(_UNSAFE).replace("&", r"\&")


Kind = Literal["model", "task", "suite"]


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """An entry of the search.

    Attributes:
        kind: its kind.
        name: its name, perhaps with fields: ``dyck-{k}``.
        summary: one line.
        words: other words that find it: keywords, suites, papers.
        command: the command that measures or shows it.
    """

    kind: Kind
    name: str
    summary: str
    words: str
    command: str


def catalogue(host: PluginHost) -> Iterator[SearchEntry]:
    """Yield all entries, sorted by name within each kind."""
    for model in (entry.spec for entry in host.models.all()):
        verb = "verify" if model.kind == "exact" else "run --model"
        command = f"formalbench {verb} {model.name}"
        yield SearchEntry("model", model.name, model.summary, model.reference, command)
    suites = [entry.spec for entry in host.suites.all()]
    suites_of: dict[str, list[str]] = defaultdict(list)
    for suite in suites:
        for name in dict.fromkeys(task.partition(":")[0] for task in suite.tasks):
            suites_of[name].append(f"suite {suite.name}")
    for task in (entry.spec for entry in host.tasks.all()):
        words = "; ".join((*task.keywords, task.reference, *suites_of[task.name]))
        command = f"formalbench show task {task.name}"
        yield SearchEntry("task", task.name, task.summary, words, command)
    for suite in suites:
        words = f"{suite.reference}; {', '.join(suite.tasks)}"
        command = f"formalbench show suite {suite.name}"
        yield SearchEntry("suite", suite.name, suite.summary, words, command)


EXAMPLES = 8


EXAMPLE_LENGTH = 8


MOST_STATES = 64


MOST_SYMBOLS = 8
"""Automata over more symbols are not listed; nobody would read them."""


@dataclass(frozen=True, slots=True)
class TaskDefinition:
    """The definition of a task.

    Attributes:
        summary, reference: one line each; may be empty.
        name: the full name, such as ``parity:classify``.
        objective: a description of the objective.
        classes: number of classes.
        alphabet: the symbols.
        train: the shortest and the longest training length.
        examples: strings and their right answers, as text.
        automaton: None if there is none, or only a large one.
        drawing: the automaton as SVG; empty if there is none.
        members: a remark if the language has few members; may be empty.
    """

    name: str
    summary: str
    reference: str
    objective: str
    classes: int
    alphabet: tuple[str, ...]
    train: tuple[int, int]
    examples: tuple[tuple[str, str], ...]
    automaton: DrawnAutomaton | None
    drawing: str
    members: str


@dataclass(frozen=True, slots=True)
class ModelDefinition:
    """The definition of a model: one line, and its paper; both may be empty."""

    summary: str
    reference: str


@dataclass(frozen=True, slots=True)
class Definitions:
    """Definitions of everything that a page shows.

    Attributes:
        tasks: by title.
        models: by the name of the row.
        catalogue: entries of the search, measured or not.
        citation: what to cite, as BibTeX; may be empty.
        details: further data for the views of a task, a model and a comparison.
        by_class: for each language class, the page with the ranks and scores over the suite's tasks
            in that class.
    """

    tasks: dict[str, TaskDefinition]
    models: dict[str, ModelDefinition]
    catalogue: tuple[SearchEntry, ...] = ()
    citation: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    by_class: Mapping[str, Page] = field(default_factory=dict)


def definitions(
    host: PluginHost, records: Iterable[AnyRecord], suite: str | None = None
) -> Definitions:
    """Return the definitions for records; those that no plugin provides are left out.

    Args:
        host: the plugins.
        records: records of runs and verifications.
        suite: the ranked suite, for the citation.
    """
    tasks, models = {}, {}
    for record in records:
        tasks[title_of(record)] = record.task
        models[display(record.model.name, record.model.options)] = record.model.name
    of_tasks = ((title, _task(host, tasks[title])) for title in sorted(tasks))
    of_models = ((model, _model(host, models[model])) for model in sorted(models))
    return Definitions(
        {title: definition for title, definition in of_tasks if definition is not None},
        {model: definition for model, definition in of_models if definition is not None},
        tuple(catalogue(host)),
        _citation(host, suite) if suite else "",
    )


def _citation(host: PluginHost, name: str) -> str:
    suite, tasks = host.suite(name), set(host.suite(name).tasks)
    tables = (table.limited_to(lambda task: task in tasks) for table in host.published())
    relevant = [table for table in tables if table.tasks]
    return bibtex(suite.name, suite.version, suite.reference, relevant)


def _model(host: PluginHost, name: str) -> ModelDefinition | None:
    try:
        spec = host.models.get(name)[0].spec
    except RequestError:
        return None
    return ModelDefinition(spec.summary, spec.reference)


def _task(host: PluginHost, used: TaskUsed) -> TaskDefinition | None:
    from formalbench.theory.members import FEW_MEMBERS, most_members
    from formalbench.ui.terminal import plugins_print_to_stderr

    try:
        selected = host.select_task(used.name, (), used.options)
        task = host.build_task(selected)
        with host.blaming(selected.plugin), plugins_print_to_stderr():
            classes, machine, alphabet = _classes(task), _automaton(task), tuple(task.alphabet)
            return TaskDefinition(
                name=task.name,
                summary=selected.spec.summary,
                reference=selected.spec.reference,
                objective=selected.objective,
                classes=classes,
                alphabet=alphabet,
                train=task.splits.train,
                examples=_examples(task),
                automaton=machine,
                drawing=drawing(machine, alphabet, classes, task.name) if machine else "",
                members=FEW_MEMBERS if most_members(task) == 1 else "",
            )
    except FormalbenchError:  # unknown or broken here: its numbers are shown without a definition
        return None


def _classes(task: Task) -> int:
    """Return the number of a language's classes; for other sources, that of the output symbols."""
    from formalbench.contracts.source import Language

    return task.source.num_classes if isinstance(task.source, Language) else task.outputs


def _examples(task: Task) -> tuple[tuple[str, str], ...]:
    """Return strings and their right answers; none for data files, which may not be public."""
    from formalbench.evaluation.cells import has_fixed_test

    lengths = task.lengths(*task.splits.train)
    if not lengths or has_fixed_test(task):
        return ()
    length = min(lengths, key=lambda length: abs(length - EXAMPLE_LENGTH))
    example = task.sample(task.stream("sample", 0, length), length, EXAMPLES)
    gap = "" if all(len(symbol) == 1 for symbol in task.alphabet) else " "
    return tuple(
        (gap.join(task.alphabet[symbol] for symbol in string), _answer(target))
        for string, target in zip(example.inputs, task.to_json(example), strict=True)
    )


def _answer(target: Any) -> str:
    """Return a target as ``formalbench label`` prints it."""
    if not isinstance(target, list):
        return str(target)
    parts = ("-" if part is None else part for part in target)
    return " ".join(
        (",".join(part) or "!") if isinstance(part, list) else str(part) for part in parts
    )


def _automaton(task: Task) -> DrawnAutomaton | None:
    """Return the automaton of a language that is defined by one, if it is small enough."""
    from formalbench.contracts.source import automaton_of

    machine = automaton_of(task.source)
    if machine is None or len(machine.classes) > MOST_STATES:
        return None
    if len(task.alphabet) > MOST_SYMBOLS:
        return None
    transitions = tuple(tuple(map(int, row)) for row in machine.transitions)
    return DrawnAutomaton(transitions, tuple(map(int, machine.classes)), int(machine.start))


Details = dict[str, Any]


MOST_LINKED = 5000
"""With more records, their addresses are left out: they would be half of the page."""


def details(
    page: Page,
    host: PluginHost,
    records: Sequence[AnyRecord],
    folders: Iterable[Path] = (),
    output: Path | None = None,
) -> Details:
    """Return the data for the scripts of the views of a task, a model and a comparison.

    Args:
        page: the page.
        host: the plugins.
        records: records of runs and verifications, including all that the page shows.
        folders: the folders that the records were read from.
        output: the folder of the page; links to records are relative to it.
    """
    runs = {one.test_id: one for one in records if isinstance(one, Record)}
    titles = {title for board in page.boards for title in (*board.tasks, *board.other_tasks)}
    titles |= {row.task for row in page.exact.rows}
    theories = {t: theory for t in sorted(titles) if (theory := theory_here(host, t)) is not None}
    options = cache(partial(_options, host))
    return {
        "settings": _settings(page, runs, options),
        "options": {name: options(name) for name in sorted({r.model.name for r in runs.values()})},
        "names": _names(page, runs),
        "records": _links(page, host, runs, [*folders, default_results()], output),
        "constructions": [_construction(row) for row in page.exact.rows],
        "verified": _verified(page.exact.rows),
        "classes": {title: theory.line for title, theory in theories.items()},
        **_theorems(host, theories),
        "reproduced": _reproductions(sorted(titles)),
        "beside": _paper_numbers(page, premises(runs.values(), host)),
    }


def _runs_of(page: Page, runs: Mapping[str, Record]) -> Iterable[tuple[str, str, list[Record]]]:
    """Yield, for each row, the board's name, the model and the records of its runs."""
    for board in page.boards:
        for row in board.rows:
            ids = [run.test_id for result in row.results for run in result.runs]
            yield board.name, row.model, [runs[one] for one in ids if one in runs]


def _settings(
    page: Page, runs: Mapping[str, Record], options: Callable[[str], dict[str, Any]]
) -> dict[str, dict[str, dict[str, str]]]:
    def defaults(name: str) -> dict[str, Any]:
        return {key: default for key, (default, _) in options(name).items()}

    settings: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for board, model, records in _runs_of(page, runs):
        if records:
            settings[board][model] = settings_of(records, defaults)
    return dict(settings)


def _names(page: Page, runs: Mapping[str, Record]) -> dict[str, str]:
    """Return, for each row, the name of its model without options."""
    return {model: records[0].model.name for _, model, records in _runs_of(page, runs) if records}


def _options(host: PluginHost, name: str) -> dict[str, tuple[Any, str]]:
    """Return the options of a model, each with its default and its description."""
    facts = options_here(host, name).items()
    return {key: (show_value(fact["default"]), fact["help"]) for key, fact in facts}


def _links(
    page: Page,
    host: PluginHost,
    runs: Mapping[str, Record],
    folders: Sequence[Path],
    output: Path | None,
) -> dict[str, str]:
    """Return the address of each shown record that is stored at its standard path."""
    ids = {one for *_, part in _runs_of(page, runs) for record in part if (one := record.test_id)}
    if len(ids) > MOST_LINKED or output is None:
        return {}
    root = repository_above(Path.cwd())
    links = {}
    for identity in sorted(ids):
        record = runs[identity]
        places = [Store(folder).path_of(record) for folder in folders]
        if root is not None:
            places.insert(0, root / published_path(record, host))
        file = next((place for place in places if place.is_file()), None)
        if file is not None:
            links[identity] = _address(file.resolve(), root, output.resolve())
    return links


def _address(file: Path, root: Path | None, output: Path) -> str:
    """Return the address of a file for a page: in the repository on the web, if that is known."""
    name, commit = os.environ.get("GITHUB_REPOSITORY"), os.environ.get("GITHUB_SHA")
    server = os.environ.get("GITHUB_SERVER_URL", "")
    if name and commit and root is not None and file.is_relative_to(root.resolve()):
        path = file.relative_to(root.resolve()).as_posix()
        return f"{server}/{name}/blob/{commit}/{quote(path, safe='/=+')}"
    return quote(Path(os.path.relpath(file, output)).as_posix(), safe="/=+")


def _construction(row: ExactModel) -> dict[str, Any]:
    fields = ("model", "task", "exhaustive", "tested_to", "strings", "errors", "margin")
    return {
        **{name: getattr(row, name) for name in fields},
        "breaks": row.break_length or {},
        "size": [row.depth, row.width, row.parameters],
        "commands": row.commands,
    }


def _verified(rows: Sequence[ExactModel]) -> dict[str, str]:
    """Return the verifications of each exact model in sentences."""
    by_model: dict[str, list[ExactModel]] = defaultdict(list)
    for row in rows:
        by_model[row.model].append(row)
    return {model: verdict_of_verified(group) for model, group in by_model.items()}


def _theorems(host: PluginHost, theories: Mapping[str, Theory]) -> dict[str, Any]:
    """Return the theorems that decide each language, and their statements."""
    from formalbench.theory.theorems import Theorem, Verdict, theorem_facts, verdicts

    def decisions(title: str, theory: Theory) -> list[tuple[Theorem, Verdict]]:
        try:
            decided = theory_for_theorems(host, title, theory)
        except FormalbenchError:  # of a plugin that is broken here
            return []
        return verdicts(decided, host.select_task(title).name) if decided else []

    by_title = {title: decisions(title, theory) for title, theory in theories.items()}
    facts = {one.name: theorem_facts(one) for pairs in by_title.values() for one, _ in pairs}
    return {
        "theory": {
            title: [[theorem.name, verdict] for theorem, verdict in pairs]
            for title, pairs in by_title.items()
        },
        "theorems": facts,
    }


def _paper_numbers(page: Page, known: Premises) -> dict[str, list[list[Any]]]:
    """Return, for each task, our results compared with published numbers."""
    by_task: dict[str, list[list[Any]]] = defaultdict(list)
    for one in paper_comparisons(page, known):
        numbers = [one.published.max, one.published.mean, one.max, one.mean, one.difference]
        names = [one.paper.source, one.theirs.model, one.row.model, one.board.name]
        by_task[one.result.task].append([*names, *numbers, "; ".join(one.differs)])
    return dict(by_task)


def _reproductions(titles: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return, for each task, what reproductions found on it, if the user is in the repository."""
    root = repository_above(Path.cwd())
    by_task: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((root / REPRODUCTIONS).glob("*.json")) if root is not None else ():
        try:
            document = read_document(file)
        except RequestError:  # `check` reports the error
            continue
        for title in titles:
            if results := _results_on(document, title):
                by_task.setdefault(title, []).append(results)
    return by_task


def _results_on(document: Document, title: str) -> dict[str, Any] | None:
    """Return the results of a reproduction on a task: the cells whose row or column is the task."""
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
