"""Shared by all tests: a command line in this process, and a place of its own for each test."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # what tests of several rooms share

# Before torch is imported: the networks of the tests are tiny, and test processes share cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

FEW = 4
"""Cases of a test function that `make test` runs: the first, the last, and some between."""

TINY = """
    name: tiny
    version: 1
    seeds: 2
    learning_rates: [0.01]
    steps: 40
    batch: 8
    evaluate_every: 10
    decay: {steps: 20}
    validation: {every: 20, lengths: 3, strings: 8}
    test: {lengths: 3, strings: 16}
"""

MODEL = """
    import gc, json, os, signal, sys, threading, time
    import torch
    from torch import nn
    from formalbench import ModelSpec, hookimpl

    class Small(nn.Module):
        def __init__(self, task):
            super().__init__()
            {built}
            self.embed = nn.Embedding(len(task.alphabet), task.outputs)

        def forward(self, batch):
            {called}
            return self.embed(batch.symbols).mean(1)

    {imported}

    @hookimpl
    def formalbench_models():
        yield ModelSpec("{name}", 1, "for tests", Small)
"""


@pytest.fixture(autouse=True)
def numbers_as_torch_has_them() -> Iterator[None]:
    """Put back what a test's plugin may have changed for every test after it."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.set_flush_denormal(False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say how many cases of each kind a campaign has (`make campaign`), and which."""
    campaign = parser.getgroup("campaign", "faults on purpose: tests/campaign")
    campaign.addoption("--campaign-seed", default="0", help="decides the cases")
    campaign.addoption("--campaign-size", type=int, default=10, help="cases of each kind")
    campaign.addoption("--campaign-table", type=Path, help="the page to write what was lost into")
    parser.addoption("--device", help="where tests/device computes, with every model")


@pytest.hookimpl(tryfirst=True)  # before ``-m`` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but a few cases of each test function as slow: `make test` takes the few."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in functions.values():
        last = len(cases) - 1
        kept = {last * index // (FEW - 1) for index in range(FEW)}
        for index, case in enumerate(cases):
            if index not in kept:
                case.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class CommandResult:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a test out of the user's folders, and on one thread."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("FORMALBENCH_PLUGINS", raising=False)
    monkeypatch.chdir(tmp_path)
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def host():
    """A host with everything that is installed, one for the tests of a file."""
    from formalbench.host import PluginHost

    return PluginHost.load()


@pytest.fixture
def all_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take plugins' code for our own, so that it runs in this process: that takes seconds less.

    Not where a test is marked ``apart``.
    """
    if request.node.get_closest_marker("apart") is None:
        from formalbench.cli import check
        from formalbench.host import PluginHost
        from formalbench.running.plan import Run

        monkeypatch.setattr(PluginHost, "runs_local_code", lambda host: False)
        monkeypatch.setattr(Run, "foreign_code", ())
        monkeypatch.setattr(check, "is_foreign", lambda *a, **k: False)
        monkeypatch.setattr(import_module("formalbench.cli.main"), "APART", ())


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The results folder of this test; not made yet."""
    return tmp_path / "results"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file into this test's folder."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def mine(write) -> Callable[..., Path]:
    """Write a model that does something when it is imported, built or called."""

    def mine(name: str = "mine", **places: str) -> Path:
        does = dict.fromkeys(("imported", "built", "called"), "pass") | places
        return write(f"{name}.py", textwrap.dedent(MODEL).format(name=name, **does))

    return mine


@pytest.fixture
def tiny(write) -> Path:
    """A protocol that takes a blink."""
    return write("tiny.yaml", TINY)


@pytest.fixture
def cli(capsys, monkeypatch) -> Callable[..., CommandResult]:
    """Run a command in this process."""

    from formalbench.cli.main import run_command_line

    def run(*arguments: object, stdin: str | bytes = "") -> CommandResult:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        capsys.readouterr()
        code = run_command_line([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def refused(cli, results) -> Callable[..., str]:
    """Run a bad request: one line on stderr, nothing on stdout, nothing written."""

    def run(*arguments: object, code: int = 2, stdin: str | bytes = "") -> str:
        before = sorted(results.rglob("*")) if results.is_dir() else []
        done = cli(*arguments, stdin=stdin)
        assert "Traceback" not in done.err
        assert len(done.err.splitlines()) == 1, done.err
        assert done.code == code, done.err
        assert done.out == ""
        assert (sorted(results.rglob("*")) if results.is_dir() else []) == before
        return done.err.rstrip("\n")

    return run


@contextlib.contextmanager
def ctrl_c_reaches_children() -> Iterator[None]:
    """Start processes that Ctrl-C interrupts, also from a suite in the background.

    A shell starts what runs in the background with SIGINT ignored, and a process inherits that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start ``python …`` in a process of its own, which does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        with ctrl_c_reaches_children():
            process = subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env={**os.environ, **environment},
            )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers, too
        process.communicate()


@pytest.fixture(scope="session")
def fresh_environment() -> Callable[..., Path]:
    """Install something into an environment of its own, without its dependencies.

    These are seen through a path file: torch alone would take minutes to install. `see` is the
    line of that file: the path itself, or code that follows the path files in it, too (as those of
    what is installed for editing). Returns the folder of its scripts.
    """

    def make(folder: Path, what: Path, see: str = "{path}") -> Path:
        venv.create(folder, with_pip=False, symlinks=True)
        python = folder / "bin" / "python"
        paths = dict.fromkeys(map(sysconfig.get_path, ("purelib", "platlib")))
        lines = "".join(f"{see.format(path=path)}\n" for path in paths)
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True)
        (Path(site.stdout.strip()) / "parent.pth").write_text(lines)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
        install = [*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", str(what)]
        subprocess.run(install, check=True, capture_output=True, text=True)
        return folder / "bin"

    return make


@pytest.fixture
def python(spawn) -> Callable[..., str]:
    """Run ``python …`` in a process of its own and return what it printed."""

    def run(*arguments: object, **environment: str) -> str:
        process = spawn(*arguments, **environment)
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        return out

    return run
