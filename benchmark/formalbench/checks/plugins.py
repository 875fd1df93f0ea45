"""Checking everything a plugin provides, or one task or model by its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.checks.parts import check_parts
from formalbench.checks.plain import plain_facts
from formalbench.checks.promises import Check, begun, keep
from formalbench.checks.trials import asked, trial_task, trials
from formalbench.contracts.errors import MissingPackageError, RequestError, each, unknown
from formalbench.host.options import parse_instance
from formalbench.host.plain_class import PlainFactory, names_class

if TYPE_CHECKING:
    from formalbench.contracts.specs import MetricSpec
    from formalbench.host import LocalPlugin, Plugin, PluginHost

HEAVY = ("torch", "numpy", "pandas", "automata")


def check_plugin(path: Path | str, host: PluginHost | None = None) -> list[Check]:
    """Check everything that a local plugin provides.

    Args:
        path: a .py or .yaml file, a folder, or a plain class: ``mine.py:Mine``.
        host: where to load it; None for a host of its own.
    """
    from formalbench.host import PluginHost
    from formalbench.host.local import find_plugins

    host = host or PluginHost.load()
    checks: list[Check] = []
    for local in find_plugins(Path(path)):
        if host.local_plugin(local) is None:
            checks += _load_lightly(host, local)
        plugin = host.local_plugin(local)
        assert plugin is not None
        host.check_clashes(plugin)
        checks += _check_provided(host, plugin)
    return checks


def _load_lightly(host: PluginHost, local: LocalPlugin) -> list[Check]:
    before = {name for name in HEAVY if name in sys.modules}
    host.load_local(local)
    if local.path.suffix != ".py" and not local.path.is_dir():
        return []  # a YAML file imports nothing itself
    heavy = [name for name in HEAVY if name in sys.modules and name not in before]
    # A single file is imported whole, network and all; only a package can be lazy.
    problem = f"importing it imports {', '.join(heavy)}" if heavy and local.path.is_dir() else ""
    return [Check(f"plugin {local.path.name}", "loads, and listings stay fast", problem)]


def _check_provided(host: PluginHost, plugin: Plugin) -> list[Check]:
    checks: list[Check] = []
    for task in host.tasks.all():
        if task.plugin is plugin:
            checks += _check_task(host, task.spec.name)
    for model in host.models.all():
        if model.plugin is plugin:
            checks += _check_model(host, model.spec.name)
    for suite in host.suites.all():
        if suite.plugin is plugin:
            promise = ("names tasks that exist", partial(_look_up, host, suite.spec.tasks))
            checks += keep(f"suite {suite.spec.name}", iter([promise]))
    for protocol in host.protocols.all():
        if protocol.plugin is plugin:
            promise = ("is valid", partial(_look_up_protocol, host, protocol.spec.name))
            checks += keep(f"protocol {protocol.spec.name}", iter([promise]))
    for table in host.tables.all():
        if table.plugin is plugin:
            promise = ("is valid", partial(_look_up_table, host, table.spec.name))
            checks += keep(f"table {table.spec.name}", iter([promise]))
    for objective in host.objectives.all():
        tried = trial_task(host, objective.spec.name) if objective.plugin is plugin else None
        checks += _check_task(host, tried) if tried else []
    parts = [*check_parts(host, plugin)]
    made = {part.subject for part in parts if part.passed}
    for metric in host.metrics.all():
        if metric.plugin is plugin and f"metric {metric.spec.name}" in made:
            checks += _check_metric(host, metric.spec)
    return [*checks, *parts]


def _check_metric(host: PluginHost, spec: MetricSpec) -> Iterator[Check]:
    from formalbench.checks.judging import judging_promises

    for objective in spec.objectives:
        name = trial_task(host, objective)
        if name is None:
            problem = f"no registered task has the objective {objective}"
            yield Check(f"metric {spec.name}", f"can be tried on {objective}", problem)
        else:
            yield from keep(f"metric {spec.name} on {name}", judging_promises(host.task(name)))


def _look_up(host: PluginHost, tasks: Sequence[str]) -> None:
    each(host.task_entry, tasks)


def _look_up_protocol(host: PluginHost, name: str) -> None:
    watch = host.protocol(name).watch
    each(host.probes.get, watch.probes if watch else ())


def _look_up_table(host: PluginHost, name: str) -> None:
    host.table(name)


def check_spec(host: PluginHost, name: str) -> list[Check]:
    """Check the task or model called `name`.

    Raises:
        RequestError: if there is neither.
    """
    if names_class(name):
        (name,) = host.models_named([name])
    checks: list[Check] = []
    language = parse_instance(name)[0].partition(":")[0]
    known = [e.spec.name for e in host.tasks.all()] + [e.spec.name for e in host.models.all()]
    for registry, check in ((host.tasks, _check_task), (host.models, _check_model)):
        try:
            registry.get(language)
        except RequestError as error:
            if "announced twice" in str(error) or "is a pattern" in str(error):
                raise
            continue
        checks += check(host, name)
    if not checks:
        raise unknown("task or model", name, known, "formalbench list")
    return checks


def _check_task(host: PluginHost, name: str) -> list[Check]:
    from formalbench.checks.tasks import task_promises

    if "{" in name:
        return [Check(f"task {name}", "is a pattern: check one of its names instead")]
    begun.get()(Check(f"task {name}", "can be tried"))
    entry, objective, _ = host.task_entry(name)
    named = ":" in parse_instance(name)[0]
    checks: list[Check] = []
    host.warn_of_overlap(host.task(asked(name, objective)))
    for one in [objective] if named else entry.spec.objectives:
        task = host.task(asked(name, one))
        checks += keep(f"task {task.name}", task_promises(task))
    return checks


def _check_model(host: PluginHost, name: str) -> list[Check]:
    from formalbench.checks.models import model_promises

    if "{" in name:
        return [Check(f"model {name}", "is a pattern: check one of its names instead")]
    checks: list[Check] = []
    begun.get()(Check(f"model {name}", "can be tried"))
    if isinstance(host.models.get(parse_instance(name)[0])[0].spec.factory, PlainFactory):
        checks += plain_facts(host, name)
    for objective, task_name in trials(host, name):
        if task_name is None:
            problem = f"no registered task has the objective {objective}"
            checks.append(Check(f"model {name}", f"can be tried on {objective}", problem))
            continue
        try:
            task = host.task(task_name)
        except MissingPackageError as error:
            print(f"formalbench: {name} was not checked on {task_name}: {error}", file=sys.stderr)
            continue
        begun.get()(Check(f"model {name} on {task.name}", "can be tried"))
        build = partial(host.network, name, task)
        if refused := _refused(build):
            checks.append(Check(f"model {name} on {task.name}", "can be tried", refused))
        else:
            checks += keep(f"model {name} on {task.name}", model_promises(build, task))
    if not checks:
        problem = "it fits no objective that a registered task has"
        checks.append(Check(f"model {name}", "can be tried on a task", problem))
    return checks


def _refused(build: Callable[[], object]) -> str:
    """Say why there is no network for a task; empty if there is one.

    Raises:
        BrokenPluginError: if the plugin's factory fails, as it would for every other promise.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        try:
            build()
        except RequestError as error:
            return str(error)
    return ""
