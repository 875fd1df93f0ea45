"""What a run is known by: a hash of all that decides its weights, and one of its testing.

The device is part of neither, nor is a distribution's own version: a release that changes no number
must not invalidate every record. A plugin takes part with the version in its spec and with its
distribution's name or, if it is local, its contents.
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
"""Where code came from that is not formalbench's own, by what it is of: ``objective``,
``optimiser``, ``schedule``, ``sampler``, ``penalty NAME`` or ``metric NAME``. A distribution's name
or, of a local file, the SHA-256 of its contents; with the version, if that is not 1."""


def _tests(role: str) -> bool:
    """Say whether code decides a run's test alone, and not its weights."""
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

    Neither how many seeds or rates there are nor how a run is tested is part of it. Of an exact
    model, which is not trained, the protocol is not.
    """
    # A page asks this for thousands of runs: the protocol's text is made once.
    trained = "null" if learning_rate is None else _train_text(protocol)
    own = {role: told for role, told in code.items() if not _tests(role)}
    begun = f'"code":{_text(own)},' if own else ""
    return _hash(
        f'{{{begun}"learning_rate":{_text(learning_rate)},"model":{used_text(model)},'
        f'"protocol":{trained},"seed":{_text(seed)},"task":{used_text(task)}}}'
    )


def test_id(trained: str, protocol: Protocol, code: Code) -> str:
    """Return the hash of everything that decides the numbers of a run's test.

    Args:
        trained: its `train_id`.
        protocol: says what it is tested on.
        code: of all that is not formalbench's own; metrics beside the objective's are of it.
    """
    metrics = {role: told for role, told in code.items() if _tests(role)}
    return _hash(
        f'{{"metrics":{_text(metrics or None)},"test":{_test_text(protocol)},'
        f'"trained":"{trained}"}}'
    )


test_id.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for a test by its name


def ids_of(record: Record) -> tuple[str, str]:
    """Return what the `train_id` and the `test_id` of a record must be."""
    code = record.code or {}
    trained = train_id(
        record.model, record.task, record.protocol, record.learning_rate, record.seed, code
    )
    return trained, test_id(trained, record.protocol, code)


def used_text(used: ModelUsed | TaskUsed) -> str:
    """Return which model or task was used, its options and its code included, as text."""
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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
