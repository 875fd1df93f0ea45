"""Run a plugin's code in a process of its own, which answers in JSON or raw bytes.

The process that asks imports no plugin and unpickles nothing that a plugin sends: a pickle could
run code in it. It checks what it gets. A plugin's code may crash its process, or never return.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any, Self, TypeVar

from formalbench.contracts import errors
from formalbench.contracts.hooks import Workplace
from formalbench.host import LocalPlugin, PluginHost
from formalbench.running import processes
from formalbench.running.units import home_of, least_of, look_at_task, plugins_of
from formalbench.running.worker import load_host

if TYPE_CHECKING:
    from formalbench.running.plan import Run


Q = TypeVar("Q")


T = TypeVar("T")


Report = Callable[[str], None]
"""Called with one line on what is tried next, or with an empty one to show that work goes on."""


MAX_BYTES = 1 << 28
"""Of one answer."""


MAX_REPORTS = 10_000


_ANSWER, _BYTES, _ERROR, _REPORT = b"a", b"b", b"e", b"r"
"""The first byte of what a sandbox sends."""


_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        errors.FormalbenchError,
        errors.RequestError,
        errors.MissingPackageError,
        errors.BrokenPluginError,
        MemoryError,
        RuntimeError,
    )
}
"""What is raised again by the process that asked; anything else is a RuntimeError there."""


class NoAnswerError(Exception):
    """A plugin's code ended its process, did not come to an end, or sent something else.

    Attributes:
        problem: which of these.
        reports: what it was doing, and before: a line each.
    """

    def __init__(self, problem: str, reports: list[str]) -> None:
        what = reports[-1] if reports else "loading its plugins"
        super().__init__(f"{what}: its code {problem}")
        self.problem, self.reports = problem, reports


class Sandbox:
    """A process that answers questions until it is lost or has to run another plugin's code.

    Args:
        limit: seconds that it may be silent, once it has sent anything.

    Attributes:
        lost: the homes of questions that got no answer, and why not.
        holder: whose network it has built.
    """

    holder: object = None

    def __init__(self, limit: float) -> None:
        self.lost: dict[object, NoAnswerError] = {}
        self._limit = limit
        self._process: SpawnProcess | None = None
        self._channel: Connection | None = None
        self._home: object = None
        self._heard = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def ask(self, function: Callable[[Q, Report], Any], question: Q, most: int = MAX_BYTES) -> Any:
        """Return what a function answers there: bytes, or what JSON can hold.

        Args:
            function: found by its module's name.
            question: plain data; if it has a `home`, the process has run no code but that home's.
            most: bytes of the answer.

        Raises:
            NoAnswerError: if there is no answer.
            Exception: what the function raises; see `_ERRORS`.
        """
        home = getattr(question, "home", None)
        if self._process is not None and home != self._home:
            self.end()
        channel = self._channel or self._start(home)
        reports: list[str] = []
        try:
            channel.send((function, question))
            while (message := self._receive(channel, max(most, 1 << 16)))[:1] == _REPORT:
                if len(message) > 1 and len(reports) < MAX_REPORTS:
                    reports.append(message[1:].decode(errors="replace"))
            return _answer_in(message)
        except TimeoutError:
            problem = f"did not finish within {self._limit:g} s"
        except (EOFError, OSError):
            problem = "ended the process that loaded it"
        except (ValueError, KeyError, TypeError, RecursionError):
            problem = "sent something that is no answer"
        self.end()
        self.lost[home] = NoAnswerError(problem, reports)
        raise self.lost[home]

    def end(self) -> None:
        """End the process; the next question starts another."""
        process, self._process, self._channel = self._process, None, None
        if process is not None:
            process.kill()
            process.join()

    def _start(self, home: object) -> Connection:
        _hide_memory()
        mine, theirs = multiprocessing.Pipe()
        self._process = processes.start_process(_serve, theirs)
        theirs.close()
        self._channel, self._home, self._heard = mine, home, False
        return mine

    def _receive(self, channel: Connection, most: int) -> bytes:
        """Return the next message.

        Raises:
            TimeoutError: if nothing comes for too long. To start takes as long as it takes.
            OSError: if the process has ended, or the message is too long.
        """
        if not channel.poll(self._limit if self._heard else None):
            raise TimeoutError
        self._heard = True
        assert self._process is not None
        late = threading.Timer(self._limit, self._process.kill)  # a message may lack its end
        late.start()
        try:
            return channel.recv_bytes(most + 1)
        finally:
            late.cancel()


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


def _hide_memory() -> None:
    """Keep the processes of this user from reading the memory of this one, where Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


