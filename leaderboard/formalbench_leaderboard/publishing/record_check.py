"""Whether a record may be published: it is planned again, and its test is drawn again.

What a network got right is its author's word until its weights are tested or it is trained again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import ModelUsed, Record, TaskUsed
from formalbench.contracts.verification import STRINGS_VERSION, AnyRecord, VerificationRecord
from formalbench.documents.text import harmless, plural, rate
from formalbench.host.plugin import SESSION
from formalbench.running.estimate import rates_wanted
from formalbench.running.plan import (
    Run,
    extra_metrics,
    model_used,
    run_for,
    task_used,
)
from formalbench.running.sandbox import Report
from formalbench.running.worker import load_host
from formalbench.statistics.records import (
    Contents,
    by_itself,
    contents,
    grouped_by,
    identity,
    model_key,
    protocol_contents,
    run_of,
    title_of,
    words_of,
)
from formalbench.statistics.selection import registered_protocol

from formalbench_leaderboard.publishing.test_check import (
    ExpectedTest,
    Networks,
    check_selected,
    check_test,
    expected_test,
    with_metrics,
)

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost
    from formalbench.host.plugin import LocalPlugin
    from formalbench.running.remote_network import NetworkQuestion

    from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses, Question


_FILE = re.compile(r"[A-Za-z0-9_./+=:-]{1,300}")


def check_texts(record: AnyRecord) -> None:
    """Refuse what pages or people who copy a command would take for something else.

    Raises:
        RequestError: one line that says why.
    """
    for text in _texts(record.model_dump(mode="json")):
        if harmless(text) != text:
            raise RequestError(f"{text!r:.60} has characters that are not allowed")
    if not _is_its_command(record):
        raise RequestError("the recorded command does not match the recorded configuration")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a record, keys of mappings included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (key, *_texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _is_its_command(record: AnyRecord) -> bool:
    """Say whether a command is the one of the record's parts, with any plugins by their files."""
    if isinstance(record, Record) and record.command == run_of(record).command:
        return True  # as thousands are: no need to take it apart
    try:
        words = shlex.split(record.command)
    except ValueError:
        return False
    files = []
    while "--plugin" in words[:-1]:
        at = words.index("--plugin")
        files.append(words[at + 1])
        del words[at : at + 2]
    safe = all(_FILE.fullmatch(file) and not file.startswith("-") for file in files)
    alone = [by_itself(record)] if isinstance(record, Record) else []
    return safe and words in [words_of(record), *alone]


_DIFFERENT_SUMS = 3
"""Sums of a cross-entropy that are neither 0 nor equal: with as many, no two runs agree in all."""


def copied(records: Iterable[Record]) -> list[str]:
    """Say which runs have the very weights or the very sums of another one: one line each.

    Two trainings end in other last digits, and a cross-entropy shows them. Networks that answer
    everything right, or that say the same of every string, may agree: their sums are left out.
    """
    groups: dict[object, dict[str, Record]] = defaultdict(dict)
    for record in records:
        for key in _marks(record):
            groups[key].setdefault(record.train_id, record)
    lines = {}
    for group in groups.values():
        first, *others = group.values()
        for other in others:
            lines[other.train_id] = (
                f"{_named(other)}: its numbers are those of {_named(first)}: one is a copy"
            )
    return list(lines.values())


def _marks(record: Record) -> list[object]:
    """Return what no other training gives."""
    marks: list[object] = [] if record.weights is None else [record.weights]
    sums = record.test.cells.metrics.get(CROSS_ENTROPY) if record.test else None
    if record.test and record.selected and sums and len({*sums.total} - {0}) >= _DIFFERENT_SUMS:
        chosen = record.selected.metrics.get(CROSS_ENTROPY)
        marks.append((record.test.fingerprint, sums.total, chosen and chosen.total))
    return marks


