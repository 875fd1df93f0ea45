"""Worker processes of this machine; the executors `local` and `serial`.

A process answers in JSON or raw bytes. Its messages are never unpickled: a plugin could have sent
them, and unpickling runs code. A lost process fails only its current call; the next call starts
another process. A call with another `home` than the last one also starts a new process, since
plugin code could have changed anything in the old one.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from formalbench.contracts import errors
from formalbench.contracts.hooks import Resources

T = TypeVar("T")
P = ParamSpec("P")

Report = Callable[[str], None]
"""Called with one line about the next step, or with an empty line to show that work continues."""

MAX_BYTES = 1 << 28
"""Maximum bytes of one answer."""

MAX_REPORTS = 10_000

_ANSWER, _BYTES, _ERROR, _REPORT = b"a", b"b", b"e", b"r"
"""The first byte of each message of a process."""

_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        errors.FormalbenchError,
        errors.RequestError,
        errors.UnwritableError,
        errors.MissingPackageError,
        errors.BrokenPluginError,
        MemoryError,
        RuntimeError,
    )
}
"""Exceptions that the calling process raises again; any other becomes a RuntimeError there."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"

_context = multiprocessing.get_context("spawn")


class SerialExecutor(Executor):
    """Runs each call before `submit` returns; Ctrl-C passes through."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call now."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except errors.PLUGIN_FAILURES as error:
            future.set_exception(error)
        return future


def make_serial(resources: Resources) -> SerialExecutor:
    """Return the executor; it runs one unit at a time, for any `resources`."""
    return SerialExecutor()


class WorkerLostError(BrokenExecutor):
    """A process ended, was silent for too long, or sent an invalid answer."""


class WorkerProcess:
    """A process that runs one call at a time, started when it is first needed.

    Args:
        visible: the only GPU that it sees, as `CUDA_VISIBLE_DEVICES` names it; None for all.
        limit: seconds that it may be silent after its first message; None for no limit.
        prepare: called in the process before anything else.
    """

    def __init__(
        self,
        visible: str | None = None,
        limit: float | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.limit = limit
        self._arguments = (visible, prepare)
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._channel: Connection | None = None
        self._home: object = None
        self._ready = self._ended = False

    def start(self, home: object) -> None:
        """Start a process, unless the current one has run the code of this home only.

        Raises:
            WorkerLostError: after `end`.
        """
        if self._process is not None and self._home == home:
            return
        self.kill()
        parent, child = multiprocessing.Pipe()
        process = _context.Process(target=_serve, args=(child, *self._arguments))
        with self._lock:
            if self._ended:
                raise WorkerLostError("was ended")
            with _no_main_module(), no_interrupts():
                process.start()
            self._process, self._channel, self._home, self._ready = process, parent, home, False
        child.close()

    def ask(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        most: int = MAX_BYTES,
        report: Report | None = None,
    ) -> Any:
        """Return the result of a function that runs in the process: bytes or JSON data.

        Args:
            function: importable by its module's name.
            args: plain data; if the first has a `home`, the process has run only that home's code.
            kwargs: plain data.
            most: maximum bytes of the answer.
            report: called with the lines that the function reports through its last argument.

        Raises:
            WorkerLostError: if there is no answer.
            Exception: the function's exception, see `_ERRORS`; or if the call cannot be sent.
        """
        request = pickle.dumps((function, tuple(args), dict(kwargs), report is not None))
        channel, process = self._channel, self._process
        try:
            if channel is None or process is None:  # ended after it was started
                raise EOFError
            channel.send_bytes(request)
            reports = 0
            while (message := self._receive(channel, process, max(most, 1 << 16)))[:1] == _REPORT:
                if report is not None and len(message) > 1 and reports < MAX_REPORTS:
                    reports += 1
                    report(message[1:].decode(errors="replace"))
            return _answer_in(message)
        except TimeoutError:
            problem = f"did not finish within {self.limit:g} s"
        except (EOFError, OSError):
            problem = "ended the process that loaded it"
        except (ValueError, KeyError, TypeError, RecursionError):
            problem = "sent something that is no answer"
        self.kill()
        raise WorkerLostError(problem)

    def kill(self) -> bool:
        """Kill the process; return whether there was one."""
        with self._lock:
            process, self._process, self._channel = self._process, None, None
        if process is None:
            return False
        process.kill()
        process.join()
        return True

    def end(self) -> None:
        """End the process, and never start another."""
        with self._lock:
            self._ended = True
        self.kill()

    def _receive(self, channel: Connection, process: SpawnProcess, most: int) -> bytes:
        """Return the next message.

        Raises:
            TimeoutError: if the process is silent for too long; its start has no time limit.
            EOFError, OSError: if the process has ended, or the message is too long.
        """
        limit = self.limit if self._ready else None
        if not connection.wait([channel, process.sentinel], limit):
            raise TimeoutError
        if not channel.poll():  # a child of the process may keep the pipe open
            raise EOFError
        self._ready = True
        if self.limit is None:
            return channel.recv_bytes(most + 1)
        timer = threading.Timer(self.limit, process.kill)  # a message may be incomplete
        timer.start()
        try:
            return channel.recv_bytes(most + 1)
        finally:
            timer.cancel()


def _answer_in(message: bytes) -> Any:
    """Return the answer in a message, or raise the error in it.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: if the message is invalid.
    """
    kind, body = message[:1], message[1:]
    if kind == _BYTES:
        return body
    if kind == _ANSWER:
        return json.loads(body)
    if kind != _ERROR:
        raise ValueError("no answer")
    name, text = json.loads(body)
    raise _ERRORS[str(name)](str(text))


class _Call(Future[Any]):
    """The future of a call; cancelling it kills the process that runs it."""

    worker: WorkerProcess | None = None

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def cancel(self) -> bool:
        """Cancel the call: remove it from the queue or, if it has begun, kill its process."""
        if super().cancel():
            return True
        with self.lock:
            return self.worker is not None and self.worker.kill()

    def set_worker(self, worker: WorkerProcess | None) -> None:
        """Note which process runs the call now."""
        with self.lock:
            self.worker = worker


_Item = tuple[_Call, Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class LocalExecutor(Executor):
    """Processes on this machine, each with a thread that sends it one call at a time.

    Args:
        devices: ``cpu`` or ``cuda:i`` for each process; if they differ, it sees no other GPU.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        several = len(set(devices)) > 1
        self._workers = [WorkerProcess(_visible(one) if several else None) for one in devices]
        self._threads: list[threading.Thread] = []
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call in a process; arguments must be picklable, the result JSON data or bytes."""
        if self._closed:
            raise RuntimeError("the executor was shut down")
        call = _Call()
        self._waiting.put((call, fn, args, kwargs))
        if len(self._threads) < len(self._workers):  # one per call, up to the number of workers
            worker = self._workers[len(self._threads)]
            self._threads.append(threading.Thread(target=self._serve, args=(worker,), daemon=True))
            self._threads[-1].start()
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after their current calls (`wait`) or at once."""
        self._closed = True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while item := self._waiting.get_nowait():
                    item[0].cancel()
        for _ in self._threads:
            self._waiting.put(None)
        for worker in () if wait else self._workers:
            worker.end()
        for thread in self._threads:
            thread.join()

    def _serve(self, worker: WorkerProcess) -> None:
        with no_interrupts():
            while item := self._waiting.get():
                if item[0].set_running_or_notify_cancel():
                    self._do(worker, *item)
            worker.kill()

    def _do(self, worker: WorkerProcess, call: _Call, fn: Any, args: Any, kwargs: Any) -> None:
        try:
            worker.start(getattr(args[0], "home", None) if args else None)
            call.set_worker(worker)
            answer = worker.ask(fn, args, kwargs)
        except Exception as error:  # noqa: BLE001  # it is the caller's
            call.set_worker(None)
            call.set_exception(error)
        else:
            call.set_worker(None)
            call.set_result(answer)


