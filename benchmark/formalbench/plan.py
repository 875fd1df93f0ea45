"""From a request to a plan: the list of runs it means."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.hooks import RunInfo
from formalbench.contracts.specs import Value, display, show_value
from formalbench.host.options import (
    Settings,
    check_settings,
    chosen_options,
)

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, TaskUsed
    from formalbench.host import PluginHost

DEFAULT_SUITE = "default"
MAX_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for with ``formalbench run``; empty means the default.

    Attributes:
        models: model names, or ``all`` (every learned model).
        tasks: task names.
        suite: a suite's name, if no tasks are named.
        protocol: a protocol's name.
        seeds: how many seeds; None for the protocol's number.
        settings: what was set with ``--set``.
    """

    models: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    suite: str = ""
    protocol: str = ""
    seeds: int | None = None
    settings: Settings = ()


@dataclass(frozen=True)
class Run:
    """One (model, its parameters, task, protocol, learning rate, seed).

    Attributes:
        model, task: as a record names them, their source included.
        protocol: the protocol's contents.
        learning_rate: None for an exact model.
        seed: 0, 1, …
        plugins: file names of the local plugins it needs; not part of its identity.
    """

    model: ModelUsed
    task: TaskUsed
    protocol: Protocol
    learning_rate: float | None
    seed: int
    plugins: tuple[str, ...] = ()

    @property
    def run_id(self) -> str:
        """The hash of everything that decides the run's numbers; the device is not part of it.

        A plugin takes part with the version in its spec and with its distribution's name, or,
        if it is local, its contents. A distribution's own version does not: a release that
        changes no number must not invalidate every record.
        """
        # A page asks thousands of runs for this: the protocol's text is made once.
        text = (
            f'{{"learning_rate":{_text(self.learning_rate)},"model":{_identity(self.model)},'
            f'"protocol":{_protocol_identity(self.protocol)},"seed":{_text(self.seed)},'
            f'"task":{_identity(self.task)}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def info(self) -> RunInfo:
        """The run as observers hear of it."""
        return RunInfo(
            run_id=self.run_id,
            model=display(self.model.name, self.model.options),
            task=display(self.task.name, self.task.options),
            protocol=self.protocol.name,
            learning_rate=self.learning_rate,
            seed=self.seed,
            steps=0 if self.learning_rate is None else self.protocol.steps,
        )

    @property
    def command(self) -> str:
        """The command line that repeats the run (and the seeds before it)."""
        words = ["formalbench", "run", "--model", self.model.name, "--task", self.task.name]
        words += ["--protocol", self.protocol.name, "--seeds", str(self.seed + 1)]
        for scope, options in (("model", self.model.options), ("task", self.task.options)):
            for key, value in sorted(options.items()):
                words += ["--set", f"{scope}.{key}={show_value(value)}"]
        for plugin in self.plugins:
            words += ["--plugin", plugin]
        return shlex.join(words)


@lru_cache(maxsize=64)
def _protocol_identity(protocol: Protocol) -> str:
    return _text(protocol.model_dump(mode="json", exclude={"summary"}))


def _identity(used: ModelUsed | TaskUsed) -> str:
    source = used.source.sha256 or used.source.distribution
    facts = {"name": used.name, "version": used.version, "options": used.options}
    return _text({**facts, "source": source})


_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True)
class Plan:
    """The runs of a request, model by model and task by task, and the protocol they share."""

    runs: tuple[Run, ...]
    protocol: Protocol


def make_plan(host: PluginHost, request: Request, device: str) -> Plan:
    """Turn a request into runs.

    Args:
        host: the plugins.
        request: what is asked for.
        device: ``cpu`` or ``cuda:i``, which decides the default protocol.

    Raises:
        RequestError: for a name nobody registered, or a setting that fits nothing.
    """
    models, tasks = check_names(host, request)
    protocol_name = _protocol_name(host, request, device)
    protocol = host.protocol(protocol_name)
    runs: list[Run] = []
    for model in models:
        for task in tasks:
            if not _does(host, model, task, asked=model in request.models):
                continue
            one = Run(
                model_used(host, model, request.settings),
                task_used(host, task, request.settings),
                protocol,
                None,
                0,
                _local_plugins(host, model, task, protocol_name),
            )
            runs += _runs(one, request.seeds or protocol.seeds)
    unique = tuple({run.run_id: run for run in runs}.values())
    return Plan(unique, protocol)