def _named(record: Record) -> str:
    at = "" if record.learning_rate is None else f" at learning rate {rate(record.learning_rate)}"
    return (
        f"{model_key(record)[0]} on {title_of(record)}, {record.protocol.title}, "
        f"seed {record.seed}{at}"
    )


FEWEST_SEEDS = 3
"""That a model's runs on a task are published with, if its protocol has no fewer."""


class Admission:
    """Decides which records a repository takes in.

    Args:
        host: the plugins.
        processes: where their code is asked; None if this is the process of a record's plugins,
            or all code is formalbench's own.
    """

    def __init__(self, host: PluginHost, processes: PluginProcesses | None = None) -> None:
        self._host, self._processes = host, processes
        self._networks = Networks(host, processes)
        # Thousands of records are of few models, tasks and protocols: each is looked up once.
        self._tasks: dict[tuple[str, str, Contents], Task] = {}
        self._tests: dict[tuple[int, str], ExpectedTest] = {}
        self._protocols: dict[Contents, Protocol] = {}
        self._planned: dict[str, Run] = {}

    def admit(self, record: AnyRecord) -> None:
        """Refuse a record, of either kind, that would not be made here.

        Raises:
            RequestError: one line that says why.
        """
        if isinstance(record, VerificationRecord):
            self.check_verification(record)
        else:
            self.check(record)

    def check(self, record: Record) -> None:
        """Refuse the record of a run that would not be planned and tested so here.

        Raises:
            RequestError: one line that says why.
        """
        if record.model.source.distribution == SESSION.name:
            raise RequestError(
                "its model is a class that no file has: put it in one, and run it from there "
                "(--model mine.py:Mine)"
            )
        check_texts(record)
        foreign = self._foreign(record)
        if foreign <= {"model"}:
            check_planned(record, self._plan(record))
        elif self._processes is not None:
            self._processes.ask(record, _admit, None)
        if not foreign & {"task", "objective", "metric"}:
            self._check_drawn(record, foreign)

    def check_verification(self, record: VerificationRecord) -> None:
        """Refuse a verification that would not be planned so here.

        Raises:
            RequestError: one line that says why.
        """
        from formalbench_leaderboard.publishing.verification_check import check_verified

        check_texts(record)
        if record.asked.version != STRINGS_VERSION:
            raise RequestError("its strings were made by another version of `formalbench verify`")
        foreign = self._foreign(record)
        if "task" in foreign and self._processes is not None:
            self._processes.ask(record, _admit, None)
            return
        task = self._task_here(record.task)
        check_used("task", record.task, task)
        check_used("model", record.model, self._model_here(record, foreign))
        if record.verification_id != record.identity:
            raise RequestError("its verification_id is not the hash of what it says was verified")
        check_verified(record, self._host, self._processes if foreign else None)

    def incomplete(self, new: Sequence[Record], held: Iterable[Record]) -> list[str]:
        """Say which seeds and learning rates are missing: one line each.

        A model's runs on a task go in together, or somebody could leave out the bad
        ones: every rate of the protocol's grid (with `fallback`, those that were to be
        tried), and of each the seeds 0 to n - 1, where n is the number of seeds at any rate, and
        at least three, if the protocol has no fewer.

        Args:
            new: the records to publish.
            held: those published already.
        """
        groups = grouped_by(cell_of, [*new, *held])
        with_new = dict.fromkeys(map(cell_of, new))
        return [
            line
            for group in with_new
            for line in (
                *missing_runs(groups[group], self._registered(groups[group][0])),
                *_unpublished(groups[group]),
            )
        ]

    def _foreign(self, record: AnyRecord) -> frozenset[str]:
        return frozenset() if self._processes is None else self._processes.foreign(record)

    def _registered(self, record: Record) -> Protocol:
        """Return the registered protocol of a record's name, version and changes."""
        key = protocol_contents(record.protocol)
        if key not in self._protocols:
            self._protocols[key] = (
                registered_protocol(self._host, record.protocol)
                if self._processes is None
                else self._processes.protocol(record)
            )
        return self._protocols[key]

    def _plan(self, record: Record) -> Run:
        """Return the run that is planned here for what a record says was asked for."""
        used = record.model.model_dump_json(), record.task.model_dump_json()
        key = _as_json([*used, protocol_contents(record.protocol), record.code])
        if key not in self._planned:
            self._task_here(record.task)
            model = self._model_here(record, self._foreign(record))
            self._planned[key] = run_for(self._host, record, self._registered(record), model)
        return replace(self._planned[key], learning_rate=record.learning_rate, seed=record.seed)

    def _task_here(self, task: TaskUsed) -> TaskUsed:
        try:
            self._host.task_entry(task.name)
        except RequestError:
            raise RequestError(_unknown("task", task)) from None
        return task_used(self._host.select_task(task.name, options=task.options))

    def _model_here(self, record: AnyRecord, foreign: frozenset[str]) -> ModelUsed:
        model = record.model
        try:
            entry, _ = self._host.models.get(model.name)
        except RequestError:
            raise RequestError(_unknown("model", model)) from None
        source = entry.plugin.source
        at_hand = contents(0, source) == contents(0, model.source)
        if self._processes is None or "model" not in foreign or not at_hand:
            return model_used(self._host.select_model(model.name, options=model.options))
        told = self._processes.ask_network(record, _model_there)
        return ModelUsed.model_validate({**told, "source": source})

    def _check_drawn(self, record: Record, foreign: frozenset[str]) -> None:
        """Refuse a test on other strings than are drawn here, or of another network."""
        if record.test is None:  # it may have failed before there was a network
            return
        task = self._task(record.task, record.protocol)
        expected = self._expected(record, task)
        check_test(record.test, expected)
        if record.selected is not None:
            check_selected(record.selected, expected.validation)
        if foreign <= {"model"}:
            self._networks.check(record, task)

    def _expected(self, record: Record, task: Task) -> ExpectedTest:
        """Draw the test set of a record's task again; each is drawn once."""
        extra = (record.test and record.test.extra_metrics) or {}
        key = (id(task), _as_json(extra))  # the tasks are kept, so each keeps its id
        if key not in self._tests:
            entry, _, _ = self._host.task_entry(record.task.name)
            with self._host.blaming(entry.plugin):
                known = extra_metrics(self._host, task.objective.name)
                drawn = with_metrics(task, extra, known)
                self._tests[key] = expected_test(drawn, record.protocol)
        return self._tests[key]

    def _task(self, used: TaskUsed, protocol: Protocol) -> Task:
        """Return a task as its protocol applies it; each is built once."""
        key = (used.name, _as_json(used.options), protocol_contents(protocol))
        if key not in self._tasks:
            entry, _, _ = self._host.task_entry(used.name)
            with self._host.blaming(entry.plugin):
                task: Task = self._host.task(used.name, used.options)
                self._tasks[key] = protocol.apply(task)
        return self._tasks[key]


