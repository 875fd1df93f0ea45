"""The fields of a record that need no network: bounds, dates, commands, options.

A new field has no place in a published record until it is here: a test asks for every one, forges
it, and expects what the table says.

None of it can be worked out again, and none of it ranks a model. Times, the machine and the day are
its author's word, as far as they can be true at all.
"""

from __future__ import annotations

import datetime
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from formalbench.contracts.cells import Cells, Sums
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Part
from formalbench.contracts.record import (
    CohortMember,
    Curve,
    Environment,
    History,
    LearningCurve,
    ModelUsed,
    Origin,
    Place,
    Record,
    Selected,
    Summed,
    TaskUsed,
    TestResult,
    Training,
)
from formalbench.contracts.verification import (
    AnyRecord,
    Asked,
    ByLength,
    Failure,
    Judged,
    VerificationRecord,
)
from formalbench.documents.text import harmless
from formalbench.evaluation.cells import split_lengths
from formalbench.statistics.records import by_itself, run_of, words_of

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.sampler import Sampler
    from formalbench.contracts.task import Task


class Trust(StrEnum):
    """How a field is held to the truth."""

    AGAIN = "worked out again, by `publish` and `check`"
    BOUNDED = "within bounds, and in agreement with the rest (`publish`, `check`)"
    ASKED = "asked again by `audit`: of the weights, by training, or by verifying"
    WORD = "the author's word, as far as it can be true at all (`publish`, `check`)"
    PARTS = "by its parts"


Table = Mapping[type[Part], Mapping[str, Trust]]
"""Class by class, how each field is held."""


def _held(**fields: str) -> dict[str, Trust]:
    """Say which fields are held how: by the way, their names with blanks between."""
    return {name: Trust[how] for how, names in fields.items() for name in names.split()}


_USED: Table = {
    ModelUsed: _held(AGAIN="name version kind options parameters", PARTS="source"),
    TaskUsed: _held(AGAIN="name version options", PARTS="source"),
    Origin: _held(AGAIN="distribution sha256", WORD="version"),
}


_MACHINE: Table = {
    Environment: _held(WORD="device hardware threads peak_memory_mib versions commit source")
}


RUNS: Table = {
    Record: _held(
        AGAIN="schema_version kind train_id test_id protocol learning_rate seed code command",
        PARTS="model task training selected test environment",
        BOUNDED="message place",
        ASKED="status weights",
        WORD="date",
    ),
    **_USED,
    Training: _held(
        BOUNDED="steps ended stage strings strings_per_second cohort",
        WORD="seconds",
        PARTS="history curve",
    ),
    LearningCurve: _held(BOUNDED="steps", WORD="loss error accuracy"),
    CohortMember: _held(BOUNDED="learning_rate seed"),
    History: _held(AGAIN="every fingerprint", PARTS="curves"),
    Curve: _held(AGAIN="length strings", WORD="answers correct millibits probes"),
    Selected: _held(AGAIN="strings answers", BOUNDED="step", ASKED="correct", PARTS="metrics"),
    Summed: _held(ASKED="total", AGAIN="count"),
    TestResult: _held(
        AGAIN="metric fingerprint chance_constant chance_length extra_metrics",
        WORD="signatures seconds",
        PARTS="cells pooled",
    ),
    Cells: _held(
        AGAIN="length first group strings answers window",
        ASKED="correct not_finite",
        PARTS="metrics",
    ),
    Sums: _held(ASKED="total", AGAIN="count"),
    **_MACHINE,
    Place: _held(WORD="file line frames"),
}
"""Of the record of a run."""


VERIFICATIONS: Table = {
    VerificationRecord: _held(
        AGAIN="schema_version kind verification_id constants depth width dtype command",
        PARTS="model task asked environment exhaustive adversarial by_length first_failure",
        ASKED="break_length",
        WORD="date",
    ),
    Asked: _held(AGAIN="version exhaustive lengths count seed"),
    Judged: _held(ASKED="strings errors"),
    ByLength: _held(ASKED="errors min_margin mean_bits max_bits", AGAIN="window"),
    Failure: _held(ASKED="string expected logit"),
    **_USED,
    **_MACHINE,
}
"""Of the record of a verification."""


