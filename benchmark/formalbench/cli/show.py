"""``formalbench show``: one task, model, protocol or suite in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formalbench.cli.facts import print_facts
from formalbench.cli.listing import objectives_of
from formalbench.contracts.errors import each
from formalbench.host.options import option_facts, parse_instance
from formalbench.theory.lookup import numbers_of_task, theory_facts, theory_of_task
from formalbench.ui.completion import offers
from formalbench.ui.flags import JsonFlag
from formalbench.ui.output import (
    console,
    plugins_print_to_stderr,
    print_json,
)
from formalbench.ui.state import host_of

if TYPE_CHECKING:
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.registry import Entry

CHANCE_CELLS = 16
"""Lengths over which a chance level that takes long to estimate is."""

EXAMPLES = 5


class ShowKind(StrEnum):
    """What can be shown."""

    task = "task"
    model = "model"
    protocol = "protocol"
    suite = "suite"


def _names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete a name of the kind that is written before it."""
    return offers(ctx, f"{ctx.params['kind']}s", incomplete) if ctx.params.get("kind") else []


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def show(
        ctx: typer.Context,
        kind: Annotated[ShowKind, typer.Argument(help="What to show.")],
        name: Annotated[
            str,
            typer.Argument(help="Its name (`formalbench list …`).", autocompletion=_names),
        ],
        as_json: JsonFlag = False,
    ) -> None:
        """Show one task, model, protocol or suite: definition, options, source, chance level.

        \b
        formalbench show task tomita-3:next-symbols
        formalbench show model regulargpt
        """
        host = host_of(ctx)
        kinds: dict[ShowKind, Callable[[PluginHost, str], dict[str, Any]]] = {
            ShowKind.task: task_facts,
            ShowKind.model: model_facts,
            ShowKind.protocol: protocol_facts,
            ShowKind.suite: suite_facts,
        }
        with plugins_print_to_stderr():
            if kind is ShowKind.model:
                (name,) = host.models_named([name])
            facts = kinds[kind](host, name)
        _warn(facts)
        if as_json:
            print_json(facts)
        else:
            print_facts(facts)


def _warn(facts: Mapping[str, Any]) -> None:
    """Say on standard error what makes the numbers of a task mean less."""
    from formalbench.members import FEW_MEMBERS

    if facts.get("most_members_of_a_length") == 1:
        line = f"warning: {facts['name']} has {FEW_MEMBERS}"
        console(stderr=True).print(line, markup=False)


