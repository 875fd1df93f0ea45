"""What a record must be to be published: whatever can be worked out again, is.

The accuracies themselves are taken on trust until an audit; everything around them is not.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from formalbench.analysis.current import registered_protocol
from formalbench.analysis.keys import (
    Contents,
    contents,
    grouped_by,
    identity,
    model_key,
    protocol_contents,
    title_of,
)
from formalbench.analysis.text import plural, rate
from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.record import ModelUsed, Record, TaskUsed
from formalbench.contracts.specs import ModelSpec, TaskSpec, show_value
from formalbench.contracts.verification import (
    STRINGS_VERSION,
    AnyRecord,
    VerificationRecord,
)
from formalbench.host.options import Setting, chosen_options, make_config, option_facts
from formalbench.host.plugins import SESSION
from formalbench.running.rates import rates_wanted
from formalbench.running.used import code_of, extra_metrics
from formalbench.training.recipe import make_sampler

from formalbench_leaderboard.publishing.expected import (
    ExpectedTest,
    check_history,
    check_selected,
    check_test,
    expected_test,
    with_metrics,
)
from formalbench_leaderboard.publishing.networks import Networks
from formalbench_leaderboard.publishing.told import check_made, check_outcome, check_training
from formalbench_leaderboard.publishing.verified import check_verified

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost
    from formalbench.host.plugins import Plugin


FEWEST_SEEDS = 3
"""That a model's runs on a task are published with, if its protocol has no fewer."""


class Admission:
    """Decides which records a repository takes in.

    Args:
        host: the plugins; what they provide is what a record is held against.
        now: the time; None for the clock's.
    """

    def __init__(self, host: PluginHost, now: datetime.datetime | None = None) -> None:
        self._host = host
        self._now = now or datetime.datetime.now(datetime.UTC)
        self._tasks: dict[tuple[str, str, Contents], Task] = {}
        self._tests: dict[tuple[int, str], ExpectedTest] = {}
        self._networks = Networks(host)
        # Thousands of records are of few models, tasks and protocols: each is looked up once.
        self._registered = cache(partial(registered_protocol, host))
        self._at_hand: set[tuple[str, ...]] = set()

    def admit(self, record: AnyRecord) -> None:
        """Refuse a record, of either kind, that the plugins at hand would not make.

        Raises:
            RequestError: one line that says why.
        """
        if isinstance(record, VerificationRecord):
            self.check_verification(record)
        else:
            self.check(record)

    def check(self, record: Record) -> None:
        """Refuse a record that the plugins at hand would not make.

        Raises:
            RequestError: one line that says why.
        """
        if record.model.source.distribution == SESSION.name:
            raise RequestError(
                "its model is a class that no file has: put it in one, and run it from there "
                "(--model mine.py:Mine)"
            )
        check_made(record, self._now)
        check_outcome(record)
        trained, tested = ids_of(record)
        if trained != record.train_id:
            raise RequestError("its train_id is not the hash of what it says was trained")
        if tested != record.test_id:
            raise RequestError("its test_id is not the hash of what it says was tested")
        self._check_protocol(record)
        self._check_task(record.task)
        self._check_code(record)
        task = self._task(record.task, record.protocol)
        check_training(record, task, make_sampler(self._host, record.protocol))
        check_history(record, task)
        if record.test is not None:
            expected = self._expected(record, task)
            check_test(record.test, expected)
            if record.selected is not None:
                check_selected(record.selected, expected.validation)
        self._check_model(record.model, record.task)  # last: the rest holds whatever the model is
        self._networks.check(record, task)

    def check_verification(self, record: VerificationRecord) -> None:
        """Refuse a verification that the plugins at hand would not make.

        Raises:
            RequestError: one line that says why.
        """
        check_made(record, self._now)
        if record.asked.version != STRINGS_VERSION:
            raise RequestError("its strings were made by another version of `formalbench verify`")
        if record.verification_id != record.identity:
            raise RequestError("its verification_id is not the hash of what it says was verified")
        self._check_task(record.task)
        self._check_model(record.model, record.task)
        check_verified(record, self._host)

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
        groups = grouped_by(_group, [*new, *held])
        with_new = dict.fromkeys(map(_group, new))
        return [
            line
            for group in with_new
            for line in (*self._missing(groups[group]), *_unpublished(groups[group]))
        ]

    def _missing(self, records: Sequence[Record]) -> list[str]:
        first = records[0]
        protocol = self._registered(first.protocol)
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

    def _check_protocol(self, record: Record) -> None:
        protocol = self._registered(record.protocol)
        if protocol_contents(record.protocol) != protocol_contents(protocol):
            raise RequestError(f"its protocol differs from the registered {protocol.title}")
        learned = record.model.kind == "learned"
        if learned and record.learning_rate not in protocol.learning_rates:
            raise RequestError(f"learning rate {record.learning_rate} is not in {protocol.title}")
        if not learned and record.seed:
            raise RequestError("an exact model has nothing that a seed could change: seed 0 only")

    def _check_task(self, task: TaskUsed) -> None:
        if (key := _as_told(task)) in self._at_hand:
            return
        try:
            entry, objective, _ = self._host.task_entry(task.name)
        except RequestError:
            raise RequestError(_unknown("task", task)) from None
        if not task.name.endswith(f":{objective}"):
            raise RequestError(f"task {task.name} is not in the full form, with its objective")
        _check_used("task", task, entry.spec, entry.plugin)
        self._at_hand.add(key)

    def _check_model(self, model: ModelUsed, task: TaskUsed) -> None:
        if (key := (*_as_told(model), model.kind, task.name)) in self._at_hand:
            return
        try:
            entry, _ = self._host.models.get(model.name)
        except RequestError:
            raise RequestError(_unknown("model", model)) from None
        _check_used("model", model, entry.spec, entry.plugin)
        if model.kind != entry.spec.kind:
            raise RequestError(f"model {model.name} is {entry.spec.kind}, not {model.kind}")
        offered = entry.spec.objectives  # none named: all whose layout it does
        if offered and task.name.partition(":")[2] not in offered:
            raise RequestError(f"model {model.name} cannot do {task.name}")
        self._at_hand.add(key)

    def _check_code(self, record: Record) -> None:
        """Refuse a run that other code than what is at hand trained or measured."""
        objective = record.task.name.partition(":")[2]
        here = code_of(self._host, objective, record.protocol)
        told = record.code or {}
        needed = {role for role in here if not role.startswith("metric ")}  # more may be measured
        for role in sorted(needed | set(told)):
            if told.get(role) != here.get(role):
                raise RequestError(f"its {role} is of other code than the one at hand")

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


