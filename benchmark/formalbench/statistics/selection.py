"""Select the records that count: one per run, with the current protocol, task and model.

The order of the records never matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, TypeVar

from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import test_only
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Record
from formalbench.contracts.verification import STRINGS_VERSION, AnyRecord, VerificationRecord
from formalbench.documents.text import plural
from formalbench.statistics.records import (
    Contents,
    ModelKey,
    ProtocolKey,
    contents,
    grouped_by,
    has_result,
    identity,
    model_contents,
    model_key,
    protocol_contents,
    protocol_key,
    task_contents,
)

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


def _nothing(key: object) -> Contents | None:
    """Return None for every key, so that the newest contents among the records count."""
    return None


VersionStatus = Literal["current", "stale", "unknown"]


@dataclass(frozen=True, slots=True)
class CurrentContents:
    """The current contents of tasks, protocols and models; None if unknown.

    Attributes:
        task: returns a task's contents by its full name.
        protocol: returns the contents of the protocol with the same name and changes.
        model: returns a model's contents by row.
    """

    task: Callable[[str], Contents | None] = _nothing
    protocol: Callable[[Protocol], Contents | None] = _nothing
    model: Callable[[ModelKey], Contents | None] = _nothing

    def standing(self, record: AnyRecord) -> VersionStatus:
        """Return whether a record was made with the current task, model and protocol.

        Returns:
            ``stale`` if its task, model or protocol has other contents here, so that it cannot
            count; ``unknown`` if one of them is not known; otherwise ``current``.
        """
        pairs = self._pairs(record)
        if any(here is not None and here != then for here, then in pairs):
            return "stale"
        return "unknown" if any(here is None for here, _ in pairs) else "current"

    def newer(self, record: AnyRecord) -> bool:
        """Return whether a record was made with a newer version than the current one."""
        return any(here is not None and here[0] < then[0] for here, then in self._pairs(record))

    def _pairs(self, record: AnyRecord) -> list[tuple[Contents | None, Contents]]:
        """Return the current and the recorded contents of each name in a record."""
        if isinstance(record, Record):
            setup = self.protocol(record.protocol), protocol_contents(record.protocol)
        else:
            setup = (STRINGS_VERSION, ""), (record.asked.version, "")
        return [
            (self.task(record.task.name), task_contents(record)),
            (self.model(model_key(record)), model_contents(record)),
            setup,
        ]

    def otherwise(self, other: CurrentContents) -> CurrentContents:
        """Return these contents, and those of `other` for what is unknown here."""
        return CurrentContents(
            lambda task: self.task(task) or other.task(task),
            lambda protocol: self.protocol(protocol) or other.protocol(protocol),
            lambda key: self.model(key) or other.model(key),
        )

    @classmethod
    def of(cls, records: Iterable[Record]) -> CurrentContents:
        """Return the contents at the time of these records."""
        records = list(records)
        protocols = {protocol_key(record): protocol_contents(record.protocol) for record in records}
        return cls(
            {record.task.name: task_contents(record) for record in records}.get,
            lambda protocol: protocols.get((protocol.title, protocol.version)),
            {model_key(record): model_contents(record) for record in records}.get,
        )


def current_of(host: PluginHost) -> CurrentContents:
    """Return the contents of the installed tasks, protocols and models."""
    return CurrentContents(
        task=cache(partial(current_task, host)),
        protocol=cache(partial(current_protocol, host)),
        model=cache(partial(current_model, host)),
    )


def current_task(host: PluginHost, task: str) -> Contents | None:
    """Return the contents of a task here; None if no plugin provides it."""
    try:
        selection = host.select_task(task)
    except RequestError:
        return None
    return contents(selection.spec.version, selection.plugin.source)


def current_protocol(host: PluginHost, protocol: Protocol) -> Contents | None:
    """Return the contents of the protocol with this name, version and the same changes.

    If no file has this version, the newest is used. None if there is no protocol with this name.
    """
    try:
        return protocol_contents(registered_protocol(host, protocol))
    except RequestError:
        return None


def registered_protocol(host: PluginHost, protocol: Protocol) -> Protocol:
    """Return the registered protocol with this name, version and the same changes.

    If no file has this version, the newest is returned.

    Raises:
        RequestError: if there is none, or it does not support the changes.
    """
    registered: Protocol = host.protocol(protocol.name, protocol.changed, protocol.version)
    return registered


def current_model(host: PluginHost, key: ModelKey) -> Contents | None:
    """Return the contents of a row's model here; None if its plugin does not provide it."""
    name, distribution = key
    try:
        entry, _ = host.models.get(name.partition("[")[0])
    except RequestError:
        return None
    source = entry.plugin.source
    return contents(entry.spec.version, source) if source.distribution == distribution else None


