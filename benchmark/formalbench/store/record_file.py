"""Many records in one text file, to store or send them together.

The first line holds the shapes of the records, and tables of parts that many records share. Each
further line is one record: the index of its shape, then its values in the order of the shape. A
shared part is replaced by its index in the part's table. Fractions with four decimals at most, such
as those of a learning curve, are whole numbers of ten-thousandths.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.contracts.verification import AnyRecord, parsed
from formalbench.files import read_plain

FORMAT = 1

MAX_BYTES = 64 << 20
"""Maximum bytes; more than any such file has."""

_METRICS = ("test.cells.metrics", "selected.metrics")

_NESTED = frozenset(
    {"training", "training.curve", "selected", "test", "test.cells", "environment", *_METRICS}
)
"""Objects whose values are stored separately, such as those of each metric; any other object is
stored as one value."""

_SHARED = frozenset(
    {
        *("schema_version", "kind", "status", "message", "model", "task", "protocol"),
        *("training.ended", "training.cohort", "training.curve.steps"),
        *("test.metric", "test.fingerprint", "test.chance_constant", "test.chance_length"),
        *("test.cells.length", "test.cells.first", "test.cells.strings", "test.cells.answers"),
        *("test.extra_metrics",),
        *("environment.device", "environment.hardware", "environment.versions"),
        *("environment.commit", "environment.source"),
        *("asked", "constants", "break_length", "command"),
    }
)

Shape = dict[str, Any]
"""Maps the keys of an object to the shape of a nested object, or to how the value is written."""

_INLINE, _SCALED = "", "1e-4"

_SCALE = 10_000


def written(records: Iterable[AnyRecord]) -> str:
    """Return the text of a file that holds records, in order."""
    shapes: dict[str, int] = {}
    tables: dict[str, dict[str, int]] = {}
    lines = []
    for record in records:
        data = json.loads(record.to_json())
        shape = _shape(data)
        values: list[Any] = [_number(_text(shape), shapes)]
        for place, value in _values(data):
            if _is_shared(place):
                values.append(_number(_text(value), tables.setdefault(place, {})))
            else:
                values.append(_scale_fractions(value) or value)
        lines.append(_text(values))
    shared = {place: list(map(json.loads, table)) for place, table in tables.items()}
    head = {"format": FORMAT, "shapes": list(map(json.loads, shapes)), "shared": shared}
    return "\n".join([_text(head), *lines, ""])


def read_packed(file: Path, damaged: str = "damaged") -> list[AnyRecord]:
    """Read a file that `written` made; each record is checked like a single record file.

    Raises:
        RequestError: with the text `damaged`, if it is not such a file.
    """
    from pydantic_core import from_json

    try:
        head, *lines = read_plain(file, MAX_BYTES, "a file of records").splitlines()
        header = from_json(head, allow_inf_nan=False)
        objects = [_object(from_json(line, allow_inf_nan=False), header) for line in lines]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise RequestError(f"{file}: {damaged}") from None
    return [parsed(data, file.name) for data in objects]


def _shape(data: dict[str, Any], above: str = "") -> Shape:
    return {
        key: _shape(value, f"{above}{key}.")
        if _is_nested(f"{above}{key}") and value is not None
        else _encoding(f"{above}{key}", value)
        for key, value in data.items()
    }


def _encoding(place: str, value: Any) -> str:
    """Return how a value is written."""
    if _is_shared(place):
        return place
    return _SCALED if _scale_fractions(value) else _INLINE


def _scale_fractions(value: Any) -> list[int] | None:
    """Return a list of fractions as ten-thousandths; None if that would not give them back."""
    if not isinstance(value, list) or not all(type(number) is float for number in value):
        return None
    if not all(abs(number) < _SCALE for number in value):
        return None
    whole = [round(number * _SCALE) for number in value]
    same = all(repr(n / _SCALE) == repr(number) for n, number in zip(whole, value, strict=True))
    return whole if same else None


def _is_nested(place: str) -> bool:
    return place in _NESTED or place.rpartition(".")[0] in _METRICS


def _is_shared(place: str) -> bool:
    above, _, key = place.rpartition(".")
    return place in _SHARED or (key == "count" and above.rpartition(".")[0] in _METRICS)


def _values(data: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of an object in the order of its shape, each with its key path."""
    for key, value in data.items():
        place = f"{above}{key}"
        if _is_nested(place) and value is not None:
            yield from _values(value, f"{place}.")
        else:
            yield place, value


def _object(values: list[Any], header: dict[str, Any]) -> dict[str, Any]:
    """Return the object that a line encodes."""
    number, *rest = values
    iterator = iter(rest)
    data = _fill(header["shapes"][number], iterator, header["shared"])
    if next(iterator, iterator) is not iterator:
        raise ValueError("more values than the shape has")
    return data


def _fill(shape: Shape, values: Iterator[Any], shared: dict[str, list[Any]]) -> dict[str, Any]:
    data = {}
    for key, encoding in shape.items():
        if isinstance(encoding, dict):
            data[key] = _fill(encoding, values, shared)
        else:
            value = _next(values)
            if encoding == _SCALED:
                value = [n / _SCALE for n in value]
            data[key] = shared[encoding][value] if encoding not in (_INLINE, _SCALED) else value
    return data


def _next(values: Iterator[Any]) -> Any:
    for value in values:
        return value
    raise ValueError("fewer values than the shape has")


def _number(text: str, table: dict[str, int]) -> int:
    """Return an entry's number in a table; a new one is added."""
    return table.setdefault(text, len(table))


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
