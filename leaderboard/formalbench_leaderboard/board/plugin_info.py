"""What installed plugins know about models and tasks, for the map and for the evidence pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from formalbench.contracts.config import Value
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.network import Stateful
from formalbench.contracts.protocol import Window
from formalbench.host.options import OptionFacts, option_facts
from formalbench.host.registry import Entry
from formalbench.statistics.result import Prediction
from formalbench.theory.lookup import modulus_of_task

from formalbench_leaderboard.board.sources import is_built_in
from formalbench_leaderboard.board.views import Predictions, theory_here

if TYPE_CHECKING:
    from formalbench import Theory
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.statistics.board import Row


STATE_LENGTH = 40
"""String length in symbols after which the size of a model's state is measured."""


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """Properties of models and tasks that are not in their records; all are functions of a name.

    Attributes:
        family: the family of a model, by its name with options.
        theory: the theoretical properties of a task, by its full name.
        modulus: the number modulo which a task's language counts.
        trained_to: the longest training length of a task.
        predicted: the prediction of theorems for a model on a task.
    """

    family: Callable[[str], str] = lambda model: model.partition("[")[0]
    theory: Callable[[str], Theory | None] = lambda task: None
    modulus: Callable[[str], int | None] = lambda task: None
    trained_to: Callable[[str], int | None] = lambda task: None
    predicted: Callable[[str, str], Prediction | None] = lambda model, task: None


def known_here(
    host: PluginHost,
    theory: Callable[[str], Theory | None] | None = None,
    *,
    own: bool = False,
) -> PluginFacts:
    """Return functions that look up properties of models and tasks in the plugins.

    Args:
        host: the plugins.
        theory: returns theoretical properties of a task by its full name, or None if unknown; by
            default those that `host` knows.
        own: whether to leave out models and tasks that do not come with formalbench.
    """
    theory_of = theory or cache(partial(theory_here, host))
    predictions = Predictions(host, theory_of)

    def family(model: str) -> str:
        entry = model_here(host, model, own=own)
        name = entry.spec.family if entry else ""
        return name or model.partition("[")[0]

    def modulus(task: str) -> int | None:
        try:
            return modulus_of_task(host, task) if theory_of(task) else None
        except FormalbenchError:
            return None

    def trained_to(title: str) -> int | None:
        lengths = trained_on(host, title) if task_here(host, title, own=own) else None
        return lengths and lengths[1]

    def predicted(model: str, task: str) -> Prediction | None:
        return predictions.of(model, task) if model_here(host, model, own=own) else None

    return PluginFacts(cache(family), theory_of, cache(modulus), cache(trained_to), predicted)


def model_here(host: PluginHost, model: str, *, own: bool = False) -> Entry[ModelSpec] | None:
    """Return a model by its name with options; None if no installed plugin has it.

    With `own`, only formalbench itself counts.
    """
    try:
        entry = host.models.get(model.partition("[")[0])[0]
    except RequestError:
        return None
    return entry if not own or is_built_in(entry.plugin.source) else None


def task_here(host: PluginHost, task: str, *, own: bool = False) -> Entry[TaskSpec] | None:
    """Return a task by its name; None if no installed plugin has it (`own`: as in `model_here`)."""
    try:
        selected = host.select_task(task)
    except RequestError:
        return None
    found = not own or is_built_in(selected.plugin.source)
    return Entry(selected.spec, selected.plugin) if found else None


def state_here(host: PluginHost, row: Row, task: str) -> int | None:
    """Return the size of a built-in model's state, in numbers.

    Args:
        host: the plugins.
        row: the model.
        task: determines the alphabet.

    Returns:
        The size after `STATE_LENGTH` symbols; None if the network does not report it.
    """
    if model_here(host, row.model, own=True) is None:
        return None
    try:
        network = host.network(row.model, host.task(task))
    except FormalbenchError:
        return None
    network = getattr(network, "backbone", network)
    return network.state_size(STATE_LENGTH) if isinstance(network, Stateful) else None


def options_here(host: PluginHost, model: str) -> dict[str, OptionFacts]:
    """Return the facts of each option of a model; empty if it is not installed, or broken."""
    try:
        return option_facts(host.models.get(model)[0].spec)
    except FormalbenchError:
        return {}


def defaults_here(host: PluginHost, model: str) -> Mapping[str, Value]:
    """Return the default of each option of a model."""
    return {key: fact["default"] for key, fact in options_here(host, model).items()}


def trained_on(host: PluginHost, task: str) -> Window | None:
    """Return the shortest and longest training length of a task; None if it is not installed."""
    try:
        return host.task(task).splits.train
    except FormalbenchError:
        return None
