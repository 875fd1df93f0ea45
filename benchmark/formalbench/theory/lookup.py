"""Language classes of tasks: stated by the plugin, or computed and cached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import unknown
from formalbench.contracts.theory import AC0, CLASSES, Theory

if TYPE_CHECKING:
    from formalbench.contracts.source import MinimalAutomaton, Source
    from formalbench.contracts.specs import TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.host import Selection
    from formalbench.host.registry import Entry


def theory_of(thing: Source | MinimalAutomaton) -> Theory | None:
    """Return the classes of a language or an automaton; None if unknown.

    A task's plugin may state more than its source knows: `load(name).theory`.

    Args:
        thing: a source, or a complete deterministic automaton (`transitions`, `classes`, `start`).

    Raises:
        ValueError: a state has no class, or a transition leads to no state.
    """
    from formalbench.contracts.source import Source, automaton_of
    from formalbench.theory.classes import classes_of, minimal

    if not isinstance(thing, Source):
        return classes_of(minimal(thing))
    automaton = automaton_of(thing)
    return thing.theory if automaton is None else classes_of(minimal(automaton))


def theory_of_task(host: PluginHost, name: str, built: Source | None = None) -> Theory | None:
    """Return the language classes of a task; computed ones are cached.

    `built` is its source, if it is built already.
    """
    from formalbench.cache import cached

    task = host.select_task(name)
    if task.spec.theory is not None and not task.fields:
        return task.spec.theory

    def compute() -> dict[str, Any] | None:
        source = built or host.build_task(task).source
        with host.blaming(task.plugin):
            theory = theory_of(source)
        return None if theory is None else asdict(theory)

    facts = cached(_key(task, name), compute)
    return task.spec.theory if facts is None else Theory(**facts)


def theory_for_theorems(
    host: PluginHost, name: str, theory: Theory | None, built: Source | None = None
) -> Theory | None:
    """Return the classes of a task's language as theorems use them.

    Under an objective that asks only about prefixes of members, the language is not outside C-RASP:
    counting may suffice on these prefixes, but not on all strings.

    Args:
        host: the plugins.
        name: of the task.
        theory: the classes of its language; None if unknown.
        built: its source, if it is built already.

    Returns:
        None for a function from strings to strings, to which no theorem applies.
    """
    from formalbench.cache import cached
    from formalbench.theory.theorems import decidable

    task = host.select_task(name)

    def compute() -> bool:
        return decidable(built or host.build_task(task).source)

    if theory is None or not cached(["decidable", *_key(task, name)], compute):
        return None
    if host.objective(task.objective).only_viable:
        return replace(theory, c_rasp=theory.c_rasp or None, c_rasp_last=theory.c_rasp_last or None)
    return theory


def modulus_of_task(host: PluginHost, name: str) -> int | None:
    """Return the modulus of a task's language (`transition_monoid`), cached.

    Returns:
        None if it has no automaton or no modulus.
    """
    from formalbench.theory.transition_monoid import modulus_of

    modulus: int | None = _automaton_value(host, name, "modulus", modulus_of)
    return modulus


def numbers_of_task(host: PluginHost, name: str) -> dict[str, int] | None:
    """Return the numbers of a task's language that theorems use for sizes, cached.

    Returns:
        None if it has no automaton.
    """
    from formalbench.theory.theorems import numbers_of

    numbers: dict[str, int] | None = _automaton_value(host, name, "numbers", numbers_of)
    return numbers


def theory_at_hand(entry: Entry[TaskSpec]) -> Theory | None:
    """Return the language classes of a task if they need no computation."""
    if entry.spec.theory is not None or "{" in entry.spec.name:
        return entry.spec.theory
    from formalbench.cache import cached_before

    facts = cached_before(_key(entry, entry.spec.name))
    return None if facts is None else Theory(**facts)


def in_class(
    host: PluginHost, entries: list[Entry[TaskSpec]], name: str
) -> tuple[list[Entry[TaskSpec]], list[str]]:
    """Return the tasks in a class, and the names of those for which it is unknown.

    A family is in a class if all of its members are.
    """
    inside, unknown_of = [], []
    for entry in entries:
        theory = theory_at_hand(entry)
        if theory is None and "{" not in entry.spec.name:
            theory = theory_of_task(host, entry.spec.name)
        if theory is None or theory.is_open(name):
            unknown_of.append(entry.spec.name)
        elif theory.within(name):
            inside.append(entry)
    return inside, unknown_of


def check_class(name: str) -> str:
    """Check the name of a class of languages, and return it."""
    if name not in CLASSES:
        raise unknown("class", name, CLASSES)
    return name


def theory_facts(theory: Theory | None) -> dict[str, Any] | None:
    """Return language classes as JSON data, without AC⁰, which only theorems use."""
    if theory is None:
        return None
    facts = {name: value for name, value in asdict(theory).items() if name != AC0}
    return {**facts, "class": theory.finest}


def _automaton_value(
    host: PluginHost, name: str, kind: str, find: Callable[[MinimalAutomaton], Any]
) -> Any:
    """Return a cached function of a task's automaton; None without an automaton."""
    from formalbench.cache import cached

    task = host.select_task(name)

    def compute() -> Any:
        from formalbench.contracts.source import automaton_of
        from formalbench.theory.classes import minimal

        with host.blaming(task.plugin):
            automaton = automaton_of(host.build_task(task).source)
            return None if automaton is None else find(minimal(automaton))

    return cached([kind, *_key(task, name)], compute)


def _key(task: Entry[TaskSpec] | Selection[TaskSpec], name: str) -> list[Any]:
    from formalbench import __version__
    from formalbench.theory import VERSION

    plugin = task.plugin
    code = plugin.local.sha256 if plugin.local else [plugin.distribution, plugin.version]
    return ["theory", VERSION, __version__, code, name.partition(":")[0], task.spec.version]
