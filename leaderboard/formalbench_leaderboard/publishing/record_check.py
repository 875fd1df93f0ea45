"""Whether a record may be published.

The accuracies themselves are taken on trust until an audit; everything around them is not.
"""

from __future__ import annotations

import datetime
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import ModelUsed, Record, TaskUsed
from formalbench.contracts.specs import ModelSpec, TaskSpec
from formalbench.contracts.verification import (
    MAX_ENTRIES,
    STRINGS_VERSION,
    AnyRecord,
    Judged,
    VerificationRecord,
)
from formalbench.documents.text import harmless, plural, rate
from formalbench.host.options import changed_options, make_config, option_facts
from formalbench.host.plugin import SESSION
from formalbench.running.estimate import rates_wanted
from formalbench.running.plan import code_of, extra_metrics
from formalbench.statistics.records import (
    Contents,
    contents,
    grouped_by,
    identity,
    model_key,
    protocol_contents,
    title_of,
)
from formalbench.statistics.selection import registered_protocol
from formalbench.training.resolved_protocol import make_sampler

from formalbench_leaderboard.publishing.metadata_check import (
    check_made,
    check_outcome,
    check_training,
)
from formalbench_leaderboard.publishing.test_check import (
    ExpectedTest,
    Networks,
    check_history,
    check_selected,
    check_test,
    expected_test,
    with_metrics,
)

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost
    from formalbench.host.plugin import Plugin
    from formalbench.verification.plan import PortionKind, VerificationPlan
    from formalbench.verification.verify import Subject, Verification


MOST_SYMBOLS = 1 << 33
"""Of all strings of a verification together: days, in place of the minutes that an audit takes."""


def subject_of(record: VerificationRecord, host: PluginHost) -> Subject:
    """Return what a record says was verified, as the plugins at hand have it."""
    from formalbench.verification.verify import Subject

    entry, _, _ = host.task_entry(record.task.name)
    model, task = record.model, host.task(record.task.name, record.task.options)
    return Subject(
        model=model,
        build=lambda: host.network(model.name, task, model.options),
        used=record.task,
        task=task,
        asking=lambda: host.blaming(entry.plugin),
    )


def prepared(record: VerificationRecord, subject: Subject) -> Verification:
    """Build the network of a verification and plan its strings again; none is judged yet.

    Raises:
        RequestError: one line, if it could not have been asked for.
    """
    from formalbench.store.weights import bounded
    from formalbench.verification.plan import VerificationRequest
    from formalbench.verification.verify import prepare

    asked = record.asked
    request = VerificationRequest(
        asked.exhaustive or 0, asked.lengths or None, asked.count, asked.seed
    )
    with bounded(record.model.name):
        return prepare(subject, request, record.dtype if record.break_length is None else "all")


def check_verified(record: VerificationRecord, host: PluginHost) -> None:
    """Refuse a verification that its model, its task and its request cannot give.

    Raises:
        RequestError: one line that says why.
    """
    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        known = prepared(record, subject_of(record, host))
    _check_network(record, known)
    plan = known.plan
    if (plan.exhaustive, plan.lengths) != (record.asked.exhaustive, record.asked.lengths):
        raise RequestError("its model and its task have no strings of such lengths")
    if sum(portion.size * max(1, portion.length) for portion in plan.portions) > MOST_SYMBOLS:
        raise RequestError("it judged more strings than anybody would judge again")
    _check_number("exhaustive", record.exhaustive, plan)
    _check_number("adversarial", record.adversarial, plan)
    _check_break(record, plan)
    _check_figures(record)
    failure = record.first_failure
    if failure and any(text != harmless(text) for text in (failure.string, str(failure.expected))):
        raise RequestError("its first failure has signs that no string has")


def _check_network(record: VerificationRecord, known: Verification) -> None:
    for what, told, here in (
        ("parameters", record.model.parameters, known.model.parameters),
        ("depth", record.depth, known.depth),
        ("width", record.width, known.width),
        ("constants", sorted(record.constants), sorted(known.constants)),
    ):
        if told != here:
            raise RequestError(f"{what}: it says {told}, the network built here {here}")
    for name, value in known.constants.items():
        if not math.isclose(record.constants[name], value, rel_tol=1e-9, abs_tol=1e-12):
            raise RequestError(
                f"constant {name}: it says {record.constants[name]:g}, the network built here "
                f"{value:g}"
            )


def _check_number(kind: PortionKind, told: Judged | None, plan: VerificationPlan) -> None:
    """Refuse more strings than there are; how many there are at least, an audit counts."""
    most = sum(portion.size for portion in plan.portions if portion.kind == kind)
    if told is not None and told.strings > most:
        raise RequestError(f"it judged {told.strings:,} {kind} strings, and there are {most:,}")


def _check_break(record: VerificationRecord, plan: VerificationPlan) -> None:
    """Refuse break lengths that were not tested, or that its own errors contradict."""
    from formalbench.verification.judge import DTYPES

    told = record.break_length
    if told is None:
        return
    if set(told) != set(DTYPES):
        raise RequestError("it does not say how far each precision goes")
    tested = {portion.length for portion in plan.portions if portion.size}
    if set(told.values()) - {None} - tested:
        raise RequestError("it says that a precision goes up to a length that was not tested")
    errors = zip(record.asked.lengths, record.by_length.errors, strict=True)
    wrong = min((length for length, error in errors if error), default=None)
    own = told[record.dtype]
    if (not record.errors and own != max(tested, default=None)) or (
        wrong is not None and own is not None and own >= wrong
    ):
        raise RequestError(f"it says that {record.dtype} goes up to {own}, and its errors do not")


def _check_figures(record: VerificationRecord) -> None:
    by_length = record.by_length
    if any(
        mean is not None and worst is not None and mean > worst * (1 + 1e-5)
        for mean, worst in zip(by_length.mean_bits, by_length.max_bits, strict=True)
    ):
        raise RequestError("its mean cross-entropy is above its worst")
    if by_length.window != max(1, -(-len(by_length.errors) // MAX_ENTRIES)):
        raise RequestError("its figures are put together otherwise than a verification does")


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
        groups = grouped_by(cell_of, [*new, *held])
        with_new = dict.fromkeys(map(cell_of, new))
        return [
            line
            for group in with_new
            for line in (
                *missing_runs(groups[group], self._registered(groups[group][0].protocol)),
                *_unpublished(groups[group]),
            )
        ]

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
    config = make_config(spec, used.options, used.name)
    if _as_json(changed_options(spec, config)) != _as_json(used.options):
        raise RequestError(f"{kind} {used.name} has options that `--set` would not give it")


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
