"""Reading records of any kind from untrusted JSON; errors are one line."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, TypeVar

from pydantic import BaseModel

from formalbench.contracts.errors import RequestError, one_line

SCHEMA_VERSION = 2
MAX_BYTES = 1_000_000
"""Maximum size of a record's file in bytes."""

R = TypeVar("R", bound=BaseModel)


class OlderRecordError(RequestError):
    """A record of a format that is no longer read."""


def read_json(text: str | bytes, name: str) -> dict[str, Any]:
    """Parse the JSON object of a record of any kind and check its version.

    Raises:
        RequestError: one line that says what is wrong.
    """
    if len(text) > MAX_BYTES:
        raise RequestError(f"{name}: larger than {MAX_BYTES} bytes, so not a record")
    from pydantic_core import from_json

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
    """Return the record in a JSON object.

    Raises:
        RequestError: one line with its first problem.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise RequestError(f"{name}: not a valid record: {one_line(error)}") from None
