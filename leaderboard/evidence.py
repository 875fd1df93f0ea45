"""Train the plan of the leaderboard with the code that it names: `make evidence`.

All files are in evidence/ of the checkout, which git ignores, and stay there between calls:

    source/, venv/          a clone at the plan's commit, and the environment with its wheel
    cache/                  checkpoints of runs that were interrupted
    sotu/, debian-en-vi/    corpora of texts
    results/                records and weights

So the working tree may change during training. Every ten minutes, and at the end, the working
tree's own code publishes a model's records on a task when all its planned runs there are finished.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import IO, TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.files import write_atomically
from formalbench.host import PluginHost
from formalbench.running.estimate import due
from formalbench.running.plan import Run, key_of
from formalbench.store import PUBLISHED_RESULTS, REPRODUCTIONS, Store, weights_path
from formalbench_leaderboard.fill import results_of
from formalbench_leaderboard.plan import (
    CLAIM_DIFFERS,
    PLAN,
    Plan,
    read_plan,
    read_plan_file,
    runs_of,
)

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("locks/test.txt", "constraints.txt")
"""Requirements of the environment. Figures of papers and their corpora need the extra ``test``."""

RENDERED = "rendered"
"""The file with the digest of each page's records when the page was last rendered."""

CORPORA = ("sotu", "debian-en-vi")
"""Corpora of the plan's reproductions, as `formalbench corpus fetch` makes them."""

