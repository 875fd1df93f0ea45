"""Worker processes of this machine; the executors `local` and `serial`.

A process answers in JSON or raw bytes. Nothing that it sends is unpickled: a plugin could have sent
it, and a pickle runs code. A process that is lost fails what it was doing and nothing else; the
next thing starts another. So does a thing of another `home` than the last: a plugin's code could
have changed anything in its process.
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
from formalbench.contracts.hooks import Workplace

T = TypeVar("T")
P = ParamSpec("P")

Report = Callable[[str], None]
"""Called with one line on what is tried next, or with an empty one to show that work goes on."""

MAX_BYTES = 1 << 28
"""Of one answer."""

MAX_REPORTS = 10_000

_ANSWER, _BYTES, _ERROR, _REPORT = b"a", b"b", b"e", b"r"
"""The first byte of what a process sends."""

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
"""What is raised again by the process that asked; anything else is a RuntimeError there."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"

_context = multiprocessing.get_context("spawn")


class SerialExecutor(Executor):
    """Does what it is given before `submit` returns; Ctrl-C passes through."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do it now."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except errors.PLUGIN_FAILURES as error:
            future.set_exception(error)
        return future


def make_serial(workplace: Workplace) -> SerialExecutor:
    """Return the executor; it does one unit at a time, wherever it works."""
    return SerialExecutor()


class WorkerLostError(BrokenExecutor):
    """A process ended, was silent for too long, or sent something that is no answer."""


class WorkerProcess:
    """A process that does one thing at a time, started when it is first needed.

    Args:
        visible: the only GPU that it sees, as `CUDA_VISIBLE_DEVICES` names it; None for all.
        limit: seconds that it may be silent, once it has sent anything; None for any time.
        prepare: called in the process before anything else.
    """

    def __init__(
        self,
        visible: str | None = None,
        limit: float | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.limit = limit
        self._begin = (visible, prepare)
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._channel: Connection | None = None
        self._home: object = None
        self._heard = self._ended = False

    def start(self, home: object) -> None:
        """Start a process, unless there is one that has run no code but that of this home.

        Raises:
            WorkerLostError: after `end`.
        """
        if self._process is not None and self._home == home:
            return
        self.kill()
        mine, theirs = multiprocessing.Pipe()
        process = _context.Process(target=_serve, args=(theirs, *self._begin))
        with self._lock:
            if self._ended:
                raise WorkerLostError("was ended")
            with _no_main_module(), no_interrupts():
                process.start()
            self._process, self._channel, self._home, self._heard = process, mine, home, False
        theirs.close()

    def ask(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        most: int = MAX_BYTES,
        report: Report | None = None,
    ) -> Any:
        """Return what a function answers in the process there is: bytes, or what JSON can hold.

        Args:
            function: found by its module's name.
            args: plain data; of a first with a `home`, the process has run no other home's code.
            kwargs: plain data.
            most: bytes of the answer.
            report: called with the lines that the function reports by its last argument.

        Raises:
            WorkerLostError: if there is no answer.
            Exception: what the function raises, see `_ERRORS`; or if it cannot be sent.
        """
        request = pickle.dumps((function, tuple(args), dict(kwargs), report is not None))
        channel, process = self._channel, self._process
        try:
            if channel is None or process is None:  # ended since it was started
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
        """End the process, if there is one."""
        with self._lock:
            process, self._process, self._channel = self._process, None, None
        if process is None:
            return False
        process.kill()
        process.join()
        return True

    def end(self) -> None:
        """End the process, and start none any more."""
        with self._lock:
            self._ended = True
        self.kill()

    def _receive(self, channel: Connection, process: SpawnProcess, most: int) -> bytes:
        """Return the next message.

        Raises:
            TimeoutError: if nothing comes for too long. To start takes as long as it takes.
            EOFError, OSError: if the process has ended, or the message is too long.
        """
        limit = self.limit if self._heard else None
        if not connection.wait([channel, process.sentinel], limit):
            raise TimeoutError
        if not channel.poll():  # a process that it started may hold its end of the pipe
            raise EOFError
        self._heard = True
        if self.limit is None:
            return channel.recv_bytes(most + 1)
        late = threading.Timer(self.limit, process.kill)  # a message may lack its end
        late.start()
        try:
            return channel.recv_bytes(most + 1)
        finally:
            late.cancel()


def _home_of(args: Sequence[Any]) -> object:
    return getattr(args[0], "home", None) if args else None


def _answer_in(message: bytes) -> Any:
    """Return the answer in a message, or raise the error in it.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: if it is neither.
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
    """What comes of something; to cancel it ends the process that is at it."""

    worker: WorkerProcess | None = None

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def cancel(self) -> bool:
        """Do it no more: it is taken back or, if it has begun, lost."""
        if super().cancel():
            return True
        with self.lock:
            return self.worker is not None and self.worker.kill()

    def be_at(self, worker: WorkerProcess | None) -> None:
        """Note which process is at it now."""
        with self.lock:
            self.worker = worker


