"""The processes in which plugins' code answers questions about records.

Code that is not formalbench's own never runs in the process that judges. A plugin's statements
about its own components are trusted; a network's answers to strings are judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import Chance
from formalbench.contracts.protocol import Part, Protocol
from formalbench.contracts.record import Origin, Record
from formalbench.contracts.source import Source, Stream, Symbols
from formalbench.contracts.task import Task
from formalbench.contracts.verification import AnyRecord
from formalbench.evaluation.cells import (
    TestSet,
    fresh_set,
    has_fixed_test,
    pack_test_set,
    test_set,
    unpack_test_set,
    validation_set,
)
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.loader import PROJECT
from formalbench.host.plugin import Plugin
from formalbench.running.plan import local_plugins
from formalbench.running.sandbox import NoAnswerError, Report, Sandbox
from formalbench.running.worker import load_host
from formalbench.statistics.selection import (
    CurrentContents,
    VersionStatus,
    current_of,
    registered_protocol,
)

from formalbench_leaderboard.board.sources import is_built_in
from formalbench_leaderboard.publishing.plugin_sources import named_by

if TYPE_CHECKING:
    from formalbench.running.remote_network import NetworkQuestion, RemoteNetwork


LIMIT = 600.0
"""Maximum seconds without an answer; drawing the strings of a slow language takes minutes."""


LOADING = "loading its plugins"


WRONG_ANSWER = "its plugin sent something else than was asked for"


A = TypeVar("A")


@dataclass(frozen=True)
class Question(Generic[A]):
    """A question about a record for a process; plain data.

    Attributes:
        record: the record; None for a question about a plugin itself.
        plugins: all plugins that are only data files, and the other plugins that the record needs.
        asked: the details of the question.
    """

    record: AnyRecord | None
    plugins: tuple[LocalPlugin, ...]
    asked: A

    @property
    def home(self) -> object:
        """The key of the processes that may answer: the plugins whose code runs in them."""
        used = () if self.record is None else (self.record.model, self.record.task)
        return frozenset(one.source.distribution for one in used), self.plugins


def plugins_needed(record: AnyRecord, host: PluginHost) -> tuple[LocalPlugin, ...]:
    """Return the local plugins that a process needs for a record."""
    needed = named_by(record, host)
    return tuple(one for one in host.locals() if not one.is_code or one in needed)


_SOURCE_FACTS = ("alphabet", "num_classes", "outputs", "closes", "tokenised")
"""Attributes of a source that objectives need to judge answers."""


class RemoteSource(Source):
    """The known attributes of a source whose code runs in another process."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        for name, value in facts.items():
            setattr(self, name, tuple(value) if isinstance(value, list) else value)

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Raise an error: strings are drawn in the other process."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RemoteTask(Task):
    """A task whose strings were drawn in another process.

    Attributes:
        levels: the chance levels of its test and its validation, by their lengths.
    """

    levels: Mapping[tuple[int, ...], Chance] = field(default_factory=dict)

    def chance(self, lengths: Sequence[int]) -> Chance:
        """Return the chance level over cells of these lengths."""
        return self.levels[tuple(lengths)]


class _RecordFacts(Part):
    """What only the process of a record's plugins knows about the record.

    Attributes:
        standing, newer: see `CurrentContents`.
        protocol: the registered protocol; None if there is none.
        plugins: the file names of the local plugins of a run.
    """

    standing: VersionStatus
    newer: bool
    protocol: Protocol | None = None
    plugins: tuple[str, ...] = ()


