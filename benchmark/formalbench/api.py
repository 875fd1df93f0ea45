"""formalbench from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import Value, show_value
from formalbench.device import choose_device
from formalbench.execute import execute
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.plan import Request, make_plan
from formalbench.store import Store, default_results

if TYPE_CHECKING:
    from formalbench.contracts.record import Record


def run(
    models: Sequence[str],
    tasks: Sequence[str] = (),
    *,
    suite: str = "",
    protocol: str = "",
    seeds: int | None = None,
    device: str = "auto",
    settings: Mapping[str, Value] | None = None,
    results: Path | str | None = None,
    jobs: int = 1,
    plugins: Sequence[Path | str] = (),
) -> pd.DataFrame:
    """Train and test models on tasks; the same as ``formalbench run``.

    Args:
        models: model names.
        tasks: task names; empty for those of `suite`, and that empty for the default suite.
        suite: a suite's name.
        protocol: a protocol's name; empty for the device's default.
        seeds: how many seeds; None for the protocol's number.
        device: ``auto``, ``cpu`` or ``cuda:i``.
        settings: options, as ``{"model.chunk": 3}``.
        results: where records go; None for the per-user folder.
        jobs: processes at once. With more than one, the caller's module must guard its top
            level with ``if __name__ == "__main__"``, as `multiprocessing` asks.
        plugins: local plugins to load.

    Returns:
        One row per run: model, task, learning_rate, seed, status, accuracy, chance,
        scaled_accuracy, parameters, steps, seconds, run_id.

    Raises:
        RequestError: for a bad request.
        BrokenPluginError: if a requested plugin is broken.

    Example:
        >>> frame = formalbench.run(models=["lstm"], tasks=["parity"])  # doctest: +SKIP
    """
    for names in (models, tasks):
        if isinstance(names, str):
            raise RequestError(f"models and tasks are lists of names: write [{names!r}]")
    host = PluginHost.load([Path(plugin) for plugin in plugins])
    chosen = choose_device(device)
    texts = [f"{key}={show_value(value)}" for key, value in (settings or {}).items()]
    request = Request(tuple(models), tuple(tasks), suite, protocol, seeds, parse_settings(texts))
    store = Store(Path(results) if results else default_results())
    records = execute(host, make_plan(host, request, chosen), store, chosen, jobs)
    return pd.DataFrame([_row(record) for record in records])


def _row(record: Record) -> dict[str, object]:
    test, training = record.test, record.training
    return {
        "model": record.model.name,
        "task": record.task.name,
        "learning_rate": record.learning_rate,
        "seed": record.seed,
        "status": record.status,
        "accuracy": test.accuracy if test else None,
        "chance": test.chance_length if test else None,
        "scaled_accuracy": test.scaled_accuracy if test else None,
        "parameters": record.model.parameters,
        "steps": training.steps if training else 0,
        "seconds": training.seconds if training else 0.0,
        "run_id": record.run_id,
    }