# What follows runs in the sandbox.


def _give_up_privileges() -> None:
    """Give up what root may do beyond other users: read the memory of any process."""
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: nor do programs that it starts
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
        system.capset(header, (ctypes.c_uint32 * 6)())


def _serve(channel: Connection) -> None:
    processes.begin_worker()
    _give_up_privileges()
    while True:
        try:
            function, question = channel.recv()
        except EOFError:
            return
        channel.send_bytes(_message(function, question, partial(_report, channel)))


def _message(function: Callable[[Q, Report], Any], question: Q, report: Report) -> bytes:
    try:
        answer = function(question, report)
        if isinstance(answer, bytes):
            return _BYTES + answer
        return _ANSWER + json.dumps(answer).encode()
    except KeyboardInterrupt:  # nobody else's: interrupts do not reach this process
        name, text = "BrokenPluginError", "a plugin raises KeyboardInterrupt"
    except BaseException as error:  # noqa: BLE001  # it is the caller's
        name, text = type(error).__name__, str(error)
        if _ERRORS.get(name) is not type(error):
            name, text = "RuntimeError", f"{name}: {text}"
    return _ERROR + json.dumps([name, text]).encode()


def _report(channel: Connection, line: str) -> None:
    channel.send_bytes(_REPORT + line.encode())


PATIENCE = 120.0
"""Seconds that a plugin's code has to make a task or a network."""


@dataclass(frozen=True)
class _Question:
    """What a process is asked of a run; plain data."""

    run: Run
    plugins: tuple[LocalPlugin, ...]
    device: str

    @property
    def home(self) -> object:
        return home_of(self.run, self.plugins)


class Preflight:
    """Asks about runs before they begin; what it is not told, the records of the runs will say.

    Args:
        host: the plugins.
        workplace: where the runs are to be.
    """

    def __init__(self, host: PluginHost, workplace: Workplace) -> None:
        self._host, self._workplace = host, workplace
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def hand_over(self) -> Executor | None:
        """Give away the processes that were asked, if any: they have loaded what the runs need."""
        executor, self._executor = self._executor, None
        return executor

    def look_at_task(self, run: Run) -> None:
        """Refuse what a task cannot be asked; see `units.look_at_task`."""
        if run.strangers:
            self._ask(_look, run)
        else:
            look_at_task(self._host, run)

    def least_of(self, run: Run) -> int | None:
        """Say from how many runs on they train together; see `units.least_of`."""
        if run.strangers:
            return self._ask(_least, run)
        return least_of(self._host, run, self._workplace.devices[0])

    def _ask(self, function: Callable[[_Question], T], run: Run) -> T | None:
        if self._executor is None:
            self._executor = processes.make_local(self._workplace)
        question = _Question(run, plugins_of(self._host, run), self._workplace.devices[0])
        answer = self._executor.submit(function, question)
        try:
            return answer.result(PATIENCE)
        except (TimeoutError, BrokenExecutor):
            answer.cancel()
            return None


def _look(question: _Question) -> None:
    look_at_task(load_host(question.plugins), question.run)


def _least(question: _Question) -> int | None:
    return least_of(load_host(question.plugins), question.run, question.device)
