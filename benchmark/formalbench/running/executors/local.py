"""The executor ``local``: processes on this machine, one per slot.

Each slot has a thread that hands its process one thing at a time, so that a process that is lost
fails what it was doing and nothing else; the slot then starts another. On a machine with several
GPUs a slot's processes see one of them only.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, ParamSpec, TypeVar

from formalbench.contracts.execution import Workplace

T = TypeVar("T")
P = ParamSpec("P")

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_PATIENCE = 5.0
"""Seconds that a process has to end before it is killed."""

_context = multiprocessing.get_context("spawn")


class WorkerLostError(BrokenExecutor):
    """The process that did something is gone: it crashed, or the system killed it."""


@dataclass(frozen=True)
class _Item:
    """Something to do."""

    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


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
            raise RuntimeError("this executor was shut down")
        future: Future[T] = Future()
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

    def join(self) -> None:
        if self.thread is not None:
            self.thread.join()

    def _serve(self) -> None:
        _block_interrupts()
        channel: Connection | None = None
        while (item := self.waiting.get()) is not None:
            if not item.future.set_running_or_notify_cancel():
                continue
            try:
                if channel is None:
                    channel = self._start_process()
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
        mine, theirs = _context.Pipe()
        with self.lock:
            if self.ended:
                raise WorkerLostError
            process = _context.Process(target=_be_worker, args=(theirs, self.visible))
            process.start()
            self.process = process
        theirs.close()
        return mine

    def _call(self, channel: Connection, item: _Item) -> tuple[bool, Any]:
        assert self.process is not None
        channel.send(item.call)
        connection.wait([channel, self.process.sentinel])
        if not channel.poll():
            raise WorkerLostError
        answer: tuple[bool, Any] = channel.recv()
        return answer

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


def _block_interrupts() -> None:
    """Keep Ctrl-C from this thread, and from the processes that it starts: they inherit that.

    It is the main thread's to handle, which ends the processes.
    """
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # else it starts later, and lets interrupts through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _visible(device: str) -> str:
    """Return what makes a process see one GPU, of those that are visible here."""
    index = int(device.partition(":")[2] or 0)
    here = [name.strip() for name in os.environ.get(_VISIBLE, "").split(",") if name.strip()]
    return here[index] if index < len(here) else str(index)


def make(workplace: Workplace) -> LocalExecutor:
    """Return the executor: as many processes as there are jobs, and the devices in turn."""
    devices = workplace.devices
    return LocalExecutor([devices[slot % len(devices)] for slot in range(workplace.jobs)])


# What follows runs in a worker process.


def _be_worker(channel: Connection, visible: str | None) -> None:
    if visible is not None:
        os.environ[_VISIBLE] = visible  # before CUDA is asked for anything
    if not hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # standard output belongs to the parent's command
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