class PluginProcesses:
    """Runs plugins' code to answer questions about records; code that failed once is not run again.

    Args:
        host: the plugins. The components of plugins that are only noted are requested and added.

    Raises:
        BrokenPluginError: if one of them cannot be loaded.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._records, self._networks = Sandbox(LIMIT), Sandbox(LIMIT)
        self._installed = current_of(host)
        try:
            for plugin in [one for one in host.plugins if one.noted]:
                self._announce(plugin)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._records.end()
        self._networks.end()

    def ask(
        self, record: AnyRecord, function: Callable[[Question[A], Report], Any], asked: A
    ) -> Any:
        """Return the result of a function for a record, in a process that runs its plugins.

        Raises:
            RequestError: one line, if their code fails, ends the process or gives no answer.
        """
        question = Question(record, plugins_needed(record, self._host), asked)
        with self._checked_answer(question.home):
            return self._records.ask(function, question)

    def network(
        self,
        record: AnyRecord,
        task: Task,
        device: str,
        weights: bytes | None = None,
    ) -> RemoteNetwork:
        """Return a record's network, built in a process that knows no labels and no results.

        Without a weights file, the network has the weights that its model builds.

        Raises:
            RequestError: one line, if it cannot be built.
        """
        from formalbench.running.remote_network import build_remotely

        question = self._question(record, device, weights)
        if task.layout == "decoded":  # the process has seen right answers and may remember them
            self._networks.end()
        precision = "fp32" if question.protocol is None else question.protocol.precision
        with self._checked_answer(question.home):
            return build_remotely(self._networks, question, task, precision)

    def strings(self, record: Record, seed: int) -> tuple[Task, dict[str, TestSet]]:
        """Return the task of a record and its sets ``test``, ``validation`` and, if any, ``fresh``.

        Only arrays and plain data come from the plugin; formalbench's own objective uses them to
        judge answers.

        Raises:
            RequestError: one line, if the plugin returns something else.
        """
        facts = self.ask(record, _task_facts, None)
        sets: dict[str, TestSet] = {}
        levels: dict[tuple[int, ...], Chance] = {}
        try:
            for which in ("test", "validation", "fresh")[: 2 if facts["fixed"] else 3]:
                strings = unpack_test_set(self.ask(record, _strings, (which, seed)))
                if strings is None:
                    raise ValueError(which)
                sets[which] = strings
            for which in ("test", "validation"):
                constant, by_length = facts["chance"][which]
                level = Chance(float(constant), tuple(map(float, by_length)))
                levels[tuple(sets[which].lengths)] = level
            name, _, objective = record.task.name.partition(":")
            source, asked = RemoteSource(facts["source"]), self._host.objective(objective)
            task = RemoteTask(name, record.task.version, source, asked, levels=levels)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RequestError(
                f"its task sent something that is no set of strings: {error}"
            ) from None
        return task, sets

    def ask_network(
        self, record: AnyRecord, function: Callable[[NetworkQuestion, Report], Any]
    ) -> Any:
        """Return the result of a function for a record's model, in the process of networks.

        Raises:
            RequestError: one line, if its code ends the process or gives no answer.
        """
        question = self._question(record, "cpu", None)
        with self._checked_answer(question.home):
            return self._networks.ask(function, question)

    def foreign(self, record: AnyRecord) -> frozenset[str]:
        """Return the components of a record that run code which is not formalbench's own.

        Returns:
            Some of ``model``, ``task``, ``objective``, ``metric`` and ``training``: an optimiser, a
            schedule, a sampler or a penalty.
        """
        noted = [plugin.local for plugin in self._host.plugins if plugin.noted]
        data = [one for one in self._host.locals() if not one.is_code]
        own = {one.sha256 for one in data if one not in noted}

        def is_foreign(source: Origin) -> bool:
            return not is_built_in(source) and source.sha256 not in own

        parts = {name for name in ("model", "task") if is_foreign(getattr(record, name).source)}
        for role, origin in ((isinstance(record, Record) and record.code) or {}).items():
            if origin.partition(" version ")[0] != PROJECT:
                kind = role.split()[0]
                parts.add(kind if kind in ("objective", "metric") else "training")
        return frozenset(parts)

    def is_own_run(self, record: AnyRecord) -> bool:
        """Whether everything except a record's model is formalbench's own code."""
        return self.foreign(record) <= {"model"}

    def protocol(self, record: Record) -> Protocol:
        """Return the registered protocol of a record, by its name and version, with its changes.

        Raises:
            RequestError: if there is none.
        """
        if self.is_own_run(record):
            return registered_protocol(self._host, record.protocol)
        protocol = self._facts(record).protocol
        if protocol is None:
            raise RequestError("its plugin does not know its protocol")
        return protocol

    def sources(self, record: AnyRecord) -> list[LocalPlugin]:
        """Return the local plugins that a record needs, including those of its protocol."""
        plugins = named_by(record, self._host)
        if not isinstance(record, Record):
            return plugins
        own = self.is_own_run(record)
        names = _names(self._host, record) if own else self._facts(record).plugins
        return [one for one in self._host.locals() if one in plugins or one.named.name in names]

    def standing(self, record: AnyRecord) -> VersionStatus:
        """Whether a record has the versions that are installed here; see `CurrentContents`."""
        own = self.is_own_run(record)
        return self._installed.standing(record) if own else self._facts(record).standing

    def newer(self, record: AnyRecord) -> bool:
        """Whether a record was made with a newer version than the one that is installed here."""
        own = self.is_own_run(record)
        return self._installed.newer(record) if own else self._facts(record).newer

    def _facts(self, record: AnyRecord) -> _RecordFacts:
        """Return the plugins' facts on a record with names that only plugins can resolve."""
        try:
            return _RecordFacts.model_validate(self.ask(record, _facts, None))
        except ValueError:
            raise RequestError(WRONG_ANSWER) from None

    def _question(self, record: AnyRecord, device: str, weights: bytes | None) -> NetworkQuestion:
        from formalbench.running.remote_network import NetworkQuestion

        protocol, seed = None, 0
        if isinstance(record, Record):
            protocol, seed = record.protocol, record.seed
        return NetworkQuestion(
            model=record.model,
            task=record.task,
            protocol=protocol,
            seed=seed,
            plugins=plugins_needed(record, self._host),
            device=device,
            weights=weights,
        )

    @contextmanager
    def _checked_answer(self, home: object) -> Iterator[None]:
        """Turn a failure into a one-line error, and refuse code that gave no answer before."""
        lost = self._records.lost.get(home) or self._networks.lost.get(home)
        if lost is not None:
            raise RequestError(str(lost))
        try:
            yield
        except NoAnswerError as error:
            raise RequestError(str(error)) from None
        except (RuntimeError, MemoryError) as error:  # its code may raise either
            line = " ".join(f"{type(error).__name__}: {error}".split())
            raise RequestError(line) from None

    def _announce(self, plugin: Plugin) -> None:
        """Add the components that a noted plugin provides."""
        data = [one for one in self._host.locals() if not one.is_code]
        own = [] if plugin.local is None or plugin.local in data else [plugin.local]
        question = Question(None, (*data, *own), plugin.describe())
        with self._checked_answer(question.home):
            answer = self._records.ask(_component_specs, question)
        try:
            specs = {
                kind: [_spec(self._host.registries[kind].spec_type, one) for one in answer[kind]]
                for kind in _KINDS
            }
            self._host.announce(plugin, specs)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RequestError(f"plugin {plugin.describe()}: {error}") from None