def make_local(resources: Resources) -> LocalExecutor:
    """Return the executor: one process per job, which take the devices in turn."""
    devices = resources.devices
    return LocalExecutor([devices[index % len(devices)] for index in range(resources.jobs)])


def _visible(device: str) -> str:
    """Return the `CUDA_VISIBLE_DEVICES` that makes a process see only this GPU."""
    index = int(device.partition(":")[2] or 0)
    visible = [name.strip() for name in os.environ.get(_VISIBLE, "").split(",") if name.strip()]
    return visible[index] if index < len(visible) else str(index)


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep a new process from importing the caller's script, which would run the script again.

    Functions are imported by their module's name, so the script is not needed.
    """
    with _starting:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


_starting = threading.Lock()


@contextlib.contextmanager
def no_interrupts() -> Iterator[None]:
    """Block Ctrl-C in this thread and in the processes that it starts, which inherit the mask.

    The main thread handles Ctrl-C and ends the processes.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # otherwise it starts later and unblocks interrupts
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


# The functions below run in a worker process.


def _serve(channel: Connection, visible: str | None, prepare: Callable[[], None] | None) -> None:
    if visible is not None:
        os.environ[_VISIBLE] = visible  # before the first CUDA call
    if not hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # standard output belongs to the parent's command
    if prepare is not None:
        prepare()
    while True:
        try:
            function, args, kwargs, reports = channel.recv()
        except EOFError:
            return
        except Exception as error:  # noqa: BLE001  # the call cannot be unpickled here
            message = _error(error)
        else:
            report = (partial(_report, channel),) if reports else ()
            message = _message(partial(function, *args, *report, **kwargs))
        try:
            channel.send_bytes(message)
        except OSError:
            os._exit(1)  # the parent has closed the pipe


def _message(function: Callable[[], Any]) -> bytes:
    try:
        answer = function()
        return _BYTES + answer if isinstance(answer, bytes) else _ANSWER + _text(answer)
    except KeyboardInterrupt:  # raised by the function: interrupts do not reach this process
        return _ERROR + _text(["BrokenPluginError", "a plugin raises KeyboardInterrupt"])
    except BaseException as error:  # noqa: BLE001  # it is the caller's
        return _error(error)


def _error(error: BaseException) -> bytes:
    name, text = type(error).__name__, str(error)
    if _ERRORS.get(name) is not type(error):
        name, text = "RuntimeError", f"{name}: {text}"
        if isinstance(error, errors.RequestError):
            name, text = "RequestError", str(error)
    return _ERROR + _text([name, text])


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


def _report(channel: Connection, line: str) -> None:
    channel.send_bytes(_REPORT + line.encode())


def _end_with_parent() -> None:
    # A killed parent cannot stop its workers; they would continue, or wait for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
