"""The wing of exact models: what verifications say of each, in one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formalbench.analysis.counted import wanted
from formalbench.analysis.current import Current
from formalbench.analysis.keys import (
    ModelKey,
    grouped_by,
    model_contents,
    model_key,
    task_contents,
    title_of,
)
from formalbench.analysis.repeating import repeating
from formalbench.analysis.text import plural
from formalbench.contracts.verification import STRINGS_VERSION, VerificationRecord

SHOWN_LENGTHS = (10, 100, 1000, 10_000)
"""Lengths at which the cross-entropy is shown."""

DTYPES = ("fp16", "bf16", "fp32", "fp64")


@dataclass(frozen=True, slots=True)
class ExactModel:
    """What is known of an exact model on a task, in double precision.

    Attributes:
        model: its name with the options set.
        key: this and its source.
        task: the task's title.
        exhaustive: every string up to this length was right; None if there is no such length.
        tested_to: random and adversarial strings were right at every tested length up to it.
        strings, errors: judged in all, and how many of them wrong.
        margin: the least distance of a logit to the decision, of the random strings.
        bits: worst cross-entropy per answer at each of `SHOWN_LENGTHS`, where tested.
        break_length: by dtype, the largest length with no error up to it; None if unknown.
        depth, width: of the network, as far as it says.
        parameters: how many.
        commands: those that repeat the verifications.
        records: the identities of the verifications.
    """

    model: str
    key: ModelKey
    task: str
    exhaustive: int | None
    tested_to: int | None
    strings: int
    errors: int
    margin: float | None
    bits: tuple[float | None, ...]
    break_length: dict[str, int | None] | None
    depth: int | None
    width: int | None
    parameters: int
    commands: tuple[str, ...]
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExactModels:
    """The rows of exact models, and what a reader must know of them, one line each."""

    rows: tuple[ExactModel, ...] = ()
    notes: tuple[str, ...] = ()


def exact_models(records: Iterable[VerificationRecord], current: Current) -> ExactModels:
    """Put verifications together, a row per model and task; their order does not matter.

    Those count that were made with what the task and the model are now, as far as `current`
    knows, else with the newest version among the records.
    """
    once = {record.verification_id: record for record in sorted(records, key=_age)}
    held = sorted(once.values(), key=lambda record: (title_of(record), model_key(record)))
    tasks = wanted(held, lambda record: record.task.name, task_contents, current.task)
    models = wanted(held, model_key, model_contents, current.model)
    kept = [
        record
        for record in held
        if task_contents(record) == tasks[record.task.name]
        and model_contents(record) == models[model_key(record)]
        and record.asked.version == STRINGS_VERSION
    ]
    notes = []
    if old := len(held) - len(kept):
        notes.append(
            f"{plural(old, 'verification')} not counted: made with another version of the model, "
            "the task or the strings."
        )
    double = [record for record in kept if record.dtype == "fp64"]
    rows = grouped_by(lambda record: (title_of(record), model_key(record)), double)
    return ExactModels(tuple(_row(part) for part in rows.values()), tuple(notes))


def _age(record: VerificationRecord) -> tuple[str, str]:
    return record.date, record.to_json()


def _row(records: Sequence[VerificationRecord]) -> ExactModel:
    by_age = sorted(records, key=_age)
    latest = by_age[-1]
    complete = [r.asked.exhaustive for r in records if r.exhaustive and not r.exhaustive.errors]
    margins = [margin for r in records for margin in r.by_length.min_margin if margin is not None]
    broken = [record.break_length for record in by_age if record.break_length is not None]
    return ExactModel(
        model=model_key(latest)[0],
        key=model_key(latest),
        task=title_of(latest),
        exhaustive=max((length for length in complete if length is not None), default=None),
        tested_to=max((to for r in records if (to := _tested_to(r)) is not None), default=None),
        strings=sum(record.strings for record in records),
        errors=sum(record.errors for record in records),
        margin=min(margins, default=None),
        bits=tuple(_bits_at(length, by_age) for length in SHOWN_LENGTHS),
        break_length=dict(broken[-1].items()) if broken else None,
        depth=latest.depth,
        width=latest.width,
        parameters=latest.model.parameters,
        commands=tuple(sorted({repeating(record) for record in records})),
        records=tuple(sorted(record.verification_id for record in records)),
    )


def _tested_to(record: VerificationRecord) -> int | None:
    """Return how far the random strings were right; nothing if an adversarial one was not.

    A record does not say at which length an adversarial string failed.
    """
    if record.adversarial.errors:
        return None
    right = None
    for length, errors in zip(record.asked.lengths, record.by_length.errors, strict=True):
        if errors:
            break
        right = length
    return right


def _bits_at(length: int, records: Sequence[VerificationRecord]) -> float | None:
    """Return the worst cross-entropy at a length, of the latest record that tells it."""
    for record in reversed(records):
        lengths = record.asked.lengths
        if record.by_length.window == 1 and length in lengths:
            return record.by_length.max_bits[lengths.index(length)]
    return None
