"""Whether a record may be published: its run is planned again, and its test strings are redrawn.

The recorded accuracy is not checked until the weights are tested or the run is trained again.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import ModelUsed, Record, TaskUsed
from formalbench.contracts.task import Task
from formalbench.contracts.verification import STRINGS_VERSION, AnyRecord, VerificationRecord
from formalbench.documents.text import harmless, rate
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.plugin import SESSION
from formalbench.running.plan import (
    Run,
    extra_metrics,
    model_used,
    run_for,
    task_used,
)
from formalbench.running.remote_network import NetworkQuestion
from formalbench.running.sandbox import Report
from formalbench.running.worker import load_host
from formalbench.statistics.records import (
    Contents,
    by_itself,
    contents,
    counts_of,
    grouped_by,
    has_result,
    identity,
    model_key,
    protocol_contents,
    run_of,
    title_of,
    words_of,
)
from formalbench.statistics.selection import registered_protocol
from formalbench.store.weights import bounded, pack
from torch import nn

from formalbench_leaderboard.board.sources import cell_of, missing_runs
from formalbench_leaderboard.publishing.evaluation_check import (
    ExpectedTest,
    check_selected,
    check_test,
    check_verified,
    expected_test,
    with_metrics,
)
from formalbench_leaderboard.publishing.places import check_fields
from formalbench_leaderboard.publishing.untrusted_plugins import (
    WRONG_ANSWER,
    PluginProcesses,
    Question,
)
from formalbench_leaderboard.publishing.weights import lacks_weights

_FILE = re.compile(r"[A-Za-z0-9_./+=:-]{1,300}")


def check_texts(record: AnyRecord) -> None:
    """Refuse fields that pages, or people who copy a command, could misinterpret.

    Raises:
        RequestError: one line that says why.
    """
    for text in _texts(record.model_dump(mode="json")):
        if harmless(text) != text:
            raise RequestError(f"{text!r:.60} has characters that are not allowed")
    if not _command_matches(record):
        raise RequestError("the recorded command does not match the recorded configuration")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a record, including the keys of mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (key, *_texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _command_matches(record: AnyRecord) -> bool:
    """Whether the recorded command matches the record; the paths of plugins may be any."""
    if isinstance(record, Record) and record.command == run_of(record).command:
        return True  # true for most records; parsing the command would be slower
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
    single = [by_itself(record)] if isinstance(record, Record) else []
    return safe and words in [words_of(record), *single]


_DIFFERENT_SUMS = 3
"""With this many different, nonzero sums of cross-entropies, two runs never agree in all."""


def copied(records: Iterable[Record]) -> list[str]:
    """Return the runs with the same weights or the same sums as another run, one line each.

    Two trainings differ in their last digits, which is visible in a cross-entropy. Networks that
    answer everything right, or give the same answer to every string, may agree; their sums are not
    compared.
    """
    groups: dict[object, dict[str, Record]] = defaultdict(dict)
    for record in records:
        for key in _fingerprints(record):
            groups[key].setdefault(record.train_id, record)
    lines = {}
    for group in groups.values():
        first, *others = group.values()
        for other in others:
            lines[other.train_id] = (
                f"{_title(other)}: its numbers are those of {_title(first)}: one is a copy"
            )
    return list(lines.values())


def _fingerprints(record: Record) -> list[object]:
    """Return the values that identify a training: no other training has the same."""
    marks: list[object] = [] if record.weights is None else [record.weights]
    sums = record.test.cells.metrics.get(CROSS_ENTROPY) if record.test else None
    if record.test and record.selected and sums and len({*sums.total} - {0}) >= _DIFFERENT_SUMS:
        chosen = record.selected.metrics.get(CROSS_ENTROPY)
        marks.append((record.test.fingerprint, sums.total, chosen and chosen.total))
    return marks


def _title(record: Record) -> str:
    at = "" if record.learning_rate is None else f" at learning rate {rate(record.learning_rate)}"
    return (
        f"{model_key(record)[0]} on {title_of(record)}, {record.protocol.title}, "
        f"seed {record.seed}{at}"
    )


def disagreeing(records: Mapping[Path, AnyRecord]) -> list[str]:
    """Return the runs and verifications of which several records have different numbers."""
    files = [file for file, record in records.items() if has_result(record)]
    groups = grouped_by(lambda file: identity(records[file]), files)
    return [
        f"{first} and {other}: two records of one "
        f"{'run' if isinstance(records[other], Record) else 'verification'}, and their "
        "numbers differ: publish one of them"
        for first, *others in groups.values()
        for other in others
        if counts_of(records[other]) != counts_of(records[first])
    ]


class Admission:
    """Decides which records a repository accepts.

    Args:
        host: the plugins.
        processes: where their code runs; None if this is the process of a record's plugins,
            or all code is formalbench's own.
    """

    def __init__(self, host: PluginHost, processes: PluginProcesses | None = None) -> None:
        self._host, self._processes = host, processes
        # Thousands of records share few models, tasks and protocols, so each is looked up once.
        self._tasks: dict[tuple[str, str, Contents], Task] = {}
        self._tests: dict[tuple[int, str], ExpectedTest] = {}
        self._protocols: dict[Contents, Protocol] = {}
        self._planned: dict[str, Run] = {}
        self._networks: dict[tuple[str, int], tuple[int, bool]] = {}

    def admit(self, record: AnyRecord) -> None:
        """Refuse a record of a run or a verification that this installation would not produce.

        Raises:
            RequestError: one line that says why.
        """
        if isinstance(record, VerificationRecord):
            self._admit_verification(record)
        else:
            self._admit_run(record)

    def _admit_run(self, record: Record) -> None:
        """Refuse the record of a run with another plan or other test strings than here."""
        if record.model.source.distribution == SESSION.name:
            hint = "put it in one, and run it from there (--model mine.py:Mine)"
            raise RequestError(f"its model is a class that no file has: {hint}")
        check_texts(record)
        foreign = self._foreign(record)
        if foreign <= {"model"}:
            planned = self._plan(record)
            _check_code(record, planned)
            check_fields(_facts(record), _facts(planned))
        elif self._processes is not None:
            self._processes.ask(record, _admit, None)
        if not foreign & {"task", "objective", "metric"}:
            self._check_strings(record, foreign)

    def _admit_verification(self, record: VerificationRecord) -> None:
        """Refuse a verification with another plan than here."""
        check_texts(record)
        foreign = self._foreign(record)
        if "task" in foreign and self._processes is not None:
            self._processes.ask(record, _admit, None)
            return
        task, model = self._installed_task(record.task), self._installed_model(record, foreign)
        request = record.asked.model_copy(update={"version": STRINGS_VERSION})
        here = record.model_copy(update={"task": task, "model": model, "asked": request})
        here = here.model_copy(update={"verification_id": record.identity})
        _check_code(record, here)
        check_fields(_verification_facts(record), _verification_facts(here))
        check_verified(record, self._host, self._processes if foreign else None)

    def incomplete(self, new: Sequence[Record], held: Iterable[Record]) -> list[str]:
        """Return the seeds and learning rates that are missing, one line each.

        The runs of a model on a task are published together, so that nobody can leave out the bad
        ones. All learning rates of the protocol's grid are required (with `fallback`, those that
        had to be tried), each with the seeds 0 to n - 1. Here n is the largest number of
        seeds at any rate, and at least three unless the protocol has fewer.

        Args:
            new: the records to publish.
            held: the published records.
        """
        groups = grouped_by(cell_of, [*new, *held])
        lines = []
        for cell in dict.fromkeys(map(cell_of, new)):
            group = groups[cell]
            with contextlib.suppress(RequestError):  # `admit` names records of unknown protocols
                lines += missing_runs(group, self._registered(group[0]))
            lines += _unpublished(group)
        return lines

    def _foreign(self, record: AnyRecord) -> frozenset[str]:
        return frozenset() if self._processes is None else self._processes.foreign(record)

    def _registered(self, record: Record) -> Protocol:
        """Return the registered protocol of a record, by its name, version and changes."""
        key = protocol_contents(record.protocol)
        if key not in self._protocols:
            self._protocols[key] = (
                registered_protocol(self._host, record.protocol)
                if self._processes is None
                else self._processes.protocol(record)
            )
        return self._protocols[key]

    def _plan(self, record: Record) -> Run:
        """Return the run that this installation plans for a record's request."""
        used = record.model.model_dump_json(), record.task.model_dump_json()
        key = _as_json([*used, protocol_contents(record.protocol), record.code])
        if key not in self._planned:
            self._installed_task(record.task)
            model = self._installed_model(record, self._foreign(record))
            self._planned[key] = run_for(self._host, record, self._registered(record), model)
        planned = self._planned[key]
        if planned.model.kind == "exact":
            return replace(planned, learning_rate=None, seed=0)  # exactly one run
        known = record.learning_rate in planned.protocol.learning_rates
        rate = record.learning_rate if known else planned.protocol.learning_rates[0]
        return replace(planned, learning_rate=rate, seed=record.seed)

    def _installed_task(self, task: TaskUsed) -> TaskUsed:
        try:
            self._host.select_task(task.name)
        except RequestError:
            raise RequestError(_unknown("task", task)) from None
        return task_used(self._host.select_task(task.name, options=task.options))

    def _installed_model(self, record: AnyRecord, foreign: frozenset[str]) -> ModelUsed:
        model = record.model
        try:
            entry, _ = self._host.models.get(model.name)
        except RequestError:
            raise RequestError(_unknown("model", model)) from None
        source = entry.plugin.source
        same_source = contents(0, source) == contents(0, model.source)
        if self._processes is None or "model" not in foreign or not same_source:
            return model_used(self._host.select_model(model.name, options=model.options))
        data = self._processes.ask_network(record, _remote_model)
        try:
            return ModelUsed.model_validate({**data, "source": source})
        except (TypeError, ValueError):
            raise RequestError(WRONG_ANSWER) from None

    def _check_strings(self, record: Record, foreign: frozenset[str]) -> None:
        """Refuse a test on other strings than here, or of another network."""
        if record.test is None:  # None if it failed before it had a network
            return
        task = self._task(record.task, record.protocol)
        expected = self._expected(record, task)
        check_test(record.test, expected)
        if record.selected is not None:
            check_selected(record.selected, expected)
        if foreign <= {"model"}:
            parameters, is_kept = self._network(record, task, foreign)
            check_fields(record.model.parameters, parameters, field="model.parameters")
            if is_kept and lacks_weights(record):
                raise RequestError(
                    "it names no weights, and they are published with it: run it again"
                )

    def _network(self, record: Record, task: Task, foreign: frozenset[str]) -> tuple[int, bool]:
        """Return the number of parameters of a network, and whether its weights are kept.

        Raises:
            RequestError: one line, if it is far too large to be tested again.
        """
        model = record.model
        key = (_as_json([model.name, model.options]), id(task))
        if key in self._networks:
            return self._networks[key]
        entry, _ = self._host.models.get(model.name)
        with self._host.blaming(entry.plugin):
            if self._processes is not None and "model" in foreign:
                remote = self._processes.network(record, task, "cpu").remote
                result = remote.size, remote.is_kept
            else:
                with torch.random.fork_rng(devices=[]), bounded(model.name):
                    network: nn.Module = self._host.network(model.name, task, model.options)
                size = sum(part.numel() for part in network.parameters())
                result = size, pack(network) is not None
        self._networks[key] = result
        return result

    def _expected(self, record: Record, task: Task) -> ExpectedTest:
        """Return the test set of a record's task; each is drawn once."""
        extra = (record.test and record.test.extra_metrics) or {}
        key = (id(task), _as_json(extra))  # the cache keeps the tasks, so their ids stay unique
        if key not in self._tests:
            entry = self._host.select_task(record.task.name)
            with self._host.blaming(entry.plugin):
                versions = extra_metrics(self._host, task.objective.name)
                test_task = with_metrics(task, extra, versions)
                self._tests[key] = expected_test(test_task, record.protocol)
        return self._tests[key]

    def _task(self, used: TaskUsed, protocol: Protocol) -> Task:
        """Return a task as its protocol applies it; each is built once."""
        key = (used.name, _as_json(used.options), protocol_contents(protocol))
        if key not in self._tasks:
            entry = self._host.select_task(used.name)
            with self._host.blaming(entry.plugin):
                task: Task = self._host.task(used.name, used.options)
                self._tasks[key] = protocol.apply(task)
        return self._tasks[key]


