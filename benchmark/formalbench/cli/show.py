"""The command `formalbench show`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from formalbench.cli.listing import objectives_of
from formalbench.contracts.errors import each
from formalbench.contracts.specs import show_value
from formalbench.contracts.theory import Theory
from formalbench.theory.lookup import (
    numbers_of_task,
    theory_facts,
    theory_for_theorems,
    theory_of_task,
)
from formalbench.ui.terminal import (
    JsonFlag,
    console,
    host_of,
    offers,
    plugins_print_to_stderr,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.host import Selection


MOST = 40
"""Maximum number of displayed symbols or answers; ``--json`` has all."""

INTERVALS = (
    "A run is evaluated every `evaluate every` steps by its training error. steps, decay.steps,\n"
    "validation.every and watch.every must be multiples of evaluate_every."
)


def print_facts(facts: dict[str, Any]) -> None:
    """Print facts (a line each), a table of options, theorems and examples."""
    facts["name"] = facts.pop("title", facts["name"])
    options = facts.pop("options", None)
    theorems = facts.pop("theorems", None)
    examples = facts.pop("examples", None)
    screen = console()
    width = max(map(len, facts))
    for key, value in facts.items():
        if key == "traits":
            value = _notable_traits(value)
        if key == "theory" and value is not None:
            value = Theory(**{name: value[name] for name in value if name != "class"}).line
        if key == "alphabet":
            value = _beginning(value)
        if value not in ("", None, {}):
            screen.print(f"{key.replace('_', ' '):<{width}}  {_text(value)}", markup=False)
    if options:
        columns = ("option", "default", "allowed", "meaning")
        rows = [
            (key, show_value(option["default"]), _allowed(option), option["help"])
            for key, option in options.items()
        ]
        print_table(columns, rows)
    for theorem in theorems or ():
        screen.print(_theorem(theorem), markup=False)
    for row in examples or ():
        string = _beginning(row["string"]) or "(empty)"
        screen.print(f"example  {string}  ->  {_beginning(row['target'])}", markup=False)


def _theorem(theorem: Mapping[str, Any]) -> str:
    """Return the prediction of a theorem or an experiment for a task, or the classes it covers."""
    classes = {"exactly": "exactly", "at_least": "at least", "at_most": "at most"}
    claim = ", ".join(f"{word} {theorem[key]}" for key, word in classes.items() if key in theorem)
    if "languages" in theorem:
        claim = f"{theorem['says']} {', '.join(theorem['languages'])}"
    claim = theorem.get("statement", claim)
    kind = " + ".join(theorem["mechanisms"])
    if without := theorem.get("without"):
        kind += f", without {' + '.join(without)}"
    if eigenvalues := theorem.get("eigenvalues"):
        kind += f", eigenvalues {eigenvalues}"
    claim = theorem.get("verdict", claim)
    if size := theorem.get("size"):
        claim += " at " + ", ".join(f"{name} {number}" for name, number in size.items())
    evidence, label, note = theorem["evidence"], "theorem", ""
    if evidence == "experiment":
        label = evidence
        meanings = {"can": "some setting extrapolates", "cannot": "does not extrapolate"}
        claim = meanings.get(claim, claim)
    elif evidence != label:
        note = f"{evidence}: "
    return f"{label}  {kind}: {claim} ({note}{theorem['conditions']}; {theorem['source']})"


def _notable_traits(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the traits that few networks have."""
    usual = {"encoder_decoder": False, "vmap": True, "lengths": [0, None]}
    empty: tuple[Any, ...] = ("", None, {}, [])
    plain = {key: value for key, value in traits.items() if key not in ("notes", "constants")}
    return {
        key: value
        for key, value in {**plain, **traits["constants"], **traits["notes"]}.items()
        if value not in empty and usual.get(key) != value
    }


def _allowed(option: Mapping[str, Any]) -> str:
    if option["choices"]:
        return " | ".join(show_value(choice) for choice in option["choices"])
    if isinstance(option["default"], bool):
        return "true | false"
    low, high = option["minimum"], option["maximum"]
    ends = ["" if end is None else f"{end:g}" for end in (low, high)]
    return "…".join(ends) if any(ends) else ""


def _beginning(value: Any) -> str:
    """Return symbols or answers as text; if there are many, the first ones and the number."""
    if not isinstance(value, dict | list | tuple) or len(value) <= MOST:
        return _text(value)
    first = dict(list(value.items())[:MOST]) if isinstance(value, dict) else value[:MOST]
    return f"{_text(first)} … ({len(value):,} in all)"


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


CHANCE_CELLS = 16
"""Maximum number of lengths for an estimated chance level."""

EXAMPLES = 5


ShowKind = Literal["task", "model", "protocol", "suite"]