K = TypeVar("K", bound=Hashable)

R = TypeVar("R", Record, VerificationRecord)


@dataclass(frozen=True, slots=True)
class RecordSelection:
    """The records of one board that count.

    Attributes:
        key: the key of the board.
        records: the records, in the order of their identities.
        notes: the reasons why other records do not count, one line each.
    """

    key: ProtocolKey
    records: list[Record]
    notes: list[str]


def select_records(records: Iterable[Record], current: CurrentContents) -> list[RecordSelection]:
    """Group records by board, and keep those that count.

    A run counts if its protocol, task and model have the current contents according to `current`.
    Contents that `current` does not know are those of the newest version among the records and,
    within one version, of the latest date. The other code of runs on a task, such as an
    optimiser's, is that of the latest date. A task has the same contents on every board.
    """
    runs = distinct(records)
    tasks = wanted(runs, _task, task_contents, current.task)
    boards = sorted(grouped_by(protocol_key, runs).items())
    return [_board(key, group, tasks, current) for key, group in boards]


def checkable(records: Sequence[Record], current: CurrentContents) -> list[Record]:
    """Return the records that can be checked with the installed code; all if there are none.

    Records that did not finish are left out, unless none finished.

    The result supplies the facts of a task for all models on it, so records with a plugin that is
    not installed are not used.
    """
    tested = [record for record in records if has_result(record)] or list(records)
    current_records = [record for record in tested if current.standing(record) == "current"]
    return current_records or tested


def _board(
    key: ProtocolKey, records: list[Record], tasks: dict[str, Contents], current: CurrentContents
) -> RecordSelection:
    registered = current.protocol(records[0].protocol)  # they share its name and changes
    protocols = wanted(records, protocol_key, _protocol, lambda _: registered)
    on_protocol = [record for record in records if _protocol(record) == protocols[key]]
    on_task = [record for record in on_protocol if task_contents(record) == tasks[_task(record)]]
    models = wanted(on_task, model_key, model_contents, current.model)
    on_model = [r for r in on_task if model_contents(r) == models[model_key(r)]]
    codes = wanted(on_model, _task, _code, _nothing)
    counted = [record for record in on_model if _code(record) == codes[_task(record)]]
    notes = _notes(on_protocol, on_task, "task", _task)
    notes += _notes(on_task, on_model, "model", lambda record: model_key(record)[0])
    notes += _notes(on_model, counted, "code of its training", _task)
    if other := len(records) - len(on_protocol):
        runs = plural(other, "run")
        notes.insert(0, f"{runs} not counted, because this protocol has other contents now.")
    return RecordSelection(key, counted, notes)


def _protocol(record: Record) -> Contents:
    return protocol_contents(record.protocol)


def _task(record: Record) -> str:
    return record.task.name


def _code(record: Record) -> Contents:
    """Return the origin of a run's other code: of an optimiser, a penalty, or a reader."""
    code = record.code or {}
    return 0, str(sorted(role for role in code.items() if not test_only(role[0])))


def wanted(
    records: Iterable[R],
    key_of: Callable[[R], K],
    contents_of: Callable[[R], Contents],
    known: Callable[[K], Contents | None],
) -> dict[K, Contents]:
    """Return the contents that count for each name in the records.

    These are the known contents or, if unknown, the latest ones of the newest version.
    """
    newest: dict[K, tuple[int, str, str]] = {}
    for record in records:
        key, (version, text) = key_of(record), contents_of(record)
        entry = (version, record.date, text)
        newest[key] = max(newest.get(key, entry), entry)
    return {key: known(key) or (version, text) for key, (version, _, text) in newest.items()}


def distinct(records: Iterable[Record]) -> list[Record]:
    """Return one record per run, in the order of their identities.

    Among several records of a run, finished ones are preferred, then the earliest, so that
    repeating a published run cannot change its result.
    """
    runs = grouped_by(identity, records)
    return [_preferred(runs[name]) for name in sorted(runs)]


def _preferred(records: Sequence[Record]) -> Record:
    if len(records) == 1:
        return records[0]
    return min(records, key=lambda one: (not has_result(one), one.date, one.to_json()))


def _notes(
    before: list[Record], after: list[Record], kind: str, name_of: Callable[[Record], str]
) -> list[str]:
    ids = set(map(id, after))
    dropped = Counter(name_of(record) for record in before if id(record) not in ids)
    return [
        f"{plural(times, 'run')} of {name} not counted, because the {kind} has a new version."
        for name, times in sorted(dropped.items())
    ]
