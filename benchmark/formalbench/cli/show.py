"""``formalbench show``: one task, model, protocol or suite in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formalbench.cli.listing import JsonFlag
from formalbench.cli.output import (
    console,
    plugins_print_to_stderr,
    print_json,
    print_table,
)
from formalbench.cli.state import host_of
from formalbench.contracts.specs import Option, show_value

if TYPE_CHECKING:
    from formalbench.contracts.specs import TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.registry import Entry

CHANCE_CELLS = 16
"""Lengths over which the chance level of an objective other than classify is estimated."""

EXAMPLES = 5


class Kind(StrEnum):
    """What can be shown."""

    task = "task"
    model = "model"
    protocol = "protocol"
    suite = "suite"


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def show(
        ctx: typer.Context,
        kind: Annotated[Kind, typer.Argument(help="What to show.")],
        name: Annotated[str, typer.Argument(help="Its name (`formalbench list …`).")],
        as_json: JsonFlag = False,
    ) -> None:
        """Show one task, model, protocol or suite: definition, options, source, chance level.

        \b
        formalbench show task tomita-3:next-symbols
        formalbench show model regulargpt
        """
        host = host_of(ctx)
        kinds: dict[Kind, Callable[[PluginHost, str], dict[str, Any]]] = {
            Kind.task: task_facts,
            Kind.model: model_facts,
            Kind.protocol: protocol_facts,
            Kind.suite: suite_facts,
        }
        with plugins_print_to_stderr():
            facts = kinds[kind](host, name)
        if as_json:
            print_json(facts)
        else:
            _print(facts)


def task_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return what there is to know about a task, its chance level over the test split included."""
    entry, objective, _ = host.task_entry(name)
    with host.blaming(entry.plugin):
        return _task_facts(host, name, entry, objective)


def _task_facts(
    host: PluginHost, name: str, entry: Entry[TaskSpec], objective: str
) -> dict[str, Any]:
    from formalbench import __version__
    from formalbench.cache import cached
    from formalbench.cli.data import draw
    from formalbench.evaluation.cells import split_lengths, spread

    task = host.task(name)
    lengths = split_lengths(task, "test")
    if objective != "classify":
        lengths = spread(lengths, CHANCE_CELLS)

    def compute() -> list[float]:
        chance = task.chance(lengths)
        return [chance.constant, chance.length_only]

    source = entry.plugin.source.model_dump()
    key = ["show task", __version__, task.name, task.version, source, lengths]
    constant, length_only = cached(key, compute)
    middle = split_lengths(task, "train")
    example_length = min(middle, key=lambda length: abs(length - 8))
    return {
        "name": task.name,
        "version": task.version,
        "summary": entry.spec.summary,
        "reference": entry.spec.reference,
        "alphabet": list(task.alphabet),
        "classes": task.language.num_classes,
        "objectives": list(entry.spec.objectives),
        "metric": task.objective.metric,
        "train": list(task.splits.train),
        "test": list(task.splits.test),
        "chance": {"constant": constant, "length_only": length_only},
        "options": _options(entry.spec.options),
        "examples": list(draw(task, example_length, EXAMPLES, 0)),
        "plugin": entry.plugin.describe(),
    }


def model_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return what there is to know about a model, its parameter count on one task included."""
    from formalbench.cache import cached

    entry, fields = host.models.get(name)
    spec = entry.spec
    # An exact model refuses any task but its own.
    language = (spec.task.format(**fields) or host.suite("default").tasks[0]).partition(":")[0]
    task_name = f"{language}:{spec.objectives[0]}"

    def count() -> int:
        network = host.network(name, host.task(task_name))
        return sum(parameter.numel() for parameter in network.parameters())

    source = entry.plugin.source
    key = ["parameters", name, spec.version, source.version, source.sha256, task_name]
    options = {option: value.default for option, value in spec.options.items()}
    return {
        "name": name,
        "version": spec.version,
        "kind": spec.kind,
        "summary": spec.summary,
        "reference": spec.reference,
        "objectives": list(spec.objectives),
        "options": _options(spec.options),
        "parameters": {"task": task_name, "count": cached([*key, options], count)},
        "plugin": entry.plugin.describe(),
    }


def protocol_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return a protocol's contents."""
    facts: dict[str, Any] = host.protocol(name).model_dump(mode="json")
    return facts


def suite_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return a suite's contents."""
    spec = host.suite(name)
    for task in spec.tasks:
        host.task_entry(task)  # a suite that names an unknown task should say so here
    return asdict(spec)


def _options(options: Mapping[str, Option]) -> dict[str, Any]:
    return {key: asdict(option) for key, option in options.items()}


def _print(facts: dict[str, Any]) -> None:
    options = facts.pop("options", None)
    examples = facts.pop("examples", None)
    screen = console()
    width = max(map(len, facts))
    for key, value in facts.items():
        if value not in ("", None):
            screen.print(f"{key.replace('_', ' '):<{width}}  {_text(value)}", markup=False)
    if options:
        columns = ("option", "default", "allowed", "meaning")
        rows = [
            (key, show_value(option["default"]), _allowed(option), option["help"])
            for key, option in options.items()
        ]
        print_table(columns, rows)
    for row in examples or ():
        string = _text(row["string"]) or "(empty)"
        screen.print(f"example  {string}  ->  {_text(row['target'])}", markup=False)


def _allowed(option: Mapping[str, Any]) -> str:
    if option["choices"]:
        return " | ".join(show_value(choice) for choice in option["choices"])
    if isinstance(option["default"], bool):
        return "true | false"
    low, high = option["minimum"], option["maximum"]
    ends = ["" if end is None else f"{end:g}" for end in (low, high)]
    return "…".join(ends) if any(ends) else ""


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], list | tuple):
            return " ".join(",".join(map(str, inner)) or "!" for inner in value)
        return " ".join(_text(inner) for inner in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
