"""Do on a GPU what needs one, part by part, into one folder: `make gpu` (README.md beside this).

A part that is done is not repeated, one that was cut off is taken up again; so the same command
goes on wherever it was stopped, on another machine too if it gets the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent

GRACE = 45.0
"""Seconds that a part has to end after a signal."""

STOP = "STOP"
"""A file of this name in the folder ends the program after the current part."""

JOBS = 5
"""Processes that share the GPU; one leaves it idle most of the time."""

COHORTS = ("regulargpt", "transformer", "lstm", "rnn", "deltanet", "mamba-2")


@dataclass(frozen=True)
class Part:
    """A part of the work, done by a separate program.

    Attributes:
        name: of its log, and in the index.
        what: description in a line.
        command: the program and its arguments.
        resumes: whether it continues after an interruption; otherwise it starts again.
    """

    name: str
    what: str
    command: Sequence[str]
    resumes: bool = False


def parts_of(device: str, out: Path, *, short: bool = False) -> list[Part]:
    """Return all parts.

    Args:
        device: ``cuda``, ``cuda:i`` or, to rehearse, ``cpu``.
        out: the folder that everything goes to.
        short: whether each is to do as little as it can.
    """
    return [
        *_checks(device, short),
        *_measurements(device, short),
        _records(device, out, short),
    ]


def _checks(device: str, short: bool) -> Iterator[Part]:
    few = ["-k", "rnn-"] if short else []
    yield Part("machine", "the machine, and its torch", _measure("machine", device))
    for name, what in (
        ("answers", "answers and gradients are those of the CPU, in double precision"),
        ("cohorts", "a cohort gives the numbers of its runs alone"),
        ("graphs", "recorded steps give the numbers of others; training goes through"),
    ):
        yield Part(
            f"test-{name}", what, _pytest(f"tests/device/test_{name}.py", "--device", device, *few)
        )
    if not short:
        yield Part(
            "test-training",
            "what the tests keep for a GPU",
            _pytest("tests/benchmark/test_training_parts.py"),
        )


def _measurements(device: str, short: bool) -> Iterator[Part]:
    more = ["--short"] if short else []
    for kind, what in (
        ("graphs", "training steps with CUDA graphs and without"),
        ("cohorts", "cohorts of 9 and 27 against one run at a time"),
    ):
        for model in COHORTS[-1:] if short else COHORTS:
            yield Part(
                f"{kind}-{model}",
                f"{model}: {what}",
                _measure(kind, device, "--model", model, *more),
            )
    yield Part(
        "kernels",
        "families against flash-linear-attention's kernels",
        _measure("kernels", device, *more),
    )


def _records(device: str, out: Path, short: bool) -> Part:
    """Return the part that trains the leaderboard's plan."""
    command = [sys.executable, "-m", "formalbench", "leaderboard", "fill", "--device", device]
    command += ["--results", str(out / "results"), "--jobs", str(JOBS)]
    if short:
        command += ["--plan", str(HERE / "short-plan.yaml")]
        command += ["--plugin", str(HERE / "short-protocol.yaml")]
    return Part("records", "what leaderboard/plan.yaml lacks", command, resumes=True)


def _measure(kind: str, device: str, *more: str) -> list[str]:
    return [sys.executable, str(HERE / "measure.py"), kind, "--device", device, *more]


def _pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]


