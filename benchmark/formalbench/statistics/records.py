"""What a record belongs to: its model, task, board and run; whether it learned; its command."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.identity import ids_of, test_id
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Origin, Record
from formalbench.contracts.specs import display, show_value
from formalbench.contracts.verification import AnyRecord, VerificationRecord, verifying
from formalbench.documents.text import plural
from formalbench.running.plan import Run

T = TypeVar("T")

K = TypeVar("K", bound=Hashable)

ModelKey = tuple[str, str]
"""What makes a row: the model's name with the options set, and where it came from."""

ProtocolKey = tuple[str, int]
"""What makes a board: the protocol's title (its name with what was changed) and version."""

Contents = tuple[int, str]
"""What a name stood for: a version, and what tells its contents apart within the version."""


def contents(version: int, source: Origin) -> Contents:
    """Return what a task or model is: a local file can change without its version."""
    return version, source.sha256 or source.distribution


def task_contents(record: AnyRecord) -> Contents:
    """Return what the task of a record was."""
    return contents(record.task.version, record.task.source)


def model_key(record: AnyRecord) -> ModelKey:
    """Return the row that a record belongs to."""
    model = record.model
    return display(model.name, model.options), model.source.distribution


def model_contents(record: AnyRecord) -> Contents:
    """Return what the model of a record was."""
    return contents(record.model.version, record.model.source)


def protocol_key(record: Record) -> ProtocolKey:
    """Return the board that a record belongs to."""
    return record.protocol.title, record.protocol.version


def changed_texts(protocol: Protocol) -> dict[str, str]:
    """Return what was changed of the protocol of this name, as `--set` takes it."""
    return {key: show_value(value) for key, value in (protocol.changed or {}).items()}


@lru_cache(maxsize=64)
def protocol_contents(protocol: Protocol) -> Contents:
    """Return what decides a run's numbers: how many seeds there are and the summary do not."""
    data = protocol.model_dump(mode="json", exclude={"seeds", "summary"})
    return protocol.version, json.dumps(data, sort_keys=True)


def row_names(rows: Iterable[ModelKey]) -> dict[ModelKey, str]:
    """Return what rows are called: by the model's name, with its source where two share one."""
    keys = list(rows)
    times = Counter(name for name, _ in keys)
    return {key: key[0] if times[key[0]] == 1 else f"{key[0]} ({key[1]})" for key in keys}


def grouped_by(key_of: Callable[[T], K], items: Iterable[T]) -> dict[K, list[T]]:
    """Put together what has the same key, in the order in which it comes."""
    groups: dict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key_of(item)].append(item)
    return groups


def run_of(record: Record) -> Run:
    """Return the run that a record tells of."""
    return Run(
        model=record.model,
        task=record.task,
        protocol=record.protocol,
        learning_rate=record.learning_rate,
        seed=record.seed,
        extra_metrics=(record.test and record.test.extra_metrics) or {},
        code=record.code or {},
    )


def identity(record: AnyRecord) -> str:
    """Return what is the same for two records of one run or verification, whatever their file says.

    How many seeds the protocol of a run has is no part of it, and neither is what was measured
    beside the objective's own metrics: pooled, one run would count as two seeds. Its board is part
    of it: what two protocols make alike counts for both.
    """
    if isinstance(record, VerificationRecord):
        return record.verification_id
    protocol = record.protocol
    trained, _ = ids_of(record)
    return f"{protocol.title} {protocol.version} {test_id(trained, protocol, {})}"


def task_title(name: str, options: Mapping[str, Value]) -> str:
    """Return a task as a board shows it: ``classify`` goes without saying.

    Example:
        >>> task_title("parity:classify", {"p": 0.3})
        'parity[p=0.3]'
    """
    return display(name.removesuffix(":classify"), options)


def title_of(record: AnyRecord) -> str:
    """Return the title of a record's task."""
    return task_title(record.task.name, record.task.options)


def has_result(record: AnyRecord) -> bool:
    """Say whether a run ended with a test that can be counted; a verification always did."""
    return isinstance(record, VerificationRecord) or record.test is not None


