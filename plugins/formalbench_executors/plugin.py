"""Register the executors. Imports none of their libraries, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterable

from formalbench import ExecutorSpec, hookimpl


@hookimpl
def formalbench_executors() -> Iterable[ExecutorSpec]:
    """Register the executors of this package."""
    yield ExecutorSpec(
        "slurm",
        "job arrays on a Slurm cluster",
        "formalbench_executors.slurm:make",
        config="formalbench_executors.slurm:SlurmConfig",
        resources="formalbench_executors.slurm:resources",
    )
    yield ExecutorSpec(
        "dask",
        "a Dask cluster: a running one, or processes of this machine",
        "formalbench_executors.dask:make",
        config="formalbench_executors.dask:DaskConfig",
    )
