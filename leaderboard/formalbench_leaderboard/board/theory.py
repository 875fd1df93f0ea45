"""What theory says about the tasks on a board, and which tasks a model can express at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from formalbench import Theory, __version__
from formalbench.cache import cached, package_digest
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.host.options import parse_instance
from formalbench.statistics.result import Prediction
from formalbench.theory import VERSION
from formalbench.theory.lookup import numbers_of_task, theory_of_task

if TYPE_CHECKING:
    from formalbench.contracts.network import Traits
    from formalbench.contracts.specs import ModelSpec
    from formalbench.host import PluginHost
    from formalbench.host.registry import Entry


def theory_here(host: PluginHost, task: str) -> Theory | None:
    """Return the theoretical properties of a task by its full name; None if unknown here."""
    try:
        return theory_of_task(host, task)
    except FormalbenchError:  # of a plugin that is not installed or is broken
        return None


def shortcut_here(host: PluginHost, title: str) -> float | None:
    """Return the accuracy of the best shortcut on a task by its title; None if none is known."""
    try:
        task = host.select_task(title)
    except RequestError:  # with options, or of a plugin that is not installed
        return None
    return task.spec.shortcuts.get(title) if task.objective == "classify" else None


class Predictions:
    """The predictions of theorems for models on tasks.

    A model's components are inspected once for each objective: they do not depend on the language.

    Args:
        host: the plugins.
        theory: returns the theoretical properties of a task by its full name.
    """

    def __init__(self, host: PluginHost, theory: Callable[[str], Theory | None]) -> None:
        self._host, self._theory = host, theory
        self._kinds: dict[tuple[str, str], Traits] = {}
        self._known: dict[tuple[str, str], tuple[Prediction, ...]] = {}

    def of(self, model: str, task: str) -> Prediction | None:
        """Return the prediction for a model, given by its name with options, on a task.

        It is that of a theorem or, if no theorem decides, that of an experiment. None if neither
        decides.
        """
        return next(iter(self.each(model, task)), None)

    def each(self, model: str, task: str) -> tuple[Prediction, ...]:
        """Return the predictions of all theorems and experiments that decide.

        There are none for functions from strings to strings, and none for models of local plugins:
        third-party code is not run to show a page.
        """
        if (model, task) not in self._known:
            try:
                self._known[model, task] = self._decided(model, task)
            except FormalbenchError:  # it is not installed, or does not support this task any more
                self._known[model, task] = ()
        return self._known[model, task]

    def _decided(self, model: str, task: str) -> tuple[Prediction, ...]:
        from formalbench.theory.sizes import sizes_of
        from formalbench.theory.theorems import predict_each

        theory = self._theory(task)
        entry, _ = self._host.models.get(parse_instance(model)[0])
        if theory is None or entry.plugin.local is not None or not _decidable(self._host, task):
            return ()
        language = task.partition(":")[0]
        if self._host.objective(self._host.select_task(task).objective).only_viable:
            # Counting may suffice on prefixes of members, but not on all strings.
            theory = replace(
                theory, c_rasp=theory.c_rasp or None, c_rasp_last=theory.c_rasp_last or None
            )
        traits = self._traits(entry, model, task)
        return tuple(
            Prediction(
                verdict,
                theorem.name,
                theorem.evidence,
                theorem.instance(
                    verdict,
                    sizes_of(traits),
                    numbers_of_task(self._host, task) if theorem.needs else None,
                ),
            )
            for verdict, theorem in predict_each(traits, theory, language)
            if verdict != "unknown"
        )

    def _traits(self, entry: Entry[ModelSpec], model: str, task: str) -> Traits:
        """Return the components of a model, with its sizes as notes; cached between calls."""
        from formalbench.contracts.network import Traits, traits_of
        from formalbench.theory.sizes import sizes_of

        # The network of a construction depends on its language.
        about = task if entry.spec.kind == "exact" else self._host.select_task(task).objective

        def built() -> tuple[list[str], str, dict[str, int]]:
            traits = traits_of(self._host.network(model, self._host.task(task)))
            return sorted(traits.mechanisms), traits.eigenvalues, sizes_of(traits)

        if (model, about) not in self._kinds:
            plugin = [entry.plugin.distribution, entry.plugin.version, entry.spec.version]
            home = entry.plugin.module.__name__.partition(".")[0]
            # A network can change while all versions stay the same.
            code = [package_digest(home), package_digest("formalbench")]
            key = ["built of", VERSION, __version__, plugin, code, model, about]
            mechanisms, eigenvalues, sizes = cached(key, built)
            found = Traits(mechanisms=tuple(mechanisms), eigenvalues=eigenvalues, notes=sizes)
            self._kinds[model, about] = found
        return self._kinds[model, about]


def _decidable(host: PluginHost, task: str) -> bool:
    """Whether theorems apply to a task; cached, because the task has to be built to find out."""
    from formalbench.theory.theorems import decidable

    asked = host.select_task(task)
    plugin = asked.plugin
    code = plugin.local.sha256 if plugin.local else plugin.version
    key = ["decidable", __version__, plugin.distribution, code, asked.spec.version, task]
    found: bool = cached(key, lambda: decidable(host.build_task(asked).source))
    return found