def _check_code(record: AnyRecord, expected: AnyRecord | Run) -> None:
    """Refuse a record whose model or task comes from code with other contents than here."""
    for kind in ("model", "task"):
        then, now = getattr(record, kind).source, getattr(expected, kind).source
        if contents(0, then) != contents(0, now):
            raise RequestError(
                f"its {kind}.source is {then.distribution}, with other contents than "
                f"{now.distribution} here: run it again"
            )


def _facts(run: Record | Run) -> dict[str, object]:
    """Return the fields that decide the numbers of a run, and its ids."""
    return {
        "model": _without_source(run.model),
        "task": _without_source(run.task),
        "protocol": json.loads(protocol_contents(run.protocol)[1]),
        "learning_rate": run.learning_rate,
        "seed": run.seed,
        "code": run.code or {},
        "train_id": run.train_id,
        "test_id": run.test_id,
    }


def _verification_facts(record: VerificationRecord) -> dict[str, object]:
    """Return the fields that decide the strings of a verification, and its id."""
    return {
        "model": _without_source(record.model),
        "task": _without_source(record.task),
        "asked": record.asked.model_dump(mode="json"),
        "verification_id": record.verification_id,
    }


def _without_source(used: ModelUsed | TaskUsed) -> dict[str, object]:
    """Return the model or task that was used, without its source (see `_check_code`)."""
    return used.model_dump(mode="json", exclude={"parameters", "source"})


