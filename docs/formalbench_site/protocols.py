"""The reference of the YAML formats: protocols, from their pydantic models, and suites."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from formalbench.contracts.protocol import Part, Protocol
from formalbench.contracts.specs import SuiteSpec
from pydantic_core import PydanticUndefined

from formalbench_site.markdown import attributes, code, pages_of, paragraphs, table

INTRODUCTION = """# Protocols and suites

A YAML file that is named with `--plugin` and has one of the keys `steps`, `learning_rates` and
`extends` is a protocol; one with the key `tasks` is a suite. [Writing
plugins](../plugins.md#a-protocol-of-your-own) has examples of both. Unknown keys are refused.

## Protocol

`extends` names another protocol, whose values hold for all keys that are left out. Without it a
key that is left out has the default below. For one run, `--set protocol.KEY=VALUE` changes a key:
`--set protocol.test.strings=64`."""

SUITE = """## Suite

`name` and `tasks` must be given; `version` is 1 unless it is."""

NOT_WRITTEN = ("changed", "draws")
"""Keys that the engine sets by itself."""

COLUMNS = ("key", "default", "allowed", "meaning")


def page() -> str:
    """Return the page."""
    told = attributes(SuiteSpec.__doc__ or "")
    keys_of_suite = [field.name for field in fields(SuiteSpec)]
    suite = table(("key", "meaning"), [(code(key), told[key]) for key in keys_of_suite])
    keys = list(_parts(Protocol))
    return pages_of(
        INTRODUCTION,
        _table(Protocol, "", [key for key, _ in keys]),
        *(_part(key, part) for key, part in keys),
        SUITE,
        suite,
    )


def _parts(model: type[Part]) -> Iterator[tuple[str, type[Part]]]:
    """Return the keys that hold keys of their own, and what describes these."""
    for key, field in model.model_fields.items():
        inner = getattr(field.annotation, "__args__", (field.annotation,))
        for part in inner:
            if isinstance(part, type) and issubclass(part, Part):
                yield key, part


def _part(key: str, part: type[Part]) -> str:
    return pages_of(
        f"### {key}", *paragraphs(part.__doc__ or ""), _table(part, f"{key}.", [])
    ).rstrip()


def _table(model: type[Part], before: str, parts: list[str]) -> str:
    schema = model.model_json_schema()["properties"]
    told = attributes(model.__doc__ or "")
    rows = []
    for key, field in model.model_fields.items():
        if key in NOT_WRITTEN:
            continue
        is_part = key in parts
        default = "" if is_part else _default(field.default)
        may_be = f"[its own keys](#{key})" if is_part else allowed(schema[key])
        rows.append((code(before + key), default, may_be, told.get(key, "")))
    return table(COLUMNS, rows)


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "must be given"
    return "none" if value is None or value == "" else code(json.dumps(value))


def allowed(schema: Mapping[str, Any]) -> str:
    """Return what a JSON schema allows, in words."""
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(allowed(one) for one in schema["anyOf"])
    if "prefixItems" in schema:
        return f"[{', '.join(allowed(one) for one in schema['prefixItems'])}]"
    if schema["type"] == "array":
        return f"list of: {allowed(schema['items'])}"
    said = {
        "boolean": "`true`, `false`",
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "null": "none",
        "object": "mapping",
    }[schema["type"]]
    ends = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
    }
    bounds = [f"{word} {schema[end]:g}" for end, word in ends.items() if end in schema]
    return " ".join([said, " and ".join(bounds)]).strip()
