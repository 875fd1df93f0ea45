"""The executor ``dask``: units of work go to the workers of a Dask cluster.

The cluster is a running one (its ``address``), or processes of this machine. Workers need the same
version of formalbench and access to the results folder under the same path.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import RequestError, need_package
from formalbench.contracts.hooks import Resources

if TYPE_CHECKING:
    import distributed

T = TypeVar("T")
P = ParamSpec("P")

_PATIENCE = 10
"""Time limit for a scheduler's answer, in seconds."""


class DaskConfig(Config):
    """The options of the executor."""

    address: str = option("", "address of a running scheduler: tcp://host:8786")
    workers: int = option(
        0, "workers on this machine if there is no address; 0 for --jobs", minimum=0, maximum=10_000
    )


class LostWorkerError(BrokenExecutor):
    """The worker of a call was lost."""


class DaskExecutor(Executor):
    """Submits calls to a cluster; each is started once, even if its worker is lost.

    Args:
        cluster: the cluster, if it ends with this executor.
    """

    def __init__(self, client: distributed.Client, cluster: Any = None) -> None:
        self._client, self._cluster = client, cluster
        self._calls: dict[_Call[Any], distributed.Future] = {}
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call on a worker."""
        if self._closed:
            raise RuntimeError("the executor was shut down")
        if self._client.status != "running":
            raise LostWorkerError("the scheduler stopped")
        key = f"formalbench-{uuid.uuid4().hex}"
        call: _Call[T] = _Call(self)
        task = self._client.submit(_begin_once, key, fn, args, kwargs, key=key, pure=False)
        self._calls[call] = task
        task.add_done_callback(partial(self._settle, call))
        return call

    def drop(self, call: _Call[Any]) -> None:
        """Cancel a call; if a worker is running it, the worker's process is restarted."""
        task = self._calls.pop(call, None)
        if task is None or task.done():
            return
        busy = [worker for worker, keys in self._client.processing().items() if task.key in keys]
        task.cancel()
        if busy:
            self._client.restart_workers(busy, raise_for_error=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, and end it if it was started for this executor.

        Workers of a cluster that was already running finish their calls, so that no work is lost.
        """
        if self._closed:
            return
        self._closed = True
        if cancel_futures or not wait:
            self._client.cancel([*self._calls.values()], force=True)
        else:
            futures.wait([*self._calls])
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _settle(self, call: _Call[T], task: distributed.Future) -> None:
        self._calls.pop(call, None)
        if not call.set_running_or_notify_cancel():
            return
        if task.status == "finished":
            call.set_result(task.result())
        elif task.status == "error":
            call.set_exception(_lost_or_own(task.exception()))
        else:
            call.set_exception(LostWorkerError("the scheduler gave up on it"))


class _Call(Future[T]):
    """The future of a call; cancelling it also stops the worker that runs it."""

    def __init__(self, executor: DaskExecutor) -> None:
        super().__init__()
        self._executor = executor

    def cancel(self) -> bool:
        """Cancel the call."""
        cancelled = super().cancel()
        self._executor.drop(self)
        return cancelled


def _lost_or_own(error: BaseException) -> BaseException:
    from distributed import KilledWorker

    return LostWorkerError("the worker process died") if isinstance(error, KilledWorker) else error


def make(resources: Resources, config: DaskConfig) -> DaskExecutor:
    """Return the executor, connected to a cluster."""
    need_package("--executor dask", "distributed", "dask")
    from distributed import Client

    if config.address:
        client = _connect(config.address)
        _check_seen(client, resources.store)
        return DaskExecutor(client)
    cluster = _of_this_machine(resources, config.workers or resources.jobs)
    return DaskExecutor(Client(cluster, set_as_default=False), cluster)


def _connect(address: str) -> distributed.Client:
    from distributed import Client

    try:
        with _quiet():
            return Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        message = " ".join(str(error).split())[:200]
        raise RequestError(f"--executor dask: no scheduler at {address}: {message}") from None


def _check_seen(client: distributed.Client, store: Path | None) -> None:
    """Refuse a cluster whose workers cannot see the store; workers added later check it, too."""
    if store is not None and not all(client.run(store.is_dir).values()):
        client.close()
        raise _unseen(store)


def _unseen(store: Path) -> RequestError:
    return RequestError(f"--executor dask: the cluster's workers cannot see the folder {store}")


def _of_this_machine(resources: Resources, workers: int) -> Any:
    from distributed import LocalCluster

    if len(resources.devices) > 1:
        raise RequestError(
            "--executor dask: the processes that it starts share a GPU: name one with --device "
            "cuda:0, or give the address of a cluster whose workers have one each"
        )
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=None,  # a limit would pause or kill workers
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


@contextlib.contextmanager
def _quiet() -> Any:
    """Suppress the library's log messages about a scheduler that does not answer."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


# The function below runs on a worker.


def _begin_once(key: str, fn: Callable[..., T], args: Any, kwargs: Any) -> T:
    """Run a call, unless another worker has started it, which means that this worker was lost.

    Dask would retry automatically, and could lose one worker after another to the same unit.
    formalbench itself decides whether to submit a unit again.
    """
    from distributed import Event

    started = Event(key)
    if started.is_set():
        raise LostWorkerError("the worker process died")
    started.set()
    folder: Path | None = getattr(args[0], "store", None) if args else None
    if folder is not None and not folder.is_dir():
        raise _unseen(folder)
    return fn(*args, **kwargs)