class Index:
    """Results of each part: index.json, and index.md for readers.

    Args:
        folder: that everything goes to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "index.json"
        text = self._path.read_text("utf-8") if self._path.exists() else "{}"
        self.entries: dict[str, dict[str, Any]] = json.loads(text)

    def status(self, part: Part) -> str:
        """Return ``done``, ``failed``, ``cut`` or, if it was never begun, nothing."""
        return str(self.entries.get(part.name, {}).get("status", ""))

    def note(self, part: Part, status: str, seconds: float) -> None:
        """Record the result of a part."""
        before = self.entries.get(part.name, {})
        self.entries[part.name] = {
            "what": part.what,
            "status": status,
            "minutes": round(before.get("minutes", 0.0) + seconds / 60, 2),
            "tries": before.get("tries", 0) + 1,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "log": f"{part.name}.log",
            "command": list(part.command),
        }
        _replace(self._path, json.dumps(self.entries, indent=1) + "\n")
        _replace(self.folder / "index.md", self._table())

    def _table(self) -> str:
        lines = ["| part | what | status | minutes | tries |", "| --- | --- | --- | ---: | ---: |"]
        for name, entry in self.entries.items():
            cells = (entry[key] for key in ("what", "status", "minutes", "tries"))
            lines.append(f"| [{name}]({entry['log']}) | {' | '.join(map(str, cells))} |")
        return "\n".join(lines) + "\n"


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


def work(parts: Sequence[Part], index: Index, limit: float, total: float) -> int:
    """Do the parts that are not done; return 0, or 1 if one failed.

    Args:
        parts: in their order.
        index: results so far.
        limit: seconds that a part takes at most.
        total: seconds that all take at most.
    """
    deadline = time.monotonic() + total
    for part in parts:
        while index.status(part) not in ("done", "failed"):
            left = min(limit, deadline - time.monotonic())
            if left <= GRACE or (index.folder / STOP).exists():
                return _failed(parts, index)
            status, seconds = attempt(part, index.folder, left)
            index.note(part, status, seconds)
            _tell(f"{part.name}: {status} after {seconds:.0f} s")
            if not part.resumes:
                break
    return _failed(parts, index)


def attempt(part: Part, folder: Path, limit: float) -> tuple[str, float]:
    """Run a part; return ``done``, ``failed`` or ``cut``, and the seconds that it took."""
    _tell(f"{part.name}: {part.what}")
    places = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
    start = time.monotonic()
    with (folder / f"{part.name}.log").open("ab") as log:
        process = subprocess.Popen(
            part.command,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, **places, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        try:
            code = process.wait(max(limit - GRACE, 0.0))
        except subprocess.TimeoutExpired:
            _end(process)
            return "cut", time.monotonic() - start
        except BaseException:
            _end(process)
            raise
    return ("done" if code == 0 else "failed"), time.monotonic() - start


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate a part and its child processes."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failed(parts: Sequence[Part], index: Index) -> int:
    failed = [part.name for part in parts if index.status(part) == "failed"]
    if failed:
        _tell(f"failed: {', '.join(failed)}; see their logs in {index.folder}")
    return 1 if failed else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:i or, to rehearse, cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "gpu-results", help="the folder")
    parser.add_argument("--part-minutes", type=float, default=9.0, help="of a part at most")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of all at most")
    parser.add_argument("--only", default="", help="parts whose names begin like one of these")
    parser.add_argument("--again", action="store_true", help="failed parts, too")
    parser.add_argument("--short", action="store_true", help="as little of each as possible")
    parser.add_argument("--list", action="store_true", help="name the parts, and do none")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the parts; return the exit code."""
    options = parse(arguments)
    out = options.out.resolve()
    parts = parts_of(options.device, out, short=options.short)
    if options.only:
        beginnings = tuple(options.only.split(","))
        parts = [part for part in parts if part.name.startswith(beginnings)]
        if not parts:
            _tell(f"--only {options.only}: no part's name begins like that; --list names them")
            return 2
    if options.list:
        print("\n".join(f"{part.name}: {part.what}" for part in parts))
        return 0
    if problem := _no_device(options.device):
        _tell(problem)
        return 2
    index = Index(out)
    if options.again:
        for part in parts:
            if index.status(part) == "failed":
                index.entries[part.name]["status"] = "cut"
    try:
        return work(parts, index, 60 * options.part_minutes, 60 * options.minutes)
    except KeyboardInterrupt:
        _tell("interrupted; the same command goes on")
        return 130


def _no_device(device: str) -> str:
    """Return what is wrong with the device; empty if it is available."""
    import torch

    if device == "cpu" or torch.cuda.is_available():
        return ""
    return f"--device {device}: torch {torch.__version__} finds no CUDA device here"


if __name__ == "__main__":
    sys.exit(main())
