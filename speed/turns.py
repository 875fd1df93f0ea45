"""Programs in processes of their own, which take turns: a request in, a measurement out.

A program with another interpreter, other libraries or another number of cores stays alive in a
process and answers one request at a time: a line of JSON each way. While it waits it computes
nothing, so that two such programs can be measured in alternation. Imports the standard library
only, so that any interpreter can.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

FOLDER = Path(__file__).parent
SMALL_PAUSE = 0.05


def usable_cores() -> int:
    """Return how many CPU cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ContenderError(RuntimeError):
    """A program could not start, or ended before it answered."""


class Contender:
    """A program that answers requests, for the length of a `with` block.

    Args:
        script: its file, in this folder.
        arguments: of its command line.
        python: the interpreter.
        cores: how many it may use, of threads and, where the system can say so, of cores.
        threads: how many threads its matrix products may use; as many as cores if None.
    """

    def __init__(
        self,
        script: str,
        *arguments: str,
        python: str = sys.executable,
        cores: int | None = None,
        threads: int | None = None,
    ) -> None:
        cores = cores or usable_cores()
        threads = threads or cores
        self.name = " ".join([script, *arguments])
        environment = os.environ | {"OMP_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu"}
        if cores == 1:
            flags = os.environ.get("XLA_FLAGS", "")
            environment["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false"
        with _Cores(cores):  # a process inherits them from the thread that starts it
            self._process = subprocess.Popen(
                [python, str(FOLDER / script), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                text=True,
            )

    def __enter__(self) -> Contender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # it ends when its input is closed
        assert self._process.stdout is not None
        self._process.stdout.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, **request: Any) -> Mapping[str, Any]:
        """Send a request and wait for its answer."""
        self.send(**request)
        return self.receive()

    def seconds(self, **request: Any) -> float:
        """Send a request and return how many seconds it took, by the program's own clock."""
        return float(self.ask(**request)["seconds"])

    def send(self, **request: Any) -> None:
        """Send a request."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Mapping[str, Any]:
        """Wait for the answer to the request sent.

        Raises:
            ContenderError: if the program ends without one.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ContenderError(f"{self.name} ended with {self._process.wait()}")
        answer: Mapping[str, Any] = json.loads(line)
        return answer


class _Cores:
    """For a moment, keep this thread, and what it starts, to some of its cores."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        if hasattr(os, "sched_setaffinity"):
            self.before = os.sched_getaffinity(0)
            # The last ones: the first has most of the system's own work.
            os.sched_setaffinity(0, sorted(self.before)[-self.count :])

    def __exit__(self, *_: object) -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, self.before)


class Line:
    """The program's end: requests come from standard input, answers go to standard output."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # output of libraries must not mix with answers

    def next(self) -> dict[str, Any]:
        """Wait for the next request; the process ends if there is none."""
        line = sys.stdin.readline()
        if not line:
            sys.exit()
        time.sleep(SMALL_PAUSE)  # the other program may still be settling
        request: dict[str, Any] = json.loads(line)
        return request

    def answer(self, **values: Any) -> None:
        """Answer the request."""
        self._answers.write(json.dumps(values) + "\n")
        self._answers.flush()

    def serve(self, actions: Mapping[str, Callable[..., Mapping[str, Any]]]) -> None:
        """Answer requests for ever: what a request calls `do` names the action."""
        while True:
            request = self.next()
            self.answer(**actions[request.pop("do")](**request))


def peak_bytes() -> int:
    """Return the peak memory of this process."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