PUBLISH_EVERY = 600.0
"""Seconds between two checks for records to publish."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and publish; return the exit code."""
    options = _options(arguments)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if options.publish:
            with (folder / "publish.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # wait while another process publishes
                return publish_new(ROOT, folder)
        with (folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RequestError(f"{folder}: another `make evidence` is running there") from None
            python = prepare(folder, read_plan_file(ROOT / PLAN).code)
            return _train(folder, python, options.hours, options.jobs, lock)
    except RequestError as error:
        _log(str(error))
        return RequestError.exit_code
    except subprocess.CalledProcessError as error:
        _log(f"{' '.join(map(str, error.cmd))}: exit code {error.returncode}")
        return 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hours", type=float, default=2.5, help="stop after this many hours")
    parser.add_argument("--jobs", type=int, default=2, help="parallel runs, with one thread each")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / "evidence",
        help="folder of all files. Default: evidence/",
    )
    parser.add_argument(
        "--publish", action="store_true", help="only publish the finished runs; train nothing"
    )
    return parser.parse_args(arguments)


def prepare(folder: Path, code: str) -> Path:
    """Install a commit as a wheel into a separate environment, unless it is installed.

    Args:
        folder: the folder of all files.
        code: the commit.

    Returns:
        The path of the environment's Python.
    """
    source, environment = folder / "source", folder / "venv"
    python = environment / "bin" / "python"
    installed = folder / "installed"  # written last, so that an interrupted run starts again
    packages, commit = [*_lines(installed), "", ""][:2]
    if commit != code:
        shutil.rmtree(source, ignore_errors=True)
        _run("git", "clone", "--quiet", "--no-checkout", str(ROOT), str(source))
        _run("git", "-C", str(source), "checkout", "--quiet", "--detach", code)
    lock_digest = _digest([source / name for name in LOCKS])
    if (packages, commit) == (lock_digest, code) and python.exists():
        return python
    installed.unlink(missing_ok=True)
    pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    if packages != lock_digest or not python.exists():
        _log(f"installing the packages of {code[:12]} into {environment}")
        _run(sys.executable, "-m", "venv", "--clear", str(environment))
        lock, constraints = (str(source / name) for name in LOCKS)
        _run(*pip, "--require-hashes", "--no-deps", "--requirement", lock)
        _run(*pip, "--constraint", constraints, "torch")
    with TemporaryDirectory(dir=folder) as dist:
        build = (str(python), "-m", "hatchling", "build", "-t", "wheel", "-d", dist)
        _run(*build, cwd=source)
        (wheel,) = Path(dist).iterdir()
        _run(*pip, "--no-deps", "--force-reinstall", str(wheel))
    installed.write_text(f"{lock_digest}\n{code}\n")
    return python


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines() if file.exists() else []


def _digest(files: Sequence[Path]) -> str:
    """Return a digest of files and of the Python version that the environment is made with."""
    digest = hashlib.sha256(platform.python_version().encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _train(folder: Path, python: Path, hours: float, jobs: int, lock: IO[str]) -> int:
    """Run ``fill`` at the lowest priority, and publish its records.

    The training process holds the lock, too: if this process is killed, it may continue.
    """
    command = ["nice", "-n", "19", str(python), "-m", "formalbench", "leaderboard", "fill"]
    command += ["--plan", str(ROOT / PLAN), "--results", str(folder / "results")]
    command += ["--hours", str(hours), "--jobs", str(jobs)]
    for corpus in CORPORA:
        path = folder / corpus
        if not path.exists():
            _run(str(python), "-m", "formalbench", "corpus", "fetch", corpus, "--output", str(path))
        command += ["--plugin", str(path / f"{corpus}.yaml")]
    overrides = {"FORMALBENCH_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "FORMALBENCH_PLUGINS", "VIRTUAL_ENV")
    }
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment | overrides,
        pass_fds=(lock.fileno(),),
        start_new_session=True,  # so that Ctrl-C reaches it once, from here
    )
    signals: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        process.send_signal(signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    while True:
        try:
            code = process.wait(PUBLISH_EVERY)
            break
        except subprocess.TimeoutExpired:
            _publish(folder)
    published = _publish(folder)
    return 128 + signals[0] if signals else code or published


def _publish(folder: Path) -> int:
    """Publish in a separate process, which uses the current code of the working tree."""
    command = [sys.executable, __file__, "--folder", str(folder), "--publish"]
    return subprocess.run(command, cwd=ROOT, start_new_session=True).returncode


def publish_new(repository: Path, folder: Path) -> int:
    """Publish a model's records on a task when all its planned runs there are finished.

    Returns:
        1 if a record was refused, else 0.

    Args:
        repository: the root of the clone with the plan and the code.
        folder: the folder with the records, in ``results``.
    """
    from formalbench_leaderboard.publishing.places import RefusedError
    from formalbench_leaderboard.publishing.publish import publish

    host = PluginHost.load(own_code=True)  # as `leaderboard publish` does
    plan = read_plan(repository / PLAN, host)
    groups = complete_groups(repository, Store(folder / "results"), plan)

    def put(records: Sequence[tuple[Path, Record]]) -> list[str]:
        with TemporaryDirectory(dir=folder) as staging:
            new = Store(Path(staging) / "results")
            for file, record in records:
                weights = weights_path(file)
                new.write(record, weights.read_bytes() if weights.exists() else None)
            try:
                result = publish(new.path, repository, host, Path(staging) / "weights.tar")
            except RefusedError as error:
                return list(error.lines)
        added = sum(result.added.values())
        _log(f"published {added} records of {', '.join(sorted({m for m, _ in result.added}))}")
        return []

    refused: list[str] = []
    if groups and put([one for group in groups for one in group]):
        refused = [line for group in groups for line in put(group)]  # all except the refused ones
    for line in refused:
        _log(f"not published: {line}")
    _render_again(repository, folder, plan)
    return 1 if refused else 0


def complete_groups(repository: Path, store: Store, plan: Plan) -> list[list[tuple[Path, Record]]]:
    """Return the new records of each model and task whose runs in an entry are complete."""
    groups: dict[tuple[int, str, str, str], list[Run]] = {}
    for entry in plan.entries:
        for run in entry.runs:
            place = (entry.number, run.info.model, run.info.task, run.protocol.title)
            groups.setdefault(place, []).append(run)
    all_runs = runs_of(plan.entries)
    published = results_of(all_runs, Store(repository / PUBLISHED_RESULTS).records())
    stored = results_of(all_runs, [record for run in all_runs if (record := store.record_of(run))])
    new = {key: record for key, record in stored.items() if key not in published}
    complete, taken = [], set()
    for runs in groups.values():
        if due(runs, published | new):
            continue
        keys = {key_of(run): run for run in runs if key_of(run) in new.keys() - taken}
        taken |= keys.keys()
        if keys:
            complete.append([(store.path_of(run), new[key]) for key, run in keys.items()])
    return complete


def _render_again(repository: Path, folder: Path, plan: Plan) -> None:
    """Render the pages whose records changed since the last time, with the working tree's code."""
    file = folder / RENDERED
    rendered = dict(line.split(" ") for line in _lines(file))
    for entry in plan.entries:
        spec = entry.reproduction
        if spec is None or spec.inside:
            continue
        records = repository / REPRODUCTIONS / f"{spec.name}.records.jsonl"
        if not records.exists():
            continue
        digest = hashlib.sha256(records.read_bytes()).hexdigest()
        if rendered.get(spec.name) == digest:
            continue
        command = [sys.executable, "-m", "formalbench", "reproduce", spec.name, "--from-records"]
        result = subprocess.run(command, cwd=repository, stdout=sys.stderr)
        if result.returncode in (0, CLAIM_DIFFERS):
            rendered[spec.name] = digest
            write_atomically(file, "".join(f"{name} {sha}\n" for name, sha in rendered.items()))


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True)


def _log(line: str) -> None:
    print(f"evidence: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