def check_names(host: PluginHost, request: Request) -> tuple[list[str], list[str]]:
    """Return the names of the models and tasks a request means.

    Raises:
        RequestError: for a name nobody registered, or a setting that fits nothing.
    """
    models = _model_names(host, request.models)
    tasks = _task_names(host, request)
    if request.protocol:
        host.protocol(request.protocol)
    if request.seeds is not None and not 1 <= request.seeds <= MAX_SEEDS:
        raise RequestError(f"--seeds {request.seeds}: must be at least 1 and at most {MAX_SEEDS}")
    check_settings(
        request.settings,
        [host.models.get(model)[0].spec.options for model in models],
        [host.task_entry(task)[0].spec.options for task in tasks],
    )
    return models, tasks


def _runs(one: Run, seeds: int) -> list[Run]:
    """Return a run for every learning rate and seed."""
    if one.model.kind == "exact":  # nothing to train, so nothing a seed or a rate could change
        return [one]
    return [
        replace(one, learning_rate=rate, seed=seed)
        for rate in one.protocol.learning_rates
        for seed in range(seeds)
    ]


def _local_plugins(host: PluginHost, model: str, task: str, protocol: str) -> tuple[str, ...]:
    plugins = [
        host.models.get(model)[0].plugin,
        host.task_entry(task)[0].plugin,
        host.protocols.get(protocol)[0].plugin,
    ]
    return tuple(dict.fromkeys(plugin.local.path.name for plugin in plugins if plugin.local))


def _model_names(host: PluginHost, asked: Sequence[str]) -> list[str]:
    if not asked:
        raise RequestError("name a model: --model regulargpt (`formalbench list models`)")
    names: list[str] = []
    for name in asked:
        if name == "all":
            specs = [entry.spec for entry in host.models.all()]
            names += [s.name for s in specs if s.kind == "learned" and "{" not in s.name]
        else:
            host.models.get(name)  # an unknown name fails here
            names.append(name)
    return list(dict.fromkeys(names))


def _task_names(host: PluginHost, request: Request) -> list[str]:
    if request.tasks and request.suite:
        raise RequestError("--task and --suite exclude each other")
    asked = request.tasks or host.suite(request.suite or DEFAULT_SUITE).tasks
    names: list[str] = []
    for name in asked:
        _, objective, _ = host.task_entry(name)
        names.append(f"{name.partition(':')[0]}:{objective}")
    return list(dict.fromkeys(names))


def _protocol_name(host: PluginHost, request: Request, device: str) -> str:
    if request.protocol:
        return request.protocol
    if request.suite and host.suite(request.suite).protocol:
        return host.suite(request.suite).protocol
    kind = device.partition(":")[0]
    for entry in host.protocols.all():
        if entry.spec.device == kind:
            return entry.spec.name
    known = [entry.spec.name for entry in host.protocols.all()]
    raise unknown(f"default protocol for {kind}", "", known)


def model_used(host: PluginHost, name: str, settings: Settings) -> ModelUsed:
    """Return a model as a record names it, with the options set."""
    from formalbench.contracts.record import ModelUsed

    entry, _ = host.models.get(name)
    options: dict[str, Value] = chosen_options("model", name, settings, entry.spec.options)
    return ModelUsed(
        name=name,
        version=entry.spec.version,
        kind=entry.spec.kind,
        options=options,
        source=entry.plugin.source,
    )


def task_used(host: PluginHost, name: str, settings: Settings) -> TaskUsed:
    """Return a task as a record names it, with the options set."""
    from formalbench.contracts.record import TaskUsed

    entry, _, _ = host.task_entry(name)
    options: dict[str, Value] = chosen_options("task", name, settings, entry.spec.options)
    return TaskUsed(
        name=name, version=entry.spec.version, options=options, source=entry.plugin.source
    )


def _does(host: PluginHost, model: str, task: str, *, asked: bool) -> bool:
    """Say whether a model answers a task's objective; one asked for by name must."""
    offered = host.models.get(model)[0].spec.objectives
    objective = task.partition(":")[2]
    if asked and objective not in offered:
        raise RequestError(f"model {model} does not do {objective}: it does {', '.join(offered)}")
    return objective in offered
