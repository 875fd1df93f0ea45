"""What the names in records stand for where they are read: a record of another version is stale."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from formalbench.analysis.keys import (
    Contents,
    ModelKey,
    changed_texts,
    contents,
    model_contents,
    model_key,
    protocol_contents,
    protocol_key,
    task_contents,
)
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Record
from formalbench.contracts.verification import STRINGS_VERSION, AnyRecord

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


def _nothing(key: object) -> Contents | None:
    """Know no contents: the newest among the records then count."""
    return None


Standing = Literal["current", "stale", "unknown"]


@dataclass(frozen=True, slots=True)
class Current:
    """What names stand for where a page is made; None where that is not known.

    Attributes:
        task: by full name.
        protocol: of that name, with the same changes.
        model: by row.
    """

    task: Callable[[str], Contents | None] = _nothing
    protocol: Callable[[Protocol], Contents | None] = _nothing
    model: Callable[[ModelKey], Contents | None] = _nothing

    def standing(self, record: AnyRecord) -> Standing:
        """Say whether a record was made with what its names stand for here.

        Returns:
            ``stale`` if its task, model or protocol is another one here, so that it cannot
            count; ``unknown`` if that is not known of one of them; else ``current``.
        """
        pairs = [
            (self.task(record.task.name), task_contents(record)),
            (self.model(model_key(record)), model_contents(record)),
        ]
        if isinstance(record, Record):
            known = self.protocol(record.protocol)
            pairs.append((known, protocol_contents(record.protocol)))
        elif record.asked.version != STRINGS_VERSION:
            return "stale"
        if any(here is not None and here != then for here, then in pairs):
            return "stale"
        return "unknown" if any(here is None for here, _ in pairs) else "current"

    @classmethod
    def of(cls, records: Iterable[Record]) -> Current:
        """Return what names stood for when these records were made."""
        held = list(records)
        protocols = {protocol_key(record): protocol_contents(record.protocol) for record in held}
        return cls(
            {record.task.name: task_contents(record) for record in held}.get,
            lambda protocol: protocols.get((protocol.title, protocol.version)),
            {model_key(record): model_contents(record) for record in held}.get,
        )


def current_of(host: PluginHost) -> Current:
    """Return what the names in records stand for here."""
    return Current(
        task=cache(partial(current_task, host)),
        protocol=cache(partial(current_protocol, host)),
        model=cache(partial(current_model, host)),
    )


def current_task(host: PluginHost, task: str) -> Contents | None:
    """Return what a task is here, or None if no plugin provides it."""
    try:
        entry, _, _ = host.task_entry(task)
    except RequestError:
        return None
    return contents(entry.spec.version, entry.plugin.source)


def current_protocol(host: PluginHost, protocol: Protocol) -> Contents | None:
    """Return what the protocol of this name and version, with the same changes, is here.

    If no file has this version, the newest is used. None if there is no protocol of this name.
    """
    try:
        return protocol_contents(registered_protocol(host, protocol))
    except RequestError:
        return None


def registered_protocol(host: PluginHost, protocol: Protocol) -> Protocol:
    """Return the registered protocol of this name and version, with the same changes.

    If no file has this version, it is the newest.

    Raises:
        RequestError: if there is none, or it cannot be changed so.
    """
    found: Protocol = host.protocol(protocol.name, changed_texts(protocol), protocol.version)
    return found


def current_model(host: PluginHost, key: ModelKey) -> Contents | None:
    """Return what the model of a row is here, or None if its plugin provides none here."""
    name, distribution = key
    try:
        entry, _ = host.models.get(name.partition("[")[0])
    except RequestError:
        return None
    source = entry.plugin.source
    return contents(entry.spec.version, source) if source.distribution == distribution else None