def as_markdown(table: Table) -> str:
    """Return the table for the docs: a line per part of a record and way of holding it."""
    lines = ["| part | fields | how |", "| --- | --- | --- |"]
    for part, fields in table.items():
        for how in (one for one in Trust if one is not Trust.PARTS):
            if named := [f"`{name}`" for name in sorted(fields) if fields[name] is how]:
                lines.append(f"| {part.__name__} | {', '.join(named)} | {how} |")
    return "\n".join(lines)


EARLIEST = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""No record is older: the first version is of that year."""


AHEAD = datetime.timedelta(days=1)
"""By how much the clock of a record's machine may be ahead."""


LONGEST = 365 * 24 * 3600
"""Seconds that no training or test takes."""


MOST_THREADS, MOST_MEMORY = 8192, 1 << 25
"""CPU threads and MiB that no process has: 32 TiB."""


DEVICES = ("cpu", "cuda")


LIBRARIES = ("python", "formalbench", "torch", "numpy")


_VERSION = re.compile(r"\d{1,4}(\.\d{1,6}){1,3}[A-Za-z0-9.+-]{0,40}")


_DISTRIBUTION_VERSION = re.compile(r"\d[A-Za-z0-9.!+-]{0,60}")


_FILE = re.compile(r"[A-Za-z0-9_./+=:-]{1,300}")


def check_made(record: AnyRecord, now: datetime.datetime) -> None:
    """Refuse a record whose day, machine or command cannot be.

    Args:
        record: of either kind.
        now: the time of the check.

    Raises:
        RequestError: one line that says why.
    """
    _check_date(record.date, now)
    _check_environment(record.environment)
    for what, source in (("model", record.model.source), ("task", record.task.source)):
        local, version = bool(source.sha256), source.version
        if local == bool(version) or not (local or _DISTRIBUTION_VERSION.fullmatch(version)):
            raise RequestError(f"its {what} came from {version!r:.60}, which is no version")
    _check_command(record)


def check_outcome(record: Record) -> None:
    """Refuse a run that tells more, or less, of its end than one that ended so.

    Raises:
        RequestError: one line that says why.
    """
    if record.status == "finished" and (record.message or record.place):
        raise RequestError("its status is 'finished' but an error message is set")
    if record.test is None and record.weights is not None:
        raise RequestError("it names weights but was not tested")
    place = record.place
    lines = (record.message, *((place.file, *place.frames) if place else ()))
    if any(harmless(line) != line for line in lines):
        raise RequestError("its error message has characters that are not allowed")


