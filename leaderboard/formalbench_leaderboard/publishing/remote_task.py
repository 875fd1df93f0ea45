"""The strings and labels of a plugin's task, drawn in the process that runs its code.

Only arrays and plain data come back; formalbench's own objective uses them to judge answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import Chance
from formalbench.contracts.record import Record
from formalbench.contracts.source import Source, Stream, Symbols
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import (
    TestSet,
    fresh_set,
    has_fixed_test,
    pack_test_set,
    test_set,
    unpack_test_set,
    validation_set,
)
from formalbench.running.sandbox import Report
from formalbench.running.worker import load_host

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

    from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses, Question


FACTS = ("alphabet", "num_classes", "outputs", "closes", "tokenised")
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


def remote_strings(
    processes: PluginProcesses, host: PluginHost, record: Record, seed: int
) -> tuple[Task, dict[str, TestSet]]:
    """Return the task of a record and its sets ``test``, ``validation`` and, if any, ``fresh``.

    Raises:
        RequestError: one line, if the plugin returns something else.
    """
    facts = processes.ask(record, _facts, None)
    sets: dict[str, TestSet] = {}
    levels: dict[tuple[int, ...], Chance] = {}
    try:
        for which in ("test", "validation", "fresh")[: 2 if facts["fixed"] else 3]:
            strings = unpack_test_set(processes.ask(record, _strings, (which, seed)))
            if strings is None:
                raise ValueError(which)
            sets[which] = strings
        for which in ("test", "validation"):
            constant, by_length = facts["chance"][which]
            level = Chance(float(constant), tuple(map(float, by_length)))
            levels[tuple(sets[which].lengths)] = level
        source, objective = RemoteSource(facts["source"]), record.task.name.partition(":")
        task = RemoteTask(
            objective[0], record.task.version, source, host.objective(objective[2]), levels=levels
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RequestError(f"its task sent something that is no set of strings: {error}") from None
    return task, sets


# The following functions run in a sandbox.


def _task(question: Question[Any], report: Report) -> tuple[Task, Record]:
    report("drawing its strings")
    record = question.record
    assert isinstance(record, Record)
    host = load_host(question.plugins)
    return record.protocol.apply(host.task(record.task.name, record.task.options)), record


def _facts(question: Question[None], report: Report) -> dict[str, Any]:
    task, record = _task(question, report)
    source = task.source
    levels = {}
    for which, draw in (("test", test_set), ("validation", validation_set)):
        level = task.chance(draw(task, record.protocol).lengths)
        levels[which] = (level.constant, level.by_length)
    return {
        "source": {name: getattr(source, name) for name in FACTS if hasattr(source, name)},
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
