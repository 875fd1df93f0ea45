"""What theory says of the tasks on a board, and of which of them a model can do at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from formalbench import Theory, __version__
from formalbench.analysis.results import Prediction
from formalbench.cache import cached, package_digest
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.host.options import parse_instance
from formalbench.theory import VERSION
from formalbench.theory.lookup import theory_of_task

if TYPE_CHECKING:
    from formalbench.analysis.build import View
    from formalbench.host import PluginHost

    from formalbench_leaderboard.sources import Held


def theory_here(host: PluginHost, task: str) -> Theory | None:
    """Return what theory says of a task, by its full name; None if nobody here knows."""
    try:
        return theory_of_task(host, task)
    except FormalbenchError:  # of a plugin that is not at hand, or broken
        return None


def shortcut_here(host: PluginHost, title: str) -> float | None:
    """Return the accuracy of the best shortcut on a task by its title; None if none is known."""
    try:
        entry, objective, _ = host.task_entry(title)
    except RequestError:  # with options, or of a plugin that is not at hand
        return None
    return entry.spec.shortcuts.get(title) if objective == "classify" else None


def predicted(host: PluginHost, model: str, task: str) -> Prediction | None:
    """Return what theorems say of a model, its options behind its name, on a task.

    None if none decides it, as of functions from strings to strings, or the model is a stranger's:
    no code of theirs runs to show a page.
    """
    from formalbench.contracts.network import Traits, traits_of
    from formalbench.theory.theorems import decidable, predict

    theory = theory_here(host, task)
    if theory is None:
        return None

    def built() -> tuple[list[str], str] | None:
        asked = host.task(task)
        if not decidable(asked.source):
            return None
        traits = traits_of(host.network(model, asked))
        return sorted(traits.mechanisms), traits.eigenvalues

    try:
        entry, _ = host.models.get(parse_instance(model)[0])
        if entry.plugin.local is not None:
            return None
        plugin = [entry.plugin.distribution, entry.plugin.version, entry.spec.version]
        home = entry.plugin.module.__name__.partition(".")[0]
        # What a network is can change without any version.
        code = [package_digest(home), package_digest("formalbench")]
        found = cached(["kind of network", VERSION, __version__, plugin, code, model, task], built)
    except FormalbenchError:  # it is not here, or does not take this task any more
        return None
    if found is None:
        return None
    mechanisms, eigenvalues = found
    traits = Traits(mechanisms=tuple(mechanisms), eigenvalues=eigenvalues)
    verdict, theorem = predict(traits, theory)
    if theorem is None or verdict == "unknown":
        return None
    return Prediction(verdict, theorem.name, theorem.evidence)


def in_class(held: Held, view: View, name: str) -> tuple[Held, View]:
    """Leave out all tasks that are not known to be in a class of languages.

    Args:
        held: all records.
        view: of all tasks.
        name: of the class, one of `formalbench.contracts.theory.CLASSES`.
    """

    def inside(task: str) -> bool:
        theory = view.theory(task)
        return theory is not None and theory.within(name) is True

    held = held._replace(
        records=[record for record in held.records if inside(record.task.name)],
        verifications=[one for one in held.verifications if inside(one.task.name)],
    )
    tables = (table.limited_to(inside) for table in view.published)
    view = replace(
        view,
        title=f"{view.title}, {name} tasks",
        tasks=tuple(task for task in view.tasks if inside(task)),
        published=tuple(table for table in tables if table.tasks),
    )
    return held, view
