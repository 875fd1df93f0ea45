"""What a page tells of tasks and models: from the plugins at hand, by the names in the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from formalbench.analysis.citation import bibtex
from formalbench.analysis.keys import title_of
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.specs import display
from formalbench.contracts.verification import AnyRecord

from formalbench_leaderboard.web.automaton import DrawnAutomaton, drawing
from formalbench_leaderboard.web.catalogue import Findable, catalogue

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost

EXAMPLES = 8
EXAMPLE_LENGTH = 8
MOST_STATES = 64
MOST_SYMBOLS = 8
"""A larger automaton is not told: nobody reads it."""


@dataclass(frozen=True, slots=True)
class TaskDefinition:
    """What a task is.

    Attributes:
        summary, reference: one line each; may be empty.
        name: the full form, as in ``parity:classify``.
        objective: what is asked.
        classes: how many there are.
        alphabet: the symbols.
        train: the shortest and the longest string of training.
        examples: strings and their right answers, as text.
        automaton: None where there is none, or none that is small.
        drawing: of the automaton, as SVG; empty if there is none.
        members: what is to be said of how few members there are; may be empty.
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
    """What a model is: one line, and the paper it is from; both may be empty."""

    summary: str
    reference: str


@dataclass(frozen=True, slots=True)
class Definitions:
    """What is known of what a page shows.

    Attributes:
        tasks: by title.
        models: by the name that a row has.
        catalogue: what there is to be found, measured or not.
        citation: what to cite, as BibTeX; may be empty.
        details: what the views of a task, a model and a comparison tell besides.
    """

    tasks: dict[str, TaskDefinition]
    models: dict[str, ModelDefinition]
    catalogue: tuple[Findable, ...] = ()
    citation: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def definitions(
    host: PluginHost, records: Iterable[AnyRecord], suite: str | None = None
) -> Definitions:
    """Look up what the records are of; what no plugin provides is left out.

    Args:
        host: the plugins.
        records: of runs and verifications.
        suite: which one is ranked, to say what to cite.
    """
    tasks: dict[str, TaskDefinition] = {}
    models: dict[str, ModelDefinition] = {}
    known: dict[str, bool] = {}
    for record in records:
        title, model = title_of(record), display(record.model.name, record.model.options)
        if title not in known:
            known[title] = True
            task = _task(host, record.task.name, record.task.options)
            if task is not None:
                tasks[title] = task
        if model not in models:
            found = _model(host, record.model.name)
            if found is not None:
                models[model] = found
    return Definitions(
        dict(sorted(tasks.items())),
        dict(sorted(models.items())),
        catalogue(host),
        _citation(host, suite) if suite else "",
    )


def _citation(host: PluginHost, name: str) -> str:
    suite, tasks = host.suite(name), set(host.suite(name).tasks)
    tables = (table.limited_to(lambda task: task in tasks) for table in host.published())
    beside = [table for table in tables if table.tasks]
    return bibtex(suite.name, suite.version, suite.reference, beside)


def _model(host: PluginHost, name: str) -> ModelDefinition | None:
    try:
        spec = host.models.get(name)[0].spec
    except RequestError:
        return None
    return ModelDefinition(spec.summary, spec.reference)


def _task(host: PluginHost, name: str, options: Any) -> TaskDefinition | None:
    from formalbench.members import FEW_MEMBERS, most_members
    from formalbench.ui.output import plugins_print_to_stderr

    try:
        entry, objective, _ = host.task_entry(name)
        task = host.task(name, options)
        with host.blaming(entry.plugin), plugins_print_to_stderr():
            classes, machine, alphabet = _classes(task), _automaton(task), tuple(task.alphabet)
            return TaskDefinition(
                name=task.name,
                summary=entry.spec.summary,
                reference=entry.spec.reference,
                objective=objective,
                classes=classes,
                alphabet=alphabet,
                train=task.splits.train,
                examples=_examples(task),
                automaton=machine,
                drawing=drawing(machine, alphabet, classes, task.name) if machine else "",
                members=FEW_MEMBERS if most_members(task) == 1 else "",
            )
    except FormalbenchError:  # unknown or broken here: its numbers are shown without it
        return None


def _classes(task: Task) -> int:
    """Return how many classes a language has; of another source, how many symbols to answer."""
    from formalbench.contracts.language import Language

    return task.source.num_classes if isinstance(task.source, Language) else task.outputs


def _examples(task: Task) -> tuple[tuple[str, str], ...]:
    """Return strings and their right answers; none of data, which is nobody's to show."""
    from formalbench.evaluation.cells import has_fixed_test

    lengths = task.lengths(*task.splits.train)
    if not lengths or has_fixed_test(task):
        return ()
    length = min(lengths, key=lambda length: abs(length - EXAMPLE_LENGTH))
    example = task.sample(task.stream("sample", 0, length), length, EXAMPLES)
    gap = "" if all(len(symbol) == 1 for symbol in task.alphabet) else " "
    return tuple(
        (gap.join(task.alphabet[symbol] for symbol in string), _answer(target))
        for string, target in zip(example.inputs, task.plain(example), strict=True)
    )


def _answer(target: Any) -> str:
    """Return a target as ``formalbench label`` prints it."""
    if not isinstance(target, list):
        return str(target)
    unscored = ("-" if part is None else part for part in target)
    return " ".join(
        (",".join(part) or "!") if isinstance(part, list) else str(part) for part in unscored
    )


def _automaton(task: Task) -> DrawnAutomaton | None:
    """Return the automaton of a language that is given by one, if it can be drawn."""
    from formalbench.contracts.language import HasAutomaton

    try:
        machine = task.source.automaton if isinstance(task.source, HasAutomaton) else None
    except AttributeError:  # a member of its family that has none
        return None
    if machine is None or len(machine.classes) > MOST_STATES:
        return None
    if len(task.alphabet) > MOST_SYMBOLS:
        return None
    transitions = tuple(tuple(map(int, row)) for row in machine.transitions)
    return DrawnAutomaton(transitions, tuple(map(int, machine.classes)), int(machine.start))
