"""The ids of a run: a hash of everything that decides its weights, and one of its test.

Neither includes the device or a distribution's version, because a release that changes no number
must not invalidate records. A plugin contributes the version in its spec and its distribution's
name or, if it is local, its contents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, Record, TaskUsed


Code = Mapping[str, str]
"""Origin of code outside formalbench, by its role: ``objective``, ``optimiser``, ``schedule``,
``sampler``, ``reader`` (of the task's file), ``penalty NAME`` or ``metric NAME``. The value is the
distribution's name or, for a local file, the SHA-256 of its contents; followed by the version if
that is not 1."""


def test_only(role: str) -> bool:
    """Return whether a role of code decides only a run's test, not its weights."""
    return role.startswith("metric ")


def train_id(
    model: ModelUsed,
    task: TaskUsed,
    protocol: Protocol,
    learning_rate: float | None,
    seed: int,
    code: Code,
) -> str:
    """Return the hash of everything that decides a run's weights.

    The number of seeds or rates and the test are not included; for an exact model, which is not
    trained, neither is the protocol.
    """
    # A page needs this for thousands of runs, so the protocol's text is cached.
    trained = "null" if learning_rate is None else _train_text(protocol)
    own = {role: origin for role, origin in code.items() if not test_only(role)}
    prefix = f'"code":{_text(own)},' if own else ""
    return _hash(
        f'{{{prefix}"learning_rate":{_text(learning_rate)},"model":{used_text(model)},'
        f'"protocol":{trained},"seed":{_text(seed)},"task":{used_text(task)}}}'
    )


def test_id(trained: str, protocol: Protocol, code: Code) -> str:
    """Return the hash of everything that decides the numbers of a run's test."""
    metrics = {role: origin for role, origin in code.items() if test_only(role)}
    return _hash(
        f'{{"metrics":{_text(metrics or None)},"test":{_test_text(protocol)},'
        f'"trained":"{trained}"}}'
    )


test_id.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for a test by its name


def ids_of(record: Record) -> tuple[str, str]:
    """Return the correct `train_id` and `test_id` of a record."""
    code = record.code or {}
    trained = train_id(
        record.model, record.task, record.protocol, record.learning_rate, record.seed, code
    )
    return trained, test_id(trained, record.protocol, code)


def used_text(used: ModelUsed | TaskUsed) -> str:
    """Return model or task with options and origin of the code, as text."""
    source = used.source.sha256 or used.source.distribution
    return _text(
        {"name": used.name, "version": used.version, "options": used.options, "source": source}
    )


@lru_cache(maxsize=64)
def _train_text(protocol: Protocol) -> str:
    return _text(protocol.train_facts())


@lru_cache(maxsize=64)
def _test_text(protocol: Protocol) -> str:
    return _text(protocol.test_facts())


def hash_of(facts: Any) -> str:
    """Return the hash of JSON data."""
    return _hash(_text(facts))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