def check_planned(record: Record, planned: Run) -> None:
    """Refuse a record that is not of the run that is planned here.

    Raises:
        RequestError: one line that says what differs.
    """
    check_used("task", record.task, planned.task)
    check_used("model", record.model, planned.model)
    protocol, learned = planned.protocol, record.model.kind == "learned"
    if protocol_contents(record.protocol) != protocol_contents(protocol):
        raise RequestError(f"its protocol differs from the registered {protocol.title}")
    if learned and record.learning_rate not in protocol.learning_rates:
        raise RequestError(f"learning rate {record.learning_rate} is not in {protocol.title}")
    if not learned and record.seed:
        raise RequestError("an exact model has nothing that a seed could change: seed 0 only")
    told = record.code or {}
    for role in sorted({*told, *planned.code}):
        if told.get(role) != planned.code.get(role):
            raise RequestError(f"its {role} was made by other code than the installed one")
    if (record.train_id, record.test_id) != (planned.train_id, planned.test_id):
        raise RequestError("its train_id or test_id is not that of the run that is planned here")


def check_used(kind: str, used: ModelUsed | TaskUsed, here: ModelUsed | TaskUsed) -> None:
    """Refuse a task or model that is not the one that is planned here.

    Raises:
        RequestError: one line that says what differs.
    """
    if used.name != here.name:
        raise RequestError(f"{kind} {used.name} is not in the full form, with its objective")
    if used.version != here.version:
        raise RequestError(
            f"{kind} {used.name} is at version {here.version}, "
            f"the record used version {used.version}"
        )
    if contents(used.version, used.source) != contents(here.version, here.source):
        then, now = used.source.distribution, here.source.distribution
        if then == now:
            raise RequestError(f"{kind} {used.name}: {now} has changed since the record was made")
        raise RequestError(f"{kind} {used.name} came from {then}, here it comes from {now}")
    if _as_json(used.options) != _as_json(here.options):
        raise RequestError(f"{kind} {used.name} has options that `--set` would not give it")
    if isinstance(used, ModelUsed) and isinstance(here, ModelUsed) and used.kind != here.kind:
        raise RequestError(f"model {used.name} is {here.kind}, not {used.kind}")


