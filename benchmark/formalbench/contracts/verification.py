"""Records of verifications and of evaluations, and reading records of any kind from untrusted JSON.

A verification checks an exact model; an evaluation scores the answers of an external system.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import from_json

from formalbench.contracts.errors import RequestError, one_line
from formalbench.contracts.identity import hash_of, used_text
from formalbench.contracts.protocol import Length, Part, Protocol
from formalbench.contracts.record import (
    Command,
    Count,
    Date,
    Environment,
    Identity,
    Line,
    ModelUsed,
    Name,
    Record,
    Stored,
    TaskUsed,
    TestResult,
)
from formalbench.contracts.specs import show_value

Dtype = Literal["fp16", "bf16", "fp32", "fp64"]

MIXED: frozenset[str] = frozenset({"fp16", "bf16"})
"""Formats in which a network computes in mixed precision: weights and activations are in the
format, sums, softmax and the statistics of layer norms in fp32 before they are rounded to it."""


def dtype_title(dtype: str) -> str:
    """Return a format's display name: ``fp16 (mixed)``, ``fp32``."""
    return f"{dtype} (mixed)" if dtype in MIXED else dtype


Amount = Annotated[float, Field(ge=0)]

STRINGS_VERSION = 1
"""Version of the strings; raise it whenever they could change. Older records then no longer
count."""

MAX_ENTRIES = 64
"""Maximum entries per series; with more lengths, neighbouring lengths share one."""


class VerifiedStrings(Part):
    """The strings of a verification.

    Attributes:
        version: `STRINGS_VERSION`.
        exhaustive: every string up to this length; None if there were none.
        lengths: lengths of the long strings.
        count: random strings per length.
        seed: seed of the random strings.
    """

    version: Count = STRINGS_VERSION
    exhaustive: Length | None
    lengths: Annotated[tuple[Length, ...], Field(max_length=10_000)]
    count: Annotated[int, Field(ge=1, le=2**53)]
    seed: int

    @model_validator(mode="after")
    def _in_order(self) -> VerifiedStrings:
        if list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError("lengths must be in order")
        return self


def written_lengths(lengths: Sequence[int]) -> str:
    """Return lengths as ``--lengths`` takes them.

    Example:
        >>> written_lengths((1, 5, 9, 13))
        '1:13:4'
    """
    steps = {after - before for before, after in pairwise(lengths)}
    if len(lengths) > 3 and len(steps) == 1:
        step = steps.pop()
        return f"{lengths[0]}:{lengths[-1]}" + (f":{step}" if step != 1 else "")
    return ",".join(map(str, lengths))


def verify_command(
    model: ModelUsed, task: TaskUsed, asked: VerifiedStrings, dtype: str
) -> list[str]:
    """Return the words of the command, but for its plugins."""
    words = ["formalbench", "verify", model.name, "--task", task.name]
    words += ["--exhaustive", str(asked.exhaustive or 0)]
    words += ["--lengths", written_lengths(asked.lengths)] if asked.lengths else []
    words += ["--count", str(asked.count), "--seed", str(asked.seed)]
    words += ["--dtype", dtype]
    for scope, options in (("model", model.options), ("task", task.options)):
        for key, value in sorted(options.items()):
            words += ["--set", f"{scope}.{key}={show_value(value)}"]
    return words


class StringCounts(Part):
    """Number of strings, and of wrong answers."""

    strings: Count
    errors: Count

    @model_validator(mode="after")
    def _no_more_than_all(self) -> StringCounts:
        if self.errors > self.strings:
            raise ValueError("more errors than strings")
        return self