def counts_of(record: AnyRecord) -> tuple[object, ...]:
    """Return every count of a test: what two records of one run, or verification, agree in.

    What is measured in other numbers than counts hangs on a machine's rounding, and is none.
    """
    if isinstance(record, VerificationRecord):
        return record.exhaustive, record.adversarial, record.by_length.errors
    if record.test is None:
        return ()
    cells, extra = record.test.cells, record.test.extra_metrics or {}
    counts = [
        (name, sums.total, sums.count)
        for name, sums in sorted(cells.metrics.items())
        if name not in {CROSS_ENTROPY, MUTUAL_INFORMATION, *extra}
        and all(float(one).is_integer() for one in sums.total)
    ]
    return cells.length, cells.first, cells.strings, cells.correct, cells.answers, counts


LEARNED = 0.99
"""Validation accuracy from which the training lengths count as learned."""


def validation_of(record: Record) -> float | None:
    """Return a run's accuracy on held-out strings of the training lengths; None if not known."""
    return None if record.selected is None else record.selected.accuracy


def was_trained(record: Record) -> bool:
    """Say whether a run came to the end of its training, and its network was to blame for the rest.

    Of one whose test ran out of memory, say, nothing is known, and it is run again.
    """
    if record.test is not None:
        return True
    training = record.training
    return record.status == "diverged" and training is not None and training.ended != "stopped"


def has_learned(record: Record) -> bool:
    """Say whether a run mastered its training lengths; an exact model has nothing to learn.

    A run whose logits are not finite on longer strings has learned all the same, and does not
    extrapolate.
    """
    if record.model.kind == "exact":
        return record.test is not None
    validation = validation_of(record)
    return was_trained(record) and validation is not None and validation >= LEARNED


_QUOTES = frozenset("\"'\\")
"""Signs by which a shell puts a word together of parts."""

_FILE = re.compile(r"[A-Za-z0-9_.+=:-]{1,300}")


def repeating(record: AnyRecord) -> str:
    """Return the command line that repeats a record; plugins by the names of their files.

    Of the stored command only these names are used: a record does not say elsewhere which file
    its protocol came from.
    """
    words = words_of(record)
    if isinstance(record, Record) and f"{record.seed}," in _split(record.command):
        words = by_itself(record)
    for file in sorted(plugin_files(record.command)):
        words += ["--plugin", file]
    return shlex.join(words)


def words_of(record: AnyRecord) -> list[str]:
    """Return the words of the command that repeats a record, but for its plugins."""
    if isinstance(record, VerificationRecord):
        dtype = record.dtype if record.break_length is None else "all"
        return verifying(record.model, record.task, record.asked, dtype)
    return shlex.split(run_of(record).command)


def by_itself(record: Record) -> list[str]:
    """Return the words of a run's command where its seed was asked for by itself."""
    words = words_of(record)
    at = words.index("--seeds") + 1
    return [*words[:at], f"{record.seed},", *words[at + 1 :]]


def plugin_files(command: str) -> set[str]:
    """Return the names of the files that a record's command has as plugins, plain ones only."""
    if "--plugin" not in command and not _QUOTES & set(command):
        return set()  # thousands of commands name none: they are not taken apart
    return _files_named(command)


def _files_named(command: str) -> set[str]:
    pairs = itertools.pairwise(_split(command))
    names = {file.rpartition("/")[2] for word, file in pairs if word == "--plugin"}
    return {name for name in names if _FILE.fullmatch(name) and not name.startswith("-")}


def _split(command: str) -> list[str]:
    """Return the words of a stored command; none if it is no command line."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def environments_of(records: Iterable[Record]) -> tuple[str, ...]:
    """Return one line per kind of machine that records come from, and how many do."""
    seen: Counter[str] = Counter()
    for record in records:
        machine = record.environment
        versions = ", ".join(f"{name} {value}" for name, value in sorted(machine.versions.items()))
        seen[f"{machine.device}, {machine.hardware}; {versions}"] += 1
    return tuple(f"{line} ({plural(times, 'record')})" for line, times in sorted(seen.items()))
