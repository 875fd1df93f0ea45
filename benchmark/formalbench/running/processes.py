"""Worker processes on this machine: the executors `local` and `serial`.

Each slot has a thread that hands its process one thing at a time, so that a process that is lost
fails what it was doing and nothing else; the slot then starts another. So it does if the next thing
has another `home` than the last: a plugin's code could have changed anything in its process. On a
machine with several GPUs a slot's processes see one of them only.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.hooks import Workplace

T = TypeVar("T")


P = ParamSpec("P")


class SerialExecutor(Executor):
    """Does what it is given before `submit` returns; Ctrl-C passes through."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do it now."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except PLUGIN_FAILURES as error:
            future.set_exception(error)
        return future


def make_serial(workplace: Workplace) -> SerialExecutor:
    """Return the executor; it does one unit at a time, wherever it works."""
    return SerialExecutor()


_VISIBLE = "CUDA_VISIBLE_DEVICES"


_PATIENCE = 5.0
"""Seconds that a process has to end before it is killed."""


_context = multiprocessing.get_context("spawn")


class WorkerLostError(BrokenExecutor):
    """The process that did something is gone: it crashed, or the system killed it."""


@dataclass(frozen=True)
class _Item:
    """Something to do."""

    future: _Call[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

    @property
    def home(self) -> object:
        """What tells the processes that may do it; None for any."""
        arguments = self.call[1]
        return getattr(arguments[0], "home", None) if arguments else None


class _Call(Future[T]):
    """What comes of something; to cancel it ends the process that is at it."""

    slot: _Slot | None = None

    def cancel(self) -> bool:
        """Do it no more: it is taken back or, if it has begun, lost."""
        return super().cancel() or (self.slot is not None and self.slot.drop(self))


class LocalExecutor(Executor):
    """Processes on this machine.

    Args:
        devices: one for each slot, ``cpu`` or ``cuda:i``; a process sees no other GPU, if they
            differ.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        several = len(set(devices)) > 1
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._closed = False
        self._slots = [
            _Slot(self._waiting, _visible(device) if several else None) for device in devices
        ]
        self._started = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a process do it; what it is, and what it is given, must be picklable."""
        if self._closed:
            raise RuntimeError("the executor was shut down")
        future: _Call[T] = _Call()
        self._waiting.put(_Item(future, (fn, args, kwargs)))
        if self._started < len(self._slots):  # a slot for each thing, until there are enough
            self._slots[self._started].start()
            self._started += 1
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after what they are at (`wait`) or at once."""
        self._closed = True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while item := self._waiting.get_nowait():
                    item.future.cancel()
        for _ in self._slots:
            self._waiting.put(None)
        started = self._slots[: self._started]
        if not wait:
            for slot in started:
                slot.end()
        for slot in started:
            slot.join()


@dataclass
class _Slot:
    """A thread, and the process that it hands things to; both start when they are needed."""

    waiting: queue.SimpleQueue[_Item | None]
    visible: str | None
    process: SpawnProcess | None = None
    doing: _Call[Any] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: bool = False
    thread: threading.Thread | None = None

    def start(self) -> None:
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def end(self) -> None:
        """End the process at once, and start none any more."""
        with self.lock:
            self.ended = True
            if self.process is not None:
                self.process.terminate()

    def drop(self, call: _Call[Any]) -> bool:
        """End the process if it is at a call; it may hear nothing, so at once."""
        with self.lock:
            if self.doing is not call or self.process is None:
                return False
            self.process.kill()
            return True

    def join(self) -> None:
        if self.thread is not None:
            self.thread.join()

    def _serve(self) -> None:
        with _no_interrupts():
            self._hand_over()

    def _hand_over(self) -> None:
        channel: Connection | None = None
        home: object = None
        while (item := self.waiting.get()) is not None:
            if not item.future.set_running_or_notify_cancel():
                continue
            try:
                if channel is not None and item.home != home:
                    self._stop()
                    channel = None
                if channel is None:
                    channel, home = self._start_process(), item.home
                done, value = self._call(channel, item)
            except (OSError, EOFError, WorkerLostError):
                self._stop()
                channel = None
                item.future.set_exception(WorkerLostError("the worker process died"))
                continue
            except Exception as error:  # noqa: BLE001  # it cannot be pickled
                item.future.set_exception(error)
                continue
            if done:
                item.future.set_result(value)
            else:
                item.future.set_exception(value)
        self._stop()

    def _start_process(self) -> Connection:
        mine, theirs = multiprocessing.Pipe()
        with self.lock:
            if self.ended:
                raise WorkerLostError
            self.process = start_process(_be_worker, theirs, self.visible)
        theirs.close()
        return mine

    def _call(self, channel: Connection, item: _Item) -> tuple[bool, Any]:
        assert self.process is not None
        with self.lock:
            self.doing, item.future.slot = item.future, self
        try:
            channel.send(item.call)
            connection.wait([channel, self.process.sentinel])
            if not channel.poll():
                raise WorkerLostError
            answer: tuple[bool, Any] = _Answer(io.BytesIO(channel.recv_bytes())).load()
            return answer
        finally:
            with self.lock:
                self.doing = None

    def _stop(self) -> None:
        with self.lock:
            process, self.process = self.process, None
        if process is None:
            return
        process.terminate()
        process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()


def start_process(target: Callable[..., None], *arguments: object) -> SpawnProcess:
    """Start a process that imports no script of the caller's and that Ctrl-C does not reach.

    Args:
        target: found by its module's name.
        arguments: that it is called with.
    """
    process = _context.Process(target=target, args=arguments)
    with _no_main_module(), _no_interrupts():
        process.start()
    return process


class _Answer(pickle.Unpickler):
    """Reads plain data and errors: a plugin could have sent it, and any other class runs code."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module in (*_OF_ERRORS, "builtins") else None
        if not (isinstance(found, type) and issubclass(found, BaseException)):
            raise pickle.UnpicklingError(f"a worker answered with {module}.{name}")
        return found


_OF_ERRORS = ("formalbench.contracts.errors", __name__)


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
def _no_interrupts() -> Iterator[None]:
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


def _visible(device: str) -> str:
    """Return what makes a process see one GPU, of those that are visible here."""
    index = int(device.partition(":")[2] or 0)
    here = [name.strip() for name in os.environ.get(_VISIBLE, "").split(",") if name.strip()]
    return here[index] if index < len(here) else str(index)


def make_local(workplace: Workplace) -> LocalExecutor:
    """Return the executor: as many processes as there are jobs, and the devices in turn."""
    devices = workplace.devices
    return LocalExecutor([devices[slot % len(devices)] for slot in range(workplace.jobs)])


# What follows runs in a worker process.


def _be_worker(channel: Connection, visible: str | None) -> None:
    if visible is not None:
        os.environ[_VISIBLE] = visible  # before CUDA is asked for anything
    begin_worker()
    while True:
        try:
            function, args, kwargs = channel.recv()
        except EOFError:
            return
        except Exception as error:  # noqa: BLE001  # what was sent cannot be read here
            _answer(channel, False, error)
            continue
        try:
            _answer(channel, True, function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # it is the caller's
            _answer(channel, False, error)
        except BaseException as error:  # noqa: BLE001  # of a plugin's own kind: the caller's, too
            _answer(channel, False, RuntimeError(f"{type(error).__name__}: {error}"))


def begin_worker() -> None:
    """Prepare a process that `start_process` started: it ends with its parent, prints nothing."""
    if not hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # standard output belongs to the parent's command


def _answer(channel: Connection, done: bool, value: Any) -> None:
    try:
        channel.send((done, value))
    except OSError:
        os._exit(1)  # nobody is there to hear it
    except Exception:  # noqa: BLE001  # it cannot be pickled
        channel.send((False, RuntimeError(repr(value)[:1000])))


def _end_with_parent() -> None:
    # A parent that is killed cannot stop its workers; they would go on, or wait for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
