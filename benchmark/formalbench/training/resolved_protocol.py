"""Look up the parts of a protocol that plugins provide: optimiser, schedule, sampler, probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from formalbench.contracts.optimiser import Optimiser, Schedule
from formalbench.contracts.penalty import Penalty, Weighted
from formalbench.contracts.protocol import Options, Protocol
from formalbench.contracts.sampler import Sampler
from formalbench.host.host import load
from formalbench.host.options import make_config

if TYPE_CHECKING:
    from formalbench.host import PluginHost
    from formalbench.probes import Read


@dataclass(frozen=True)
class Recipe:
    """The resolved parts of a protocol.

    Attributes:
        optimiser: the optimiser of every run.
        schedule: the learning-rate schedule.
        sampler: draws lengths and strings.
        penalties: weighted terms that are added to the loss.
        probes: the functions that `watch` reads, by name.
    """

    optimiser: Optimiser
    schedule: Schedule
    sampler: Sampler
    penalties: Sequence[Weighted] = ()
    probes: Mapping[str, Read] = field(default_factory=dict)


def make_recipe(host: PluginHost, protocol: Protocol) -> Recipe:
    """Look up the parts that a protocol names.

    Raises:
        RequestError: for an unknown name, or an invalid option.
        BrokenPluginError: if a plugin's factory fails.
    """
    names = protocol.watch.probes if protocol.watch else ()
    return Recipe(
        _make(host, host.optimisers, protocol.optimiser.name, protocol.optimiser, Optimiser),
        _make(host, host.schedules, protocol.schedule.name, protocol.schedule, Schedule),
        make_sampler(host, protocol),
        [
            Weighted(name, weight, _make(host, host.penalties, name, None, Penalty))
            for name, weight in (protocol.penalties or {}).items()
        ],
        {name: _load_probe(host, name) for name in names},
    )


def make_sampler(host: PluginHost, protocol: Protocol) -> Sampler:
    """Look up the sampler that a protocol's curriculum names; see `make_recipe`."""
    chosen = protocol.curriculum
    sampler: Sampler = _make(host, host.samplers, chosen.kind, chosen, Sampler)
    return sampler


def _make(host: PluginHost, registry: Any, name: str, choice: Options | None, kind: type) -> Any:
    entry, _ = registry.get(name)
    what = f"{registry.kind} {name}"
    with host.blaming(entry.plugin):
        config = make_config(entry.spec, choice.options, what) if choice else None
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
