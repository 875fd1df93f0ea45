"""What a protocol names that plugins provide: its optimiser, its schedule, its probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from formalbench.contracts.optimiser import Optimiser, Schedule
from formalbench.contracts.protocol import Choice, Protocol
from formalbench.host.host import load
from formalbench.host.options import make_config

if TYPE_CHECKING:
    from formalbench.host import PluginHost
    from formalbench.probes.reading import Read


@dataclass(frozen=True)
class Recipe:
    """What a protocol names, resolved.

    Attributes:
        optimiser: of every run.
        schedule: of their learning rates.
        probes: what its `watch` reads, by name.
    """

    optimiser: Optimiser
    schedule: Schedule
    probes: Mapping[str, Read] = field(default_factory=dict)


def make_recipe(host: PluginHost, protocol: Protocol) -> Recipe:
    """Look up what a protocol names.

    Raises:
        RequestError: for an unknown name, or an option that is refused.
        BrokenPluginError: if a plugin's factory fails.
    """
    names = protocol.watch.probes if protocol.watch else ()
    return Recipe(
        _make(host, host.optimisers, protocol.optimiser, Optimiser),
        _make(host, host.schedules, protocol.schedule, Schedule),
        {name: _load_probe(host, name) for name in names},
    )


def _make(host: PluginHost, registry: Any, choice: Choice, kind: type) -> Any:
    entry, _ = registry.get(choice.name)
    what = f"{registry.kind} {choice.name}"
    with host.blaming(entry.plugin):
        config = make_config(entry.spec, choice.options, what)
        factory = load(entry.spec.factory)
        made = factory() if config is None else factory(config)
        if not isinstance(made, kind):
            raise TypeError(f"the factory of {what} gave a {type(made).__name__}")
    return made


def _load_probe(host: PluginHost, name: str) -> Read:
    entry, _ = host.probes.get(name)
    with host.blaming(entry.plugin):
        read: Read = load(entry.spec.factory)
    return read