def _unpublished(records: Sequence[Record]) -> list[str]:
    """Return the runs that were trained together with these, by the records, but are missing."""
    present = {(record.learning_rate, record.seed) for record in records}
    cohorts = (record.training.cohort for record in records if record.training)
    trained = {(one.learning_rate, one.seed) for cohort in cohorts for one in cohort or ()}
    first = records[0]
    return [
        f"{model_key(first)[0]} on {title_of(first)}: seed {seed} at learning rate {rate(at)} "
        "missing, which others trained together with (publish all you ran)"
        for at, seed in sorted(trained - present)
    ]


def _unknown(kind: str, used: ModelUsed | TaskUsed) -> str:
    if used.source.sha256:
        return f"{kind} {used.name} is not known here: name its --plugin {used.source.distribution}"
    return f"{kind} {used.name} is not known here"


def _as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


# The following functions run in a sandbox.


def _admit(question: Question[None], report: Report) -> None:
    report("loading its plugins")
    admission = _admission(question.plugins)
    report("drawing its strings and building its network")
    assert question.record is not None
    admission.admit(question.record)


@lru_cache(maxsize=1)
def _admission(plugins: tuple[LocalPlugin, ...]) -> Admission:
    return Admission(load_host(plugins))


def _remote_model(question: NetworkQuestion, report: Report) -> dict[str, Any]:
    report("loading its plugins")
    host, model = load_host(question.plugins), question.model
    chosen = host.select_model(model.name, options=model.options)
    return model_used(chosen).model_dump(mode="json")