_Item = tuple[_Call, Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class LocalExecutor(Executor):
    """Processes on this machine, each with a thread that hands it one thing at a time.

    Args:
        devices: of each process, ``cpu`` or ``cuda:i``; it sees no other GPU, if they differ.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        several = len(set(devices)) > 1
        self._workers = [WorkerProcess(_visible(one) if several else None) for one in devices]
        self._threads: list[threading.Thread] = []
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a process do it; what it is given must be picklable, its answer JSON or bytes."""
        if self._closed:
            raise RuntimeError("the executor was shut down")
        call = _Call()
        self._waiting.put((call, fn, args, kwargs))
        if len(self._threads) < len(self._workers):  # one for each thing, until there are enough
            worker = self._workers[len(self._threads)]
            self._threads.append(threading.Thread(target=self._serve, args=(worker,), daemon=True))
            self._threads[-1].start()
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after what they are at (`wait`) or at once."""
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
                call, function, args, kwargs = item
                if call.set_running_or_notify_cancel():
                    self._do(worker, call, function, args, kwargs)
            worker.kill()

    def _do(self, worker: WorkerProcess, call: _Call, *what: Any) -> None:
        try:
            worker.start(_home_of(what[1]))
            call.be_at(worker)
            answer = worker.ask(*what)
        except Exception as error:  # noqa: BLE001  # it is the caller's
            call.be_at(None)
            call.set_exception(error)
        else:
            call.be_at(None)
            call.set_result(answer)


def make_local(workplace: Workplace) -> LocalExecutor:
    """Return the executor: as many processes as there are jobs, and the devices in turn."""
    devices = workplace.devices
    return LocalExecutor([devices[index % len(devices)] for index in range(workplace.jobs)])


def _visible(device: str) -> str:
    """Return what makes a process see one GPU, of those that are visible here."""
    index = int(device.partition(":")[2] or 0)
    here = [name.strip() for name in os.environ.get(_VISIBLE, "").split(",") if name.strip()]
    return here[index] if index < len(here) else str(index)


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep a process that is started from importing the caller's script, which would run it again.

    What it is to do is found by its module's name and needs nothing of the script.
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
    """Keep Ctrl-C from this thread, and from the processes that it starts: they inherit that.

    It is the main thread's to handle, which ends the processes.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it starts later, and lets interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# What follows runs in a worker process.


def _serve(channel: Connection, visible: str | None, prepare: Callable[[], None] | None) -> None:
    if visible is not None:
        os.environ[_VISIBLE] = visible  # before CUDA is asked for anything
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
        except Exception as error:  # noqa: BLE001  # what was sent cannot be read here
            message = _error(error)
        else:
            told = (partial(_report, channel),) if reports else ()
            message = _message(partial(function, *args, *told, **kwargs))
        try:
            channel.send_bytes(message)
        except OSError:
            os._exit(1)  # nobody is there to hear it


def _message(function: Callable[[], Any]) -> bytes:
    try:
        answer = function()
        return _BYTES + answer if isinstance(answer, bytes) else _ANSWER + _text(answer)
    except KeyboardInterrupt:  # nobody else's: interrupts do not reach this process
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
    # A parent that is killed cannot stop its workers; they would go on, or wait for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