def _group(record: Record) -> str:
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


def _check_used(
    kind: str, used: ModelUsed | TaskUsed, spec: ModelSpec | TaskSpec, plugin: Plugin
) -> None:
    """Refuse a task or model that is not the one of this name here."""
    if used.version != spec.version:
        raise RequestError(
            f"{kind} {used.name} is at version {spec.version}, "
            f"the record used version {used.version}"
        )
    if contents(used.version, used.source) != contents(spec.version, plugin.source):
        then, here = used.source.distribution, plugin.source.distribution
        if then == here:
            raise RequestError(f"{kind} {used.name}: {here} has changed since the record was made")
        raise RequestError(f"{kind} {used.name} came from {then}, here it comes from {here}")
    options = option_facts(spec)
    if extra := sorted(set(used.options) - set(options)):
        raise RequestError(f"{kind} {used.name} has no option {extra[0]}")
    settings = tuple(Setting(kind, key, show_value(value)) for key, value in used.options.items())
    if _as_json(chosen_options(kind, used.name, settings, options)) != _as_json(used.options):
        raise RequestError(f"{kind} {used.name} has options that `--set` would not give it")
    make_config(spec, used.options, used.name)


def _unknown(kind: str, used: ModelUsed | TaskUsed) -> str:
    if used.source.sha256:
        return f"{kind} {used.name} is not known here: name its --plugin {used.source.distribution}"
    return f"{kind} {used.name} is not known here"


def _as_told(used: ModelUsed | TaskUsed) -> tuple[str, ...]:
    """Return all that decides whether a task or a model is the one of its name here."""
    source = used.source
    return used.name, str(used.version), _as_json(used.options), source.distribution, source.sha256


def _as_json(options: object) -> str:
    return json.dumps(options, sort_keys=True)