_KINDS = ("models", "protocols", "tables", "reproductions")
"""Components that are announced for a plugin whose code is not loaded."""


_CODE = ("factory", "config", "defaults")
"""Fields of specs that are code, or belong to code."""


def _spec(kind: type[Any], fields: dict[str, Any]) -> Any:
    """Return a spec of a plugin whose code is not loaded."""
    parts = {}
    for name, value in fields.items():
        if name in ("path", "earlier"):  # paths of data files
            value = tuple(map(Path, value)) if isinstance(value, list) else Path(value)
        parts[name] = tuple(value) if isinstance(value, list) else value
    if "factory" in kind.__dataclass_fields__:
        parts["factory"] = _NOWHERE
    return kind(**parts)


_NOWHERE = "a_plugin:not_loaded"
"""The factory of a model whose code is not loaded."""


# The following functions run in a sandbox.


def _component_specs(question: Question[str], report: Report) -> dict[str, Any]:
    report(LOADING)
    host = load_host(question.plugins)

    return {
        kind: [
            _plain(one.spec)
            for one in host.registries[kind].every()
            if one.plugin.describe() == question.asked
        ]
        for kind in _KINDS
    }


def _plain(spec: Any) -> dict[str, Any]:
    """Return the fields of a spec that are not code, as JSON values."""

    def plain(value: Any) -> Any:
        return str(value) if isinstance(value, Path) else value

    parts = {name: getattr(spec, name) for name in spec.__dataclass_fields__ if name not in _CODE}
    return {
        name: [*map(plain, one)] if isinstance(one, tuple) else plain(one)
        for name, one in parts.items()
    }


def _facts(question: Question[None], report: Report) -> dict[str, Any]:
    report(LOADING)
    record, host, current = question.record, load_host(question.plugins), _current(question.plugins)
    assert record is not None
    facts: dict[str, Any] = {
        "standing": current.standing(record),
        "newer": current.newer(record),
    }
    if isinstance(record, Record):
        with suppress(RequestError):  # the record's standing reports this
            protocol = registered_protocol(host, record.protocol).model_dump(mode="json")
            facts |= {"protocol": protocol, "plugins": _names(host, record)}
    return facts


def _names(host: PluginHost, record: Record) -> tuple[str, ...]:
    model, task = host.select_model(record.model.name), host.select_task(record.task.name)
    return local_plugins(host, model, task, record.protocol)


@lru_cache(maxsize=1)
def _current(plugins: tuple[LocalPlugin, ...]) -> CurrentContents:
    return current_of(load_host(plugins))


def _task(question: Question[Any], report: Report) -> tuple[Task, Record]:
    report("drawing its strings")
    record = question.record
    assert isinstance(record, Record)
    host = load_host(question.plugins)
    return record.protocol.apply(host.task(record.task.name, record.task.options)), record


def _task_facts(question: Question[None], report: Report) -> dict[str, Any]:
    task, record = _task(question, report)
    source = task.source
    levels = {}
    for which, draw in (("test", test_set), ("validation", validation_set)):
        level = task.chance(draw(task, record.protocol).lengths)
        levels[which] = (level.constant, level.by_length)
    return {
        "source": {name: getattr(source, name) for name in _SOURCE_FACTS if hasattr(source, name)},
        "fixed": has_fixed_test(task),
        "chance": levels,
    }


def _strings(question: Question[tuple[str, int]], report: Report) -> bytes:
    task, record = _task(question, report)
    which, seed = question.asked
    if which == "fresh":
        return pack_test_set(fresh_set(task, record.protocol, seed))
    draw = test_set if which == "test" else validation_set
    return pack_test_set(draw(task, record.protocol))