def task_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return what there is to know about a task, its chance level over the test split included."""
    entry, objective, _ = host.task_entry(name)
    with host.blaming(entry.plugin):
        return _task_facts(host, name, entry, objective)


def _task_facts(
    host: PluginHost, name: str, entry: Entry[TaskSpec], objective: str
) -> dict[str, Any]:
    from formalbench import __version__
    from formalbench.cache import cached, code_digest
    from formalbench.evaluation.cells import split_lengths, spread
    from formalbench.members import MANY, most_members
    from formalbench.task_handle import draw
    from formalbench.theory.theorems import decidable, theorem_facts, verdicts

    task = host.task(name)
    host.warn_of_overlap(task)
    lengths = split_lengths(task, "test")
    if task.layout != "last":  # many answers to a string: their chance level is estimated
        lengths = spread(lengths, CHANCE_CELLS)

    def compute() -> list[float]:
        chance = task.chance(lengths)
        return [chance.constant, chance.length_only]

    source = entry.plugin.source.model_dump(), code_digest(task.source, task.objective)
    theory = theory_of_task(host, name, task.source)
    language = parse_instance(name)[0].partition(":")[0]
    decided = verdicts(theory, language) if theory and decidable(task.source) else []
    numbers = numbers_of_task(host, name) or {}
    named = [task.name, task.version, dict(task.parameters)]
    constant, length_only = cached(["show task", __version__, *named, *source, lengths], compute)
    middle = split_lengths(task, "train")
    members = most_members(task)
    example_length = min(middle, key=lambda length: abs(length - 8))
    return {
        "name": task.name,
        "version": task.version,
        "summary": entry.spec.summary,
        "reference": entry.spec.reference,
        "alphabet": list(task.source.alphabet),
        "classes": getattr(task.source, "num_classes", None),
        "theory": theory_facts(theory),
        "theorems": [
            {**theorem_facts(theorem), "verdict": verdict, "size": theorem.size(numbers)}
            for theorem, verdict in decided
        ],
        "objectives": list(entry.spec.objectives),
        "metric": task.primary.name,
        "train": list(task.splits.train),
        "test": list(task.splits.test),
        "chance": {"constant": constant, "length_only": length_only},
        "shortcut": host.shortcut(name),
        "most_members_of_a_length": members if members is None or members <= MANY else None,
        "overlap": task.splits.overlap,
        "options": option_facts(entry.spec),
        "examples": list(draw(task, example_length, EXAMPLES, 0)),
        "plugin": entry.plugin.describe(),
    }


def model_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return what there is to know about a model, its parameter count on one task included."""
    from formalbench import __version__
    from formalbench.cache import cached
    from formalbench.theory import VERSION as THEORY

    plain, texts = parse_instance(name)
    entry, fields = host.models.get(plain)
    spec = entry.spec
    options = option_facts(spec)
    task_name = _shown_on(host, spec, fields)

    def build() -> dict[str, Any]:
        network = host.network(name, host.task(task_name))
        count = sum(parameter.numel() for parameter in network.parameters())
        return {"count": count, "traits": _traits(network)}

    source = entry.plugin.source
    defaults = {key: option["default"] for key, option in options.items()}
    key = [
        "show model",
        __version__,
        THEORY,
        plain,
        spec.version,
        source.version,
        source.sha256,
        task_name,
        texts,
    ]
    built = cached([*key, defaults], build)
    decodes = built["traits"]["encoder_decoder"]
    does = [
        objective
        for objective in objectives_of(host, spec)
        if decodes or host.objective(objective).layout != "decoded"
    ]
    return {
        "name": plain,
        "version": spec.version,
        "kind": spec.kind,
        "summary": spec.summary,
        "reference": spec.reference,
        "objectives": does,
        "options": options,
        "parameters": {"task": task_name, "count": built["count"]},
        "traits": {key: built["traits"][key] for key in built["traits"] if key != "theorems"},
        "theorems": built["traits"]["theorems"],
        "plugin": entry.plugin.describe(),
    }


def _shown_on(host: PluginHost, spec: ModelSpec, fields: Mapping[str, int]) -> str:
    """Return the task that a model's size is told on: an exact model refuses any but its own."""
    from formalbench.checks.trials import trial_task

    own = spec.task.format(**fields)
    if not own and spec.objectives and (found := trial_task(host, spec.objectives[0])):
        return found
    language = (own or host.suite("default").tasks[0]).partition(":")[0]
    _, objective, _ = host.task_entry(language)
    return f"{language}:{spec.objectives[0] if spec.objectives else objective}"


def _traits(network: object) -> dict[str, Any]:
    """Return what a network says it is, as far as JSON can hold it."""
    from formalbench.contracts.network import traits_of
    from formalbench.theory.theorems import about, theorem_facts

    traits = traits_of(network)
    facts: dict[str, Any] = {
        "causal": traits.causal,
        "padding": traits.padding,
        "encoder_decoder": traits.encoder_decoder,
        "vmap": traits.vmap,
        "eigenvalues": traits.eigenvalues,
        "mechanisms": list(traits.mechanisms),
        "theorems": [theorem_facts(theorem) for theorem in about(traits)],
        "lengths": list(traits.lengths),
        "constants": dict(traits.constants),
        "depth": "grows with the length" if callable(traits.depth) else traits.depth,
        "width": traits.width,
        "notes": dict(traits.notes),
    }
    return facts


def protocol_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return a protocol's contents."""
    facts: dict[str, Any] = host.protocol(name).model_dump(mode="json")
    return facts


def suite_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return a suite's contents."""
    spec = host.suite(name)
    each(host.task_entry, spec.tasks)  # a suite that names an unknown task should say so here
    return asdict(spec)
