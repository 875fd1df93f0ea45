"""Commands that write, each in a place of its own: carried out, killed, or short of room.

A command is a fork of this process, which has imported everything: so a kill comes while it works.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType

import formalbench_papers.framework.report  # noqa: F401  # before any fork
import yaml
from formalbench import ReproductionSpec
from formalbench.cli.main import run_command_line
from formalbench.host import Plugin, PluginHost
from formalbench.running import worker  # noqa: F401
from formalbench.store import Store, weights_path
from formalbench.store.archive import Archive
from formalbench.store.record_file import read_packed
from formalbench.training import run_state
from formalbench_papers.framework.claims import Claim, Findings
from formalbench_papers.framework.runs import CellPlan

PROTOCOL = """
name: tiny
version: 1
seeds: 2
learning_rates: [0.01]
steps: 60
batch: 8
evaluate_every: 10
decay: {steps: 20}
validation: {every: 20, lengths: 3, strings: 8}
test: {lengths: 3, strings: 16}
"""

MODELS = ("gru[width=4]", "rnn[width=4]")

PLAN = {
    "code": "0" * 40,
    "entries": [
        {"title": model, "reason": "r", "tasks": ["first"], "models": [model], "protocol": "tiny"}
        for model in MODELS
    ],
}

PATIENCE = 300
"""Seconds after which a command hangs."""

ROOM = "256m"
"""Of a disk that is not full."""

Results = dict[str, object]
"""What a command is for, by name: contents that are equal if nothing was lost or changed."""


@dataclass
class Place:
    """Folders that a command works in."""

    root: Path

    @property
    def clone(self) -> Path:
        """A clone of the repository with a plan."""
        return self.root / "clone"

    @property
    def published(self) -> Path:
        """The records of the clone."""
        return self.clone / "leaderboard" / "results"

    @property
    def results(self) -> Path:
        """The user's records."""
        return self.root / "results"

    def files(self) -> dict[str, float]:
        """Return all files, and when each was written."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.stat().st_mtime_ns for path in found}

    def lay_out(self) -> None:
        """Write what is there before any command."""
        self.published.mkdir(parents=True)
        (self.clone / "leaderboard" / "plan.yaml").write_text(yaml.safe_dump(PLAN))
        (self.root / "tiny.yaml").write_text(PROTOCOL)


def records_in(folder: Path) -> Results:
    """Return the numbers of the runs in a results folder, each with its weights."""
    found: Results = {}
    for path, record in Store(folder).files().items():
        weights = weights_path(path)
        kept = weights.read_bytes() if weights.is_file() else b""
        found[record.test_id] = record.status, record.weights, kept, record.selected, record.test
    return found


def trained(place: Place) -> Results:
    """Return what `run` and `fill` leave."""
    return {name: _without_seconds(one) for name, one in records_in(place.results).items()}


def published(place: Place) -> Results:
    """Return what `publish` leaves: records, and archives of their weights."""
    files = {file.name: file.read_bytes() for file in place.published.rglob("*.json")}
    return {**files, **packed(place)}


def packed(place: Place) -> Results:
    """Return the archives of weights in the clone."""
    found: Results = {}
    for path in sorted(place.clone.glob("weights*.tar")):
        archive = Archive(path)
        found |= {name: archive.read(sha256) for name, sha256 in archive.index.items()}
    return found


def reproduced(place: Place) -> Results:
    """Return what `reproduce` leaves: records, measurements, and the page made of them."""
    folder = place.root / "pages"
    kept = read_packed(folder / "toy.records.jsonl")
    runs = {one.test_id: _without_seconds((one.weights, one.selected, one.test)) for one in kept}
    texts = {name: (folder / name).read_text() for name in ("toy.csv", "toy.measured.jsonl")}
    page = (folder / "toy.md").read_text().splitlines()
    return {**runs, **texts, "page": [line for line in page if "in this call" not in line]}


def _without_seconds(parts: tuple[object, ...]) -> list[object]:
    """Return parts of a record without how long its test took."""
    return [
        one.model_copy(update={"seconds": 0.0}) if hasattr(one, "seconds") else one for one in parts
    ]


def _toy(bench) -> Findings:
    wanted = [CellPlan(model, "first", "rnn", "first", "tiny", {"width": 4}) for model in ("rnn",)]
    (got,) = bench.train(wanted)
    steps = [bench.measured({"task": "first", "seed": n}, partial(float, n)) for n in range(3)]
    rows = [{"run": number, "accuracy": one} for number, one in enumerate(got.accuracies)]
    claims = [Claim("c", "p", f"{sum(steps):.1f}", True)]
    return Findings(rows, claims, None, records=got.records)


TOY = ReproductionSpec("toy", "A toy", "Nobody (2026)", _toy, figure=False)


@dataclass(frozen=True)
class Command:
    """A command of formalbench that writes.

    Attributes:
        words: after the program's name; ``{root}`` is the place.
        results: reads what it leaves.
        before: commands that are carried out before it.
    """

    words: str
    results: Callable[[Place], Results]
    before: tuple[str, ...] = ()


COMMANDS = {
    "run": Command(
        f"run --model {','.join(MODELS)} --task first --protocol tiny --device cpu", trained
    ),
    "fill": Command("leaderboard fill --device cpu", trained),
    "publish": Command("leaderboard publish", published, ("run",)),
    "pack": Command("leaderboard weights pack weights.tar", packed, ("run", "publish")),
    "reproduce": Command("reproduce toy --device cpu --output {root}/pages", reproduced),
}


@dataclass
class Reference:
    """A command that nothing befell.

    Attributes:
        start: the place before it.
        files: all files after it.
        results: what it left.
        seconds: how long it took.
        writes: how often it opened a file to write, renamed, deleted or made something.
        kilobytes: that it wrote.
    """

    start: Place
    files: set[str]
    results: Results
    seconds: float
    writes: int
    kilobytes: int


@dataclass
class Harm:
    """What a fault did, and the same command after it did not put right: names, so none is best.

    Attributes:
        lost: results that are not there.
        changed: results that are not the same.
        again: records that were there at the fault, and were written again.
        left: files that an undisturbed command does not leave.
        broken: commands that ended in another way than they should.
    """

    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


class Campaign:
    """Carries commands out, with faults.

    Args:
        folder: for what it writes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._references: dict[tuple[str, int], Reference] = {}
        self._count = 0

    def reference(self, name: str, jobs: int) -> Reference:
        """Return what a command does where nothing befalls it; it is done once."""
        if (name, jobs) not in self._references:
            place = self._new(Place.lay_out)
            for before in COMMANDS[name].before:
                self._succeed(before, jobs, place)
            if "publish" in COMMANDS[name].before:  # its archive is what `pack` is to make
                for archive in place.clone.glob("weights*.tar"):
                    archive.unlink()
            start = Place(place.root.with_name(f"{place.root.name}-start"))
            shutil.copytree(place.root, start.root)
            began = time.monotonic()
            self._succeed(name, jobs, place)
            seconds = time.monotonic() - began
            used = [_kilobytes(one.root) for one in (start, place)]
            self._references[name, jobs] = Reference(
                start,
                {*place.files()},
                COMMANDS[name].results(place),
                seconds,
                int(place.root.with_name("writes").read_text()),
                max(used[1] - used[0], 8),
            )
        return self._references[name, jobs]

    def kill(self, name: str, jobs: int, rng: Random) -> Harm:
        """Kill a command at any time, or before any of its writes, and carry it out again."""
        reference = self.reference(name, jobs)
        while True:
            place = self._new(partial(_copy, reference.start))
            timed = jobs > 1 or rng.random() < 0.5  # workers write by themselves
            write = None if timed else rng.randrange(reference.writes)
            process = self._start(name, jobs, place, write)
            if timed:
                time.sleep(rng.random() * reference.seconds)
                os.kill(process, signal.SIGKILL)
            if _code_of(process) == -signal.SIGKILL:
                break
        with suppress(ProcessLookupError):  # until its workers, too, are gone
            for _ in range(100):
                os.killpg(process, signal.SIGKILL)
                time.sleep(0.1)
        return self._harm(name, jobs, place, reference)

    def fill_disk(self, name: str, jobs: int, share: float) -> Harm:
        """Carry a command out with room for a share of what it writes; then make room."""
        reference = self.reference(name, jobs)
        place = self._new(lambda place: place.root.mkdir())
        with _mounted(place.root):
            _copy(reference.start, place)
            used = _kilobytes(place.root)
            _resize(place.root, f"{used + int(share * reference.kilobytes)}k")
            code = _code_of(self._start(name, jobs, place))
            told = self._told(place)
            _resize(place.root, ROOM)
            harm = self._harm(name, jobs, place, reference)
        if code not in (0, 1, 2) or "Traceback" in told:
            harm.broken.append(f"exit code {code}: {told[-2000:]}")
        return harm

    def _harm(self, name: str, jobs: int, place: Place, reference: Reference) -> Harm:
        """Carry a command out after a fault, and say what is not as it should be."""
        harm = Harm()
        before = _whole_records(place)
        code = _code_of(self._start(name, jobs, place))
        if code or "Traceback" in self._told(place):
            harm.broken.append(f"again, exit code {code}: {self._told(place)[-2000:]}")
            harm.lost.extend(reference.results)
            return harm
        found, after = COMMANDS[name].results(place), place.files()
        harm.lost.extend(sorted(reference.results.keys() - found.keys()))
        harm.changed.extend(
            key for key, value in reference.results.items() if key in found and found[key] != value
        )
        harm.again.extend(path for path, at in before.items() if after.get(path, at) != at)
        harm.left.extend(sorted(after.keys() - reference.files))
        return harm

    def _succeed(self, name: str, jobs: int, place: Place) -> None:
        code = _code_of(self._start(name, jobs, place))
        assert code == 0, self._told(place)

    def _new(self, make: Callable[[Place], object]) -> Place:
        self._count += 1
        place = Place(self._folder / f"{self._count}" / "root")
        place.root.parent.mkdir(parents=True)
        make(place)
        return place

    def _told(self, place: Place) -> str:
        return place.root.with_name("log").read_text(errors="replace")

    def _start(self, name: str, jobs: int, place: Place, killed_at: int | None = None) -> int:
        """Start a command, and return its process; it dies before one of its writes, if asked."""
        words = COMMANDS[name].words.format(root=place.root).split()
        if name in ("run", "fill", "reproduce"):
            words += ["--jobs", str(jobs)]
        log = os.open(place.root.with_name("log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        process = os.fork()
        if process == 0:
            _be_command(words, place, log, killed_at)
        os.close(log)
        return process


WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}
"""Audit events of what changes a folder."""


def _be_command(words: list[str], place: Place, log: int, killed_at: int | None) -> None:
    """Carry a command out, and end this process with its exit code, or before one of its writes."""
    code, writes = 99, 0

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal writes
        if event in WRITES or (event == "open" and int(arguments[2]) & (os.O_WRONLY | os.O_RDWR)):
            if writes == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            writes += 1

    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(log, stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w") for stream in (1, 2))
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115
        warnings.resetwarnings()
        os.chdir(place.clone)
        os.environ["FORMALBENCH_CACHE"] = str(place.root / "cache")
        os.environ["FORMALBENCH_RESULTS"] = str(place.results)
        os.environ["FORMALBENCH_PLUGINS"] = str(place.root / "tiny.yaml")
        os.environ["TMPDIR"] = str(place.root)
        run_state.EVERY = 0.0  # save what trains at every evaluation
        load = PluginHost.load_installed

        def load_with(host: PluginHost, **how: bool) -> None:
            load(host, **how)
            host.reproductions.add(TOY, Plugin("toys", "toys", "1"))

        PluginHost.load_installed = load_with  # type: ignore[method-assign]
        sys.addaudithook(audit)
        code = run_command_line(words)
        place.root.with_name("writes").write_text(str(writes))
        sys.stdout.flush()
    except BaseException:  # this process is no test
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _code_of(process: int) -> int:
    """Wait for a process, and return its exit code."""

    def give_up(number: int, frame: FrameType | None) -> None:
        os.killpg(process, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _whole_records(place: Place) -> dict[str, float]:
    """Return the files of finished runs in a results folder, and when they were written."""
    files = place.files()
    found = {}
    for path, record in Store(place.results).read()[0].items():
        if record.status == "finished":
            name = path.relative_to(place.root).as_posix()
            found[name] = files[name]
    return found


def _copy(start: Place, place: Place) -> None:
    shutil.copytree(start.root, place.root, dirs_exist_ok=True)


def _kilobytes(folder: Path) -> int:
    """Return the room that files and folders take on a disk of pages."""
    return sum(4 * max(-(-path.stat().st_size // 4096), 1) for path in folder.rglob("*"))


def can_mount(folder: Path) -> bool:
    """Say whether this user may have a disk of its own in memory."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True).returncode:
        return False
    subprocess.run(["umount", folder], check=True)
    return True


@contextmanager
def _mounted(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _resize(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
