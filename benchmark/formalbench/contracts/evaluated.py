"""Records of evaluations: answers of external systems, scored on test strings."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, model_validator

from formalbench.contracts.identity import used_text
from formalbench.contracts.protocol import Part, Protocol
from formalbench.contracts.reading import read_json, validated
from formalbench.contracts.record import Identity, Line, Name, TaskUsed, TestResult
from formalbench.contracts.verification import AnyRecord, parsed


class Validated(Part):
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
    def _no_more_than_all(self) -> Validated:
        if self.correct > self.answers:
            raise ValueError("more answers correct than validated")
        return self


class EvaluatedRecord(Part):
    """The record of answers by an external system on the strings of a test: one JSON file.

    Nothing was trained and the answers cannot be reproduced, so boards never mix these records with
    those of runs.

    Attributes:
        schema_version: of this format; first in the file.
        kind: always ``evaluation``.
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
    validation: Validated | None = None
    test: TestResult
    formalbench: Line
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]

    @property
    def identity(self) -> str:
        """The correct `evaluated_id`."""
        facts = {
            "name": self.name,
            "task": json.loads(used_text(self.task)),
            "protocol": [self.protocol.title, self.protocol.version],
            "fingerprint": self.test.fingerprint,
        }
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the record as it is stored: compact ASCII, one line."""
        data = self.model_dump(mode="json")
        return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"


def parse_stored(text: str | bytes, name: str) -> AnyRecord | EvaluatedRecord:
    """Read a record of any kind, including evaluations, from untrusted JSON.

    Args:
        text: the file's contents.
        name: name of the file in error messages.

    Raises:
        RequestError: one line that says what is wrong.
    """
    data = read_json(text, name)
    if data.get("kind") == "evaluated":
        return validated(EvaluatedRecord, data, name)
    return parsed(data, name)
