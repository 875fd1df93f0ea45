"""Properties of a record: its row, task, board and run; whether it learned; its command."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.identity import ids_of, test_id
from formalbench.contracts.objective import CROSS_ENTROPY, MUTUAL_INFORMATION
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Origin, Record
from formalbench.contracts.specs import display
from formalbench.contracts.verification import AnyRecord, VerificationRecord, verify_command
from formalbench.documents.text import plural
from formalbench.running.plan import Run

T = TypeVar("T")

K = TypeVar("K", bound=Hashable)

ModelKey = tuple[str, str]
"""The key of a row: the model's name with its options, and its source."""

ProtocolKey = tuple[str, int]
"""The key of a board: the protocol's title (its name with changed settings) and version."""

Contents = tuple[int, str]
"""The contents behind a name: a version, and an identifier of the contents in this version."""

Chances = Callable[[Record], tuple[float, ...] | None]
"""Returns the accuracy, in each cell of a test, of the best answer that depends on length only."""


def contents(version: int, source: Origin) -> Contents:
    """Return the contents of a task or model; a local file can change without a new version."""
    return version, source.sha256 or source.distribution


def task_contents(record: AnyRecord) -> Contents:
    """Return the contents of a record's task."""
    return contents(record.task.version, record.task.source)


def model_key(record: AnyRecord) -> ModelKey:
    """Return the row that a record belongs to."""
    model = record.model
    return display(model.name, model.options), model.source.distribution


def model_contents(record: AnyRecord) -> Contents:
    """Return the contents of a record's model."""
    return contents(record.model.version, record.model.source)


def protocol_key(record: Record) -> ProtocolKey:
    """Return the board that a record belongs to."""
    return record.protocol.title, record.protocol.version


@lru_cache(maxsize=64)
def protocol_contents(protocol: Protocol) -> Contents:
    """Return the contents of a protocol; the number of seeds and the summary do not count."""
    data = protocol.model_dump(mode="json", exclude={"seeds", "summary"})
    return protocol.version, json.dumps(data, sort_keys=True)


def row_names(rows: Iterable[ModelKey]) -> dict[ModelKey, str]:
    """Return the names of rows: the model's name, with its source if two rows share the name."""
    keys = list(rows)
    times = Counter(name for name, _ in keys)
    return {key: key[0] if times[key[0]] == 1 else f"{key[0]} ({key[1]})" for key in keys}


def grouped_by(key_of: Callable[[T], K], items: Iterable[T]) -> dict[K, list[T]]:
    """Group items by key, in their original order."""
    groups: dict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key_of(item)].append(item)
    return groups


def run_of(record: Record) -> Run:
    """Return the run of a record."""
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
    """Return the identity of a run or verification, which all its records share.

    It does not contain the protocol's number of seeds or additional metrics; otherwise, one run
    could count as two seeds. It contains the board, so that a run counts under each protocol.
    """
    if isinstance(record, VerificationRecord):
        return record.verification_id
    protocol = record.protocol
    trained, _ = ids_of(record)
    return f"{protocol.title} {protocol.version} {test_id(trained, protocol, {})}"


def task_title(name: str, options: Mapping[str, Value]) -> str:
    """Return a task's title on a board, which omits the objective ``classify``.

    Example:
        >>> task_title("parity:classify", {"p": 0.3})
        'parity[p=0.3]'
    """
    return display(name.removesuffix(":classify"), options)


def title_of(record: AnyRecord) -> str:
    """Return the title of a record's task."""
    return task_title(record.task.name, record.task.options)


def has_result(record: AnyRecord) -> bool:
    """Return whether a run ended with test results; a verification always has results."""
    return isinstance(record, VerificationRecord) or record.test is not None


def counts_of(record: AnyRecord) -> tuple[object, ...]:
    """Return every count of a test, which is equal in all records of a run or verification.

    Measures other than counts depend on a machine's rounding and are left out.
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
"""Minimum validation accuracy at which the training lengths count as learned."""


def validation_of(record: Record) -> float | None:
    """Return a run's accuracy on held-out strings of the training lengths; None if unknown."""
    return None if record.selected is None else record.selected.accuracy


def was_trained(record: Record) -> bool:
    """Return whether a run completed its training and did not fail for external reasons.

    A run whose test ran out of memory, for example, does not count, and is repeated.
    """
    if record.test is not None:
        return True
    training = record.training
    return record.status == "diverged" and training is not None and training.ended != "stopped"


def has_learned(record: Record) -> bool:
    """Return whether a run mastered its training lengths; an exact model has nothing to learn.

    A run whose logits are not finite on longer strings has learned, but does not extrapolate.
    """
    if record.model.kind == "exact":
        return record.test is not None
    validation = validation_of(record)
    return was_trained(record) and validation is not None and validation >= LEARNED


_QUOTES = frozenset("\"'\\")
"""Characters with which a shell joins parts of a word."""

_FILE = re.compile(r"[A-Za-z0-9_.+=:-]{1,300}")


def reproduce_command(record: AnyRecord, seeds: Sequence[int] = ()) -> str:
    """Return the command that repeats a record, with the file names of its plugins.

    Only these names come from the stored command, since the record does not contain the file of its
    protocol elsewhere.

    Args:
        record: a run or a verification.
        seeds: the seeds of all runs that the command repeats; empty for what the record asked for.
    """
    words = words_of(record)
    if isinstance(record, Record):
        if seeds and list(seeds) != list(range(len(seeds))):
            words = by_itself(record, seeds)
        elif not seeds and f"{record.seed}," in _split(record.command):
            words = by_itself(record)
    for file in sorted(plugin_files(record.command)):
        words += ["--plugin", file]
    return shlex.join(words)


def words_of(record: AnyRecord) -> list[str]:
    """Return the words of the command that repeats a record, without its plugins."""
    if isinstance(record, VerificationRecord):
        dtype = record.dtype if record.break_length is None else "all"
        return verify_command(record.model, record.task, record.asked, dtype)
    return shlex.split(run_of(record).command)


def by_itself(record: Record, seeds: Sequence[int] = ()) -> list[str]:
    """Return the words of a run's command in which its seed, or `seeds`, are listed explicitly."""
    words = words_of(record)
    at = words.index("--seeds") + 1
    listed = ",".join(map(str, seeds)) if len(seeds) > 1 else f"{[*seeds, record.seed][0]},"
    return [*words[:at], listed, *words[at + 1 :]]


def plugin_files(command: str) -> set[str]:
    """Return the plugin files in a record's command; only plain names without a folder."""
    if "--plugin" not in command and not _QUOTES & set(command):
        return set()  # most commands have no plugins and need no parsing
    return _files_named(command)


def _files_named(command: str) -> set[str]:
    pairs = itertools.pairwise(_split(command))
    names = {file.rpartition("/")[2] for word, file in pairs if word == "--plugin"}
    return {name for name in names if _FILE.fullmatch(name) and not name.startswith("-")}


def _split(command: str) -> list[str]:
    """Return the words of a stored command; empty if it cannot be parsed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def environments_of(records: Iterable[Record]) -> tuple[str, ...]:
    """Return one line per kind of machine, with its number of records."""
    counts: Counter[str] = Counter()
    for record in records:
        machine = record.environment
        versions = ", ".join(f"{name} {value}" for name, value in sorted(machine.versions.items()))
        counts[f"{machine.device}, {machine.hardware}; {versions}"] += 1
    return tuple(f"{line} ({plural(times, 'record')})" for line, times in sorted(counts.items()))
