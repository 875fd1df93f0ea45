"""An executor: a process pool of the standard library.

    formalbench run --plugin process_pool.py --model gru --task parity --executor process-pool

Any `concurrent.futures.Executor` will do: a unit of work is plain data, its process writes the
records into the store, and the result is their ids.
"""

import multiprocessing
from collections.abc import Iterable
from concurrent.futures import Executor, ProcessPoolExecutor

from formalbench import Config, ExecutorSpec, Resources, hookimpl, option


class PoolConfig(Config):
    """The options of the pool."""

    processes: int = option(0, "how many; 0 for as many as work at once", minimum=0, maximum=512)


def make_pool(resources: Resources, config: PoolConfig) -> Executor:
    """Return a pool of fresh interpreters: torch must not be forked."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(config.processes or resources.jobs, context)


@hookimpl
def formalbench_executors() -> Iterable[ExecutorSpec]:
    """Announce the executor."""
    yield ExecutorSpec("process-pool", "a pool of processes", make_pool, config=PoolConfig)