class ByLength(Part):
    """Results on random strings by length: parallel arrays.

    Attributes:
        errors: number of errors at each length.
        min_margin: smallest margin of a logit; None where no logit was finite. This and the next
            two have one entry for `window` consecutive lengths.
        mean_bits, max_bits: mean and maximum cross-entropy per answer.
        window: lengths per entry; the last entry may have fewer.
    """

    errors: tuple[Count, ...]
    min_margin: tuple[Amount | None, ...]
    mean_bits: tuple[Amount | None, ...]
    max_bits: tuple[Amount | None, ...]
    window: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _parallel(self) -> ByLength:
        entries = -(-len(self.errors) // self.window)
        if {len(self.min_margin), len(self.mean_bits), len(self.max_bits)} != {entries}:
            raise ValueError("min_margin, mean_bits and max_bits do not fit errors and window")
        return self


class Failure(Part):
    """The first wrong string; long ones are cut.

    Attributes:
        string: its symbols.
        expected: the correct answer.
        logit: the deciding logit; None if it was not finite.
    """

    string: Line
    expected: int | Line
    logit: float | None


class VerificationRecord(Stored):
    """The record of one verification: one JSON file.

    Attributes:
        schema_version: version of this format; first in the file.
        kind: always ``verification``.
        verification_id: hash of everything that decides its numbers.
        model, task: the verified model and its task.
        constants: constants of the paper's formulas.
        depth, width: size of the network if it states it; depth for the longest string.
        asked: the tested strings.
        dtype: number format of the test.
        exhaustive, adversarial: their numbers of strings and errors; None if there were none.
        by_length: results on random strings.
        first_failure: first wrong string; None if there is none.
        break_length: by dtype, the largest length up to which there is no error; None if only one
            dtype was tested.
        environment, command, date: as in a run's record.
    """

    schema_version: Literal[2]
    kind: Literal["verification"]
    verification_id: Identity
    model: ModelUsed
    task: TaskUsed
    constants: Annotated[dict[Name, float], Field(max_length=100)]
    depth: Count | None = None
    width: Count | None = None
    asked: VerifiedStrings
    dtype: Dtype
    exhaustive: StringCounts | None
    adversarial: StringCounts
    by_length: ByLength
    first_failure: Failure | None = None
    break_length: dict[Dtype, Length | None] | None = None
    environment: Environment
    command: Command
    date: Date

    @model_validator(mode="after")
    def _consistent(self) -> VerificationRecord:
        if self.model.kind != "exact":
            raise ValueError("only an exact model is verified")
        if (self.exhaustive is None) != (self.asked.exhaustive is None):
            raise ValueError("exhaustive results do not match the request")
        if len(self.by_length.errors) != len(self.asked.lengths):
            raise ValueError("errors and lengths differ in number")
        if any(errors > self.asked.count for errors in self.by_length.errors):
            raise ValueError("more errors than strings")
        if bool(self.errors) != (self.first_failure is not None):
            raise ValueError("a first failure must be given exactly if there is an error")
        return self

    @property
    def errors(self) -> int:
        """Number of wrong strings."""
        exhaustive = self.exhaustive.errors if self.exhaustive else 0
        return exhaustive + self.adversarial.errors + sum(self.by_length.errors)

    @property
    def strings(self) -> int:
        """Number of tested strings."""
        exhaustive = self.exhaustive.strings if self.exhaustive else 0
        return exhaustive + self.adversarial.strings + len(self.asked.lengths) * self.asked.count

    @property
    def identity(self) -> str:
        """The correct `verification_id`."""
        facts = {
            "model": json.loads(used_text(self.model)),
            "task": json.loads(used_text(self.task)),
            "asked": self.asked.model_dump(mode="json"),
            "dtype": self.dtype,
            "all": self.break_length is not None,
        }
        return hash_of(facts)


AnyRecord = Record | VerificationRecord


class ValidationCounts(Part):
    """Results on held-out strings of the training lengths.

    Attributes:
        strings: number of strings.
        correct: sum of the primary metric.
        answers: number of answers.
    """

    strings: Annotated[int, Field(ge=1)]
    correct: Annotated[int | float, Field(ge=0)]
    answers: Annotated[int, Field(ge=1)]

    @property
    def accuracy(self) -> float:
        """The primary metric's mean."""
        return self.correct / self.answers

    @model_validator(mode="after")
    def _no_more_than_all(self) -> ValidationCounts:
        if self.correct > self.answers:
            raise ValueError("more answers correct than validated")
        return self


class EvaluatedRecord(Stored):
    """The record of answers by an external system on the strings of a test: one JSON file.

    Nothing was trained and the answers cannot be reproduced, so boards never mix these records with
    those of runs.

    Attributes:
        schema_version: of this format; first in the file.
        kind: always ``evaluated``.
        evaluated_id: hash of the answering system's name and the strings.
        name: name of the answering system.
        gave: ``labels`` or ``logits``; labels have no cross-entropy.
        task, protocol: the task and the protocol of its test.
        validation: results on validation strings; None if they were not answered.
        test: test results, as in a run's record.
        formalbench: version of formalbench that scored the answers.
        date: UTC, ISO 8601, to the second.
    """

    schema_version: Literal[2]
    kind: Literal["evaluated"]
    evaluated_id: Identity
    name: Name
    gave: Literal["labels", "logits"]
    task: TaskUsed
    protocol: Protocol
    validation: ValidationCounts | None = None
    test: TestResult
    formalbench: Line
    date: Date

    @property
    def identity(self) -> str:
        """The correct `evaluated_id`."""
        facts = {
            "name": self.name,
            "task": json.loads(used_text(self.task)),
            "protocol": [self.protocol.title, self.protocol.version],
            "fingerprint": self.test.fingerprint,
        }
        return hash_of(facts)


SCHEMA_VERSION = 2
MAX_BYTES = 1_000_000
"""Maximum size of a record's file in bytes."""

R = TypeVar("R", bound=BaseModel)


class OlderRecordError(RequestError):
    """A record of a format that is no longer read."""


def read_json(text: str | bytes, name: str) -> dict[str, Any]:
    """Parse the JSON object of a record of any kind and check its version."""
    if len(text) > MAX_BYTES:
        raise RequestError(f"{name}: larger than {MAX_BYTES} bytes, so not a record")
    try:
        data: Any = from_json(text, allow_inf_nan=False)
        json.loads(text, object_pairs_hook=_check_keys)
    except RequestError as error:
        raise RequestError(f"{name}: {error}") from None
    except ValueError as error:
        line = f"{name}: not valid JSON (truncated? move the file away and repeat the run): {error}"
        raise RequestError(line) from None
    if not isinstance(data, dict) or type(data.get("schema_version")) is not int:
        raise RequestError(f"{name}: not a record: it has no integer schema_version")
    if data["schema_version"] < SCHEMA_VERSION:
        raise OlderRecordError(
            f"{name}: schema_version {data['schema_version']} was written by an older formalbench "
            f"(this version reads {SCHEMA_VERSION}): move the file away and repeat the run"
        )
    if data["schema_version"] > SCHEMA_VERSION:
        raise RequestError(
            f"{name}: schema_version {data['schema_version']} was written by a newer formalbench "
            f"(this version reads {SCHEMA_VERSION}): upgrade formalbench"
        )
    return data


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    """Reject a JSON object with a duplicate key, because parsers differ in which value they use."""
    if len({key for key, _ in pairs}) != len(pairs):
        double = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise RequestError(f"key {double!r:.60} is given twice, so not a record")


def validated(kind: type[R], data: dict[str, Any], name: str) -> R:
    """Return the record in a JSON object."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise RequestError(f"{name}: not a valid record: {one_line(error)}") from None


def parse_any(text: str | bytes, name: str) -> AnyRecord:
    """Read a run's or a verification's record from untrusted JSON."""
    return parsed(read_json(text, name), name)


def parsed(data: dict[str, Any], name: str) -> AnyRecord:
    """Return the record in a JSON object, of either kind."""
    if data.get("kind") == "verification":
        return validated(VerificationRecord, data, name)
    return validated(Record, data, name)


def parse_stored(text: str | bytes, name: str) -> AnyRecord | EvaluatedRecord:
    """Read a record of any kind, including evaluations, from untrusted JSON."""
    data = read_json(text, name)
    if data.get("kind") == "evaluated":
        return validated(EvaluatedRecord, data, name)
    return parsed(data, name)
