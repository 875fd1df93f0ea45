"""Announces the executors. Imports none of their libraries, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterable

from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import ExecutorSpec


@hookimpl
def formalbench_executors() -> Iterable[ExecutorSpec]:
    """Announce the executors of this package."""
    yield ExecutorSpec(
        "dask",
        "a Dask cluster: one that runs, processes of this machine, or a batch system's jobs",
        "formalbench_executors.dask:make",
        "formalbench_executors.dask:DaskConfig",
    )