def _check_date(date: str, now: datetime.datetime) -> None:
    try:
        day = datetime.datetime.strptime(date, "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        raise RequestError(f"invalid date {date}") from None
    if not EARLIEST <= day <= now + AHEAD:
        raise RequestError(f"its date {date} is not between {EARLIEST:%Y-%m-%d} and now")


def _check_environment(machine: Environment) -> None:
    if machine.device not in DEVICES:
        raise RequestError(f"its device is {machine.device}, not {' or '.join(DEVICES)}")
    if not 1 <= machine.threads <= MOST_THREADS:
        raise RequestError(f"its machine had {machine.threads:,} threads")
    if machine.peak_memory_mib > MOST_MEMORY:
        raise RequestError(f"its run took {machine.peak_memory_mib:,} MiB of memory")
    if harmless(machine.hardware) != machine.hardware:
        raise RequestError("its hardware's name has signs that no name has")
    if missing := [name for name in LIBRARIES if name not in machine.versions]:
        raise RequestError(f"it does not say which version of {missing[0]} it was made with")
    for name, version in sorted(machine.versions.items()):
        known = _VERSION if name in LIBRARIES else _DISTRIBUTION_VERSION
        if not known.fullmatch(version):
            raise RequestError(f"{version!r:.60} is no version of {name!r:.60}")


def _check_command(record: AnyRecord) -> None:
    """Refuse a command that is not the one of the record's parts, and of plugins by their files."""
    if isinstance(record, Record) and record.command == run_of(record).command:
        return  # as thousands are: no need to take it apart
    try:
        words = shlex.split(record.command)
    except ValueError:
        words = []
    files = []
    while "--plugin" in words[:-1]:
        at = words.index("--plugin")
        files.append(words[at + 1])
        del words[at : at + 2]
    safe = all(_FILE.fullmatch(file) and not file.startswith("-") for file in files)
    alone = [by_itself(record)] if isinstance(record, Record) else []
    if not safe or words not in [words_of(record), *alone]:
        raise RequestError("the recorded command does not match the recorded configuration")


def check_training(record: Record, task: Task, sampler: Sampler) -> None:
    """Refuse a training that its protocol cannot give.

    Args:
        record: of a run.
        task: as the protocol applies it.
        sampler: of the protocol.

    Raises:
        RequestError: one line that says why.
    """
    if record.test is not None:
        _check_seconds("test", record.test.seconds)
    told = record.training
    if told is None:
        return
    if record.model.kind != "learned":
        raise RequestError("an exact model has no training")
    _check_seconds("training", told.seconds)
    _check_steps(record, told)
    lengths = split_lengths(task, "train")
    reached = [stage[-1] for stage in sampler.stages(record.protocol, lengths)]
    if told.stage not in reached:
        raise RequestError(f"its curriculum has no stage that ends at length {told.stage}")
    _check_strings(record, told, lengths)
    _check_cohort(record, told)


def _check_seconds(what: str, seconds: float) -> None:
    if not 0 <= seconds <= LONGEST:
        raise RequestError(f"its {what} took {seconds:g} seconds")


def _check_steps(record: Record, told: Training) -> None:
    protocol, finished = record.protocol, record.test is not None
    steps = f"its training took {told.steps:,} steps"
    if told.steps > protocol.steps or told.steps % protocol.evaluate_every:
        raise RequestError(f"{steps}, which {protocol.title} cannot take")
    if finished and told.ended == "stopped":
        raise RequestError("its training was stopped, and it finished")
    if finished and told.ended == "budget" and told.steps != protocol.steps:
        raise RequestError(f"{steps}, and its budget is {protocol.steps:,}")
    first = protocol.evaluate_every  # the earliest that a run can master its lengths
    if finished and told.ended == "mastered" and told.steps < first + protocol.decay_steps(first):
        raise RequestError(f"{steps}, and its decay alone takes {protocol.decay_steps(first):,}")
    if finished and told.ended == "capped":
        _check_capped(record, told)
    chosen = record.selected.step if record.selected is not None else 0
    if chosen > told.steps:
        raise RequestError(f"{steps}, and its checkpoint is of step {chosen:,}")
    curve = told.curve.steps if told.curve is not None else (told.steps,)
    if curve[-1] > told.steps or any(step % protocol.evaluate_every for step in curve):
        raise RequestError(f"{steps}, and its learning curve is not of these")
    if chosen % protocol.validation.every and chosen != told.steps:
        raise RequestError(f"its checkpoint is of step {chosen:,}, which was not validated")
    needed = protocol.decay.validated or 0.0
    if told.ended == "mastered" and record.selected and record.selected.accuracy < needed:
        reached = f"validation reached {record.selected.accuracy:.1%} of the {needed:.0%}"
        raise RequestError(f"its training ended as mastered, and its {reached} that it takes")


def _check_capped(record: Record, told: Training) -> None:
    protocol = record.protocol
    if protocol.patience is None:
        raise RequestError(f"its training was capped, and {protocol.title} has no patience")
    compared = protocol.patience.steps + protocol.validation.every  # with the first validation
    least = max(protocol.patience.after, compared) + protocol.decay.steps
    if told.steps < least:
        raise RequestError(f"it was capped after {told.steps:,} steps, and the least is {least:,}")


def _check_strings(record: Record, told: Training, lengths: Sequence[int]) -> None:
    protocol: Protocol = record.protocol
    batches = told.steps * protocol.accumulate
    per_batch = [protocol.strings_at(length) for length in lengths]
    least, most = batches * min(per_batch), batches * max(per_batch)
    if told.strings > most or (record.test is not None and told.strings < least):
        raise RequestError(
            f"it trained on {told.strings:,} strings, and {told.steps:,} steps have "
            + (f"{most:,}" if least == most else f"{least:,} to {most:,}")
        )
    half = 0.0005  # seconds are rounded to thousandths, their quotient to tenths
    slow = told.strings / (told.seconds + half)
    fast = told.strings / max(told.seconds - half, 1e-9)
    speed = told.strings_per_second
    if not (math.isfinite(speed) and slow - 0.1 <= speed <= fast + 0.1):
        raise RequestError("its strings per second are not its strings by its seconds")


def _check_cohort(record: Record, told: Training) -> None:
    rates = record.protocol.learning_rates
    for member in told.cohort or ():
        if member.learning_rate not in rates:
            rate = member.learning_rate
            raise RequestError(f"its cohort has learning rate {rate:g}, its protocol has not")
