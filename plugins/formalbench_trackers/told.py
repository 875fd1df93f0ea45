"""What a tracker is told of a run: plain names and plain values, alike for every library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from formalbench.contracts.config import Value
from formalbench.contracts.hooks import RunInfo

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

LONGEST = 250
"""Signs of a name or a text: MLflow takes no longer names."""


def title(run: RunInfo) -> str:
    """Return what people call a run."""
    rate = "" if run.learning_rate is None else f", rate {run.learning_rate:g}"
    return f"{run.model} on {run.task}, seed {run.seed}{rate}"


def facts_of(run: RunInfo) -> dict[str, Value]:
    """Return what is known of a run when it begins."""
    told: dict[str, Value | None] = {
        **{"train_id": run.train_id, "test_id": run.test_id, "model": run.model, "task": run.task},
        **{"protocol": run.protocol, "learning_rate": run.learning_rate, "seed": run.seed},
        "steps": run.steps,
    }
    return {name: value for name, value in told.items() if value is not None}


def config_of(record: Record) -> dict[str, Value]:
    """Return how a run was done, as its record has it; names of parts with dots."""
    whole: dict[str, Any] = {
        **{"model": record.model.options, "task": record.task.options},
        "protocol": record.protocol.model_dump(mode="json"),
        "environment": record.environment.model_dump(mode="json"),
        "command": record.command,
        "parameters": record.model.parameters,
    }
    return {plain(name): value for name, value in _flat("", whole)}


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), part)
    elif isinstance(value, bool | int | float):
        yield prefix, value
    elif value is not None:
        yield prefix, value if isinstance(value, str) else json.dumps(value)


def plain(name: str) -> str:
    """Return a name that every library takes."""
    return re.sub(r"[^A-Za-z0-9_./ -]", "_", name)[:LONGEST]


def results_of(record: Record) -> dict[str, float]:
    """Return the numbers of a whole run."""
    from formalbench.contracts.objective import CROSS_ENTROPY

    found: dict[str, float | None] = {}
    if selected := record.selected:
        found |= {"validation-accuracy": selected.accuracy, "selected-step": selected.step}
    if training := record.training:
        found |= {"steps": training.steps, "seconds": training.seconds}
    if test := record.test:
        found |= {
            test.metric: test.accuracy,
            "chance": test.chance_length,
            "scaled-accuracy": test.scaled_accuracy,
            CROSS_ENTROPY: test.cells.bits,
            **{f"{group}-{test.metric}": share for group, share in test.cells.by_group.items()},
        }
    return {plain(f"final/{name}"): value for name, value in found.items() if value is not None}


def by_length(record: Record) -> Iterator[tuple[int, dict[str, float]]]:
    """Give every metric of a test: a string length, and the numbers there by name.

    A metric that a record sums up over several lengths stands at the greatest of them.
    """
    from formalbench.contracts.objective import CROSS_ENTROPY

    if record.test is None:
        return
    cells, metric = record.test.cells, record.test.metric
    last = len(cells.length) - 1
    for index, (length, right, asked) in enumerate(
        zip(cells.length, cells.correct, cells.asked, strict=True)
    ):
        told = {metric: right / asked}
        whole = cells.window == 1 or (not cells.group and index % cells.window == cells.window - 1)
        if whole or (not cells.group and index == last):
            for name, sums in cells.metrics.items():
                total, count = sums.total[index // cells.window], sums.count[index // cells.window]
                if count:
                    told[name] = total / count / (1000 if name == CROSS_ENTROPY else 1)
        part = f"{cells.group[index]}/" if cells.group else ""
        yield length, {plain(f"test/{part}{name}"): value for name, value in told.items()}