def _names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete a name of the kind given before it."""
    return offers(ctx, f"{ctx.params['kind']}s", incomplete) if ctx.params.get("kind") else []


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def show(
        ctx: typer.Context,
        kind: Annotated[ShowKind, typer.Argument(help="What to show.")],
        name: Annotated[
            str,
            typer.Argument(help="The name (see `formalbench list`).", autocompletion=_names),
        ],
        as_json: JsonFlag = False,
    ) -> None:
        """Show a task, model, protocol or suite in detail.

        \b
        formalbench show task tomita-3:next-symbols
        formalbench show model regulargpt
        """
        host = host_of(ctx)
        kinds: dict[ShowKind, Callable[[PluginHost, str], dict[str, Any]]] = {
            "task": task_facts,
            "model": model_facts,
            "protocol": protocol_facts,
            "suite": suite_facts,
        }
        with plugins_print_to_stderr():
            if kind == "model":
                (name,) = host.models_named([name])
            facts = kinds[kind](host, name)
        _warn(facts)
        if as_json:
            print_json(facts)
        else:
            print_facts(facts)
            if kind == "protocol":
                print(f"\n{INTERVALS}")


def _warn(facts: Mapping[str, Any]) -> None:
    """Print warnings about limitations of a task."""
    from formalbench.theory.members import FEW_MEMBERS

    if facts.get("most_members_of_a_length") == 1:
        line = f"warning: {facts['name']} has {FEW_MEMBERS}"
        console(stderr=True).print(line, markup=False)


def task_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return facts about a task, including its chance level over the test split."""
    selected = host.select_task(name)
    with host.blaming(selected.plugin):
        return _task_facts(host, name, selected)


def _task_facts(host: PluginHost, name: str, selected: Selection[TaskSpec]) -> dict[str, Any]:
    from formalbench import __version__
    from formalbench.cache import cached, code_digest
    from formalbench.evaluation.cells import split_lengths, spread
    from formalbench.task_handle import draw
    from formalbench.theory.members import MANY, most_members
    from formalbench.theory.theorems import theorem_facts, verdicts

    task = host.build_task(selected)
    host.warn_of_overlap(task)
    lengths = split_lengths(task, "test")
    if task.layout != "last":  # the chance level of many answers per string is estimated
        lengths = spread(lengths, CHANCE_CELLS)

    def compute() -> list[float]:
        chance = task.chance(lengths)
        return [chance.constant, chance.length_only]

    source = selected.plugin.source.model_dump(), code_digest(task.source, task.objective)
    theory = theory_of_task(host, name, task.source)
    decided = theory_for_theorems(host, name, theory, task.source)
    predictions = verdicts(decided, selected.name) if decided else []
    numbers = numbers_of_task(host, name) or {}
    identity = [task.name, task.version, dict(task.parameters)]
    constant, length_only = cached(["show task", __version__, *identity, *source, lengths], compute)
    train_lengths = split_lengths(task, "train")
    members = most_members(task)
    example_length = min(train_lengths, key=lambda length: abs(length - 8))
    return {
        "name": task.name,
        "title": selected.title,
        "version": task.version,
        "summary": selected.spec.summary,
        "reference": selected.spec.reference,
        "alphabet": list(task.source.alphabet),
        "classes": getattr(task.source, "num_classes", None),
        "theory": theory_facts(theory),
        "theorems": [
            {**theorem_facts(theorem), "verdict": verdict, "size": theorem.size(numbers)}
            for theorem, verdict in predictions
        ],
        "objectives": list(selected.spec.objectives),
        "metric": task.primary.name,
        "train": list(task.splits.train),
        "test": list(task.splits.test),
        "chance": {"constant": constant, "length_only": length_only},
        "shortcut": host.shortcut(name),
        "most_members_of_a_length": members if members is None or members <= MANY else None,
        "overlap": task.splits.overlap,
        "options": selected.facts,
        "examples": list(draw(task, example_length, EXAMPLES, 0)),
        "plugin": selected.plugin.describe(),
    }


def model_facts(host: PluginHost, name: str) -> dict[str, Any]:
    """Return facts about a model, including its parameter count on one task."""
    from formalbench import __version__
    from formalbench.cache import cached
    from formalbench.theory import VERSION as THEORY

    selected = host.select_model(name)
    spec, options = selected.spec, selected.facts
    task_name = _parameter_task(host, selected)

    def build() -> dict[str, Any]:
        network = host.build_network(selected, host.task(task_name))
        count = sum(parameter.numel() for parameter in network.parameters())
        return {"count": count, "traits": _traits(network)}

    source = selected.plugin.source
    defaults = {key: option["default"] for key, option in options.items()}
    key = ["show model", __version__, THEORY, selected.title, spec.version, task_name, defaults]
    facts = cached([*key, source.version, source.sha256], build)
    decodes = facts["traits"]["encoder_decoder"]
    objectives = [
        objective
        for objective in objectives_of(host, spec)
        if decodes or host.objective(objective).layout != "decoded"
    ]
    return {
        "name": selected.name,
        "title": selected.title,
        "version": spec.version,
        "kind": spec.kind,
        "summary": spec.summary,
        "reference": spec.reference,
        "objectives": objectives,
        "options": options,
        "parameters": {"task": task_name, "count": facts["count"]},
        "traits": {key: facts["traits"][key] for key in facts["traits"] if key != "theorems"},
        "theorems": facts["traits"]["theorems"],
        "plugin": selected.plugin.describe(),
    }


def _parameter_task(host: PluginHost, selected: Selection[ModelSpec]) -> str:
    """Return the task for a model's parameter count; exact models need their own task."""
    from formalbench.checks.plugins import trial_task

    spec = selected.spec
    own = spec.task.format(**selected.fields)
    if not own and spec.objectives and (task := trial_task(host, spec.objectives[0])):
        return task
    language = (own or host.suite("default").tasks[0]).partition(":")[0]
    objective = spec.objectives[0] if spec.objectives else host.select_task(language).objective
    return f"{language}:{objective}"


def _traits(network: object) -> dict[str, Any]:
    """Return a network's traits that can be written in JSON."""
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
    each(host.select_task, spec.tasks)  # a suite that names an unknown task should say so here
    return asdict(spec)
