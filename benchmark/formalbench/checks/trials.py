"""On which tasks a model is tried: one for each objective that its networks can answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalbench.contracts.errors import MissingPackageError, RequestError
from formalbench.host.names import fill_fields
from formalbench.host.options import parse_instance

if TYPE_CHECKING:
    from formalbench.host import PluginHost

TRIAL_FIELD = 2
"""The value of each field, where a model can be tried only on a task whose name is a pattern."""


def trials(host: PluginHost, model: str) -> Iterator[tuple[str, str | None]]:
    """Yield the objectives that a model is tried on, each with a task.

    A task whose package is not installed is yielded too: whether the model answers it is unknown.

    One that names its objectives is tried on all of them, and None stands for the task of an
    objective that no task has. Any other is tried wherever its network can answer.
    """
    entry, fields = host.models.get(parse_instance(model)[0])
    own = entry.spec.task.format(**fields)
    for objective in entry.spec.objectives:
        yield objective, asked(own, objective) if own else trial_task(host, objective)
    if entry.spec.objectives:
        return
    for registered in host.objectives.all():
        objective = registered.spec.name
        task = _of(host, own, objective) if own else trial_task(host, objective)
        if task is not None and _answers(host, model, task):
            yield objective, task


def asked(task: str, objective: str) -> str:
    """Return the name of a task that is asked something else, its options kept.

    Example:
        >>> asked("parity:classify[p=0.3]", "tag")
        'parity:tag[p=0.3]'
    """
    name, bracket, options = task.partition("[")
    return f"{name.partition(':')[0]}:{objective}{bracket}{options}"


def trial_task(host: PluginHost, objective: str) -> str | None:
    """Return a task with an objective: of the default suite, or else any that can be asked it."""
    suite = [parse_instance(task)[0] for task in host.suite("default").tasks]
    names = (*suite, *(entry.spec.name for entry in host.tasks.all()))
    sources = [fill_fields(name.partition(":")[0], TRIAL_FIELD) for name in names]
    for source in sources:
        if objective in host.task_entry(source)[0].spec.objectives:
            return asked(source, objective)
    return next((task for source in sources if (task := _of(host, source, objective))), None)


def _of(host: PluginHost, source: str, objective: str) -> str | None:
    """Return the task of a source with an objective; None if that cannot be asked of it."""
    task = asked(source, objective)
    try:
        host.task_entry(task)
    except RequestError:
        return None
    return task


def _answers(host: PluginHost, model: str, task: str) -> bool:
    """Say whether the engine takes a model's network for a task, as far as it can be built.

    Raises:
        MissingPackageError: if the model needs a package.
    """
    import torch

    from formalbench.contracts.network import traits_of

    try:
        built = host.task(task)
    except MissingPackageError:
        return True
    with torch.random.fork_rng(devices=[]):
        try:
            network = host.network(model, built)
        except MissingPackageError:  # it would be so on every task
            raise
        except RequestError:
            return False
    return built.layout == "decoded" or not traits_of(network).encoder_decoder
