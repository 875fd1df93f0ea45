"""From names to what a record says was used: the model, the task, the metrics, the plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from formalbench.host.calls import PROJECT
from formalbench.host.options import (
    Settings,
    chosen_options,
    instance_options,
    make_config,
    option_facts,
    parse_instance,
)

if TYPE_CHECKING:
    from formalbench.contracts.config import Value
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, TaskUsed
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.registry import Entry


def model_used(host: PluginHost, name: str, settings: Settings) -> ModelUsed:
    """Return a model as a record names it, with the options set.

    Args:
        host: the plugins.
        name: of the model, with options as in ``mine[width=32]``; these win over `settings`.
        settings: what was set; keys it does not have are for others.

    Raises:
        RequestError: for an unknown name, or options that cannot be.
    """
    from formalbench.contracts.record import ModelUsed

    bare, own = parse_instance(name)
    entry, _ = host.models.get(bare)
    return ModelUsed(
        name=bare,
        version=entry.spec.version,
        kind=entry.spec.kind,
        options=_options("model", bare, entry.spec, own, settings),
        source=entry.plugin.source,
    )


def task_used(host: PluginHost, name: str, settings: Settings) -> TaskUsed:
    """Return a task as a record names it, in the full form of its name; see `model_used`."""
    from formalbench.contracts.record import TaskUsed

    bare, own = parse_instance(name)
    entry, _, _ = host.task_entry(bare)
    return TaskUsed(
        name=full_name(host, bare),
        version=entry.spec.version,
        options=_options("task", bare, entry.spec, own, settings),
        source=entry.plugin.source,
    )


def _options(
    scope: str, name: str, spec: ModelSpec | TaskSpec, own: Mapping[str, str], settings: Settings
) -> dict[str, Value]:
    table = option_facts(spec)
    others = tuple(setting for setting in settings if setting.key not in own)
    options = {
        **chosen_options(scope, name, others, table),
        **instance_options(name, own, table),
    }
    make_config(spec, options, name)  # what one option cannot say is refused here
    return options


def full_name(host: PluginHost, task: str) -> str:
    """Return a task's name with its objective: ``parity:classify`` for ``parity``."""
    bare = parse_instance(task)[0]
    return f"{bare.partition(':')[0]}:{host.task_entry(bare)[1]}"


def extra_metrics(host: PluginHost, objective: str) -> dict[str, int]:
    """Return the versions of the metrics measured beside an objective's own, by name."""
    specs = [entry.spec for entry in host.metrics.all()]
    return {spec.name: spec.version for spec in specs if objective in spec.objectives}


def code_of(host: PluginHost, objective: str, protocol: Protocol) -> dict[str, str]:
    """Return where code came from that is not formalbench's own, beside a model's and a task's."""
    entries: dict[str, Entry[Any]] = {
        "objective": host.objectives.get(objective)[0],
        "optimiser": host.optimisers.get(protocol.optimiser.name)[0],
        "schedule": host.schedules.get(protocol.schedule.name)[0],
        "sampler": host.samplers.get(protocol.curriculum.kind)[0],
    }
    for name in protocol.penalties or ():
        entries[f"penalty {name}"] = host.penalties.get(name)[0]
    for entry in host.metrics.all():
        if objective in entry.spec.objectives:
            entries[f"metric {entry.spec.name}"] = entry
    told = {}
    for role, entry in entries.items():
        origin, version = entry.plugin.source, entry.spec.version
        if origin.distribution != PROJECT or origin.sha256 or version != 1:
            text = origin.sha256 or origin.distribution
            told[role] = text if version == 1 else f"{text} version {version}"
    return told


def local_plugins(host: PluginHost, model: str, task: str, protocol: Protocol) -> tuple[str, ...]:
    """Return the file names of the local plugins that a run needs, and of those that read them."""
    objective = full_name(host, task).partition(":")[2]
    probes = protocol.watch.probes if protocol.watch else ()
    plugins = [
        host.models.get(parse_instance(model)[0])[0].plugin,
        host.task_entry(parse_instance(task)[0])[0].plugin,
        *(host.protocols.get(name)[0].plugin for name in host.protocol_chain(protocol.name)),
        host.objectives.get(objective)[0].plugin,
        host.optimisers.get(protocol.optimiser.name)[0].plugin,
        host.schedules.get(protocol.schedule.name)[0].plugin,
        host.samplers.get(protocol.curriculum.kind)[0].plugin,
        *(host.penalties.get(name)[0].plugin for name in protocol.penalties or ()),
        *(e.plugin for e in host.metrics.all() if objective in e.spec.objectives),
        *(host.probes.get(name)[0].plugin for name in probes),
    ]
    needed = [one for plugin in plugins for one in (plugin.reader, plugin) if one and one.local]
    return tuple(dict.fromkeys(one.local.named.name for one in needed if one.local))