def missing_runs(records: Sequence[Record], protocol: Protocol) -> list[str]:
    """Say which seeds and learning rates of a model on a task are missing: one line each rate.

    Args:
        records: all there are of the model on the task.
        protocol: under which they were made.
    """
    first = records[0]
    learned = first.model.kind == "learned"
    least = min(protocol.seeds, FEWEST_SEEDS) if learned else 1
    count = max(least, len({record.seed for record in records})) if learned else 1
    lines = []
    for wanted in sorted(rates_wanted(protocol, records)) if learned else [None]:
        seeds = {record.seed for record in records if record.learning_rate == wanted}
        missing = sorted(set(range(count)) - seeds)
        if missing:
            at = "" if wanted is None else f" at learning rate {rate(wanted)}"
            which = f"seed{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"
            lines.append(
                f"{model_key(first)[0]} on {title_of(first)}: {which}{at} missing "
                f"(publish all you ran, at least {plural(least, 'seed')})"
            )
    return lines


def cell_of(record: Record) -> str:
    """Return what all rates and seeds of a model on a task have in common."""
    return identity(record.model_copy(update={"learning_rate": None, "seed": 0}))


def _unpublished(records: Sequence[Record]) -> list[str]:
    """Say which runs trained as one program with these, by their own word, and are not there."""
    held = {(record.learning_rate, record.seed) for record in records}
    cohorts = (record.training.cohort for record in records if record.training)
    told = {(one.learning_rate, one.seed) for cohort in cohorts for one in cohort or ()}
    first = records[0]
    return [
        f"{model_key(first)[0]} on {title_of(first)}: seed {seed} at learning rate {rate(at)} "
        "missing, which others trained together with (publish all you ran)"
        for at, seed in sorted(told - held)
    ]


def _unknown(kind: str, used: ModelUsed | TaskUsed) -> str:
    if used.source.sha256:
        return f"{kind} {used.name} is not known here: name its --plugin {used.source.distribution}"
    return f"{kind} {used.name} is not known here"


def _as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


# What follows runs in a sandbox.


def _admit(question: Question[None], report: Report) -> None:
    report("loading its plugins")
    admission = _admission(question.plugins)
    report("drawing its strings and building its network")
    assert question.record is not None
    admission.admit(question.record)


@lru_cache(maxsize=1)
def _admission(plugins: tuple[LocalPlugin, ...]) -> Admission:
    return Admission(load_host(plugins))


def _model_there(question: NetworkQuestion, report: Report) -> dict[str, Any]:
    report("loading its plugins")
    host, model = load_host(question.plugins), question.model
    chosen = host.select_model(model.name, options=model.options)
    return model_used(chosen).model_dump(mode="json")
