"""How the runs of a row were made: its options, its protocol, where they ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formalbench.analysis.text import MISSING, count, rate
from formalbench.contracts.config import Value
from formalbench.contracts.record import Origin, Record
from formalbench.contracts.specs import show_value

Defaults = Callable[[str], Mapping[str, Value]]
"""Of a model by its name, the default of every option; nothing where no plugin has it."""

Settings = dict[str, str]
"""By what it is, how it was set: text for people."""

_TOLD_APART = ("name", "version", "summary", "schema_version", "changed", "seeds")
"""Of a protocol: its title has it, or it decides nothing that is not told besides."""


_OPTION = "option "


@dataclass(frozen=True, slots=True)
class Unlike:
    """What two models were not run alike in; a dash for one that has no such thing."""

    name: str
    a: str
    b: str


def settings_of(records: Sequence[Record], defaults: Defaults) -> Settings:
    """Return how the runs of one row were made.

    Args:
        records: the runs of the row that count, at least one.
        defaults: of the options that a run does not set.
    """
    model, protocol = records[0].model, records[0].protocol
    found = {
        f"{_OPTION}{key}": show_value(value)
        for key, value in sorted({**defaults(model.name), **model.options}.items())
    }
    sizes = [record.model.parameters for record in records]
    found["parameters"] = count(min(sizes), max(sizes))
    found["model version"] = str(model.version)
    found["model from"] = _origin(model.source)
    found["protocol"] = f"{protocol.title} (version {protocol.version})"
    data = protocol.model_dump(mode="json", exclude=set(_TOLD_APART), exclude_none=True)
    found |= {f"protocol {key}": text for key, text in _flat(data)}
    found["learning rate"] = _each(rate(record.learning_rate) for record in records)
    found["seeds"] = ", ".join(map(str, sorted({record.seed for record in records})))
    found["hardware"] = _each(record.environment.hardware for record in records)
    names = {name for record in records for name in record.environment.versions}
    for name in sorted(names):
        versions = (record.environment.versions.get(name, MISSING) for record in records)
        found[f"{name} version"] = _each(versions)
    return found


def differing(a: Settings, b: Settings) -> list[Unlike]:
    """Return what two rows were not run alike in.

    An option that only one of them has is left out: another model has other options, and those
    that are set are in its name.
    """
    return [
        Unlike(name, a.get(name, MISSING), b.get(name, MISSING))
        for name in dict.fromkeys((*a, *b))
        if a.get(name) != b.get(name)
        and not (name.startswith(_OPTION) and (name not in a or name not in b))
    ]


def _origin(source: Origin) -> str:
    what = f" {source.version}" if source.version else ""
    return f"{source.distribution}{what}" + (f" ({source.sha256[:8]})" if source.sha256 else "")


def _flat(data: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", show_value(value)


def _each(texts: Iterable[str]) -> str:
    return ", ".join(sorted(set(texts)))
