"""Thousands of published records: how long `formalbench leaderboard check` takes on them.

They are the repository's own with more seeds and other numbers, so that every rule holds for each.
"""

from __future__ import annotations

import json
import random
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import markdown, show, tell

RECORDS = 10_000
REPEATS = 3
ROOT = Path(__file__).parents[1]


def measure() -> str:
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name)
        size, groups = make(clone)
        tell(f"{RECORDS:,} records made")
        runs = [_once(clone) for _ in range(REPEATS)]
    best = min(runs, key=lambda run: run[0])
    rows = [
        ("CPU time of the process", show(best[0])),
        ("wall time", show(min(run[1] for run in runs))),
        ("most memory", f"{best[2] / 2**20:.0f} MiB"),
    ]
    inputs = (
        f"{RECORDS:,} records of 16 cells under `quick`, {size / 1e6:.0f} MB: {groups} times a "
        f"model on a task; the best of {REPEATS} processes, imports included, one core."
    )
    return f"{markdown(('`formalbench leaderboard check`', ''), rows)}\n{inputs}"


def _once(clone: Path) -> tuple[float, float, int]:
    """Check a clone; returns CPU seconds, wall seconds, and the most memory in bytes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-m", "formalbench", "leaderboard", "check"]
    one_core = ["taskset", "--cpu-list", "0"]
    subprocess.run([*one_core, *words], cwd=clone, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, after.ru_maxrss * 1024


def make(clone: Path) -> tuple[int, int]:
    """Write the records into a clone; returns their size in bytes, and of how many groups."""
    from formalbench.contracts.verification import parse_any
    from formalbench.host import PluginHost
    from formalbench.store import PUBLISHED_RESULTS, Store
    from formalbench_leaderboard.publishing.places import published_path

    draw, host, size = random.Random(0), PluginHost.load(), 0
    held = Store(ROOT / PUBLISHED_RESULTS / "default").files().values()
    quick = [record for record in held if record.protocol.name == "quick"]
    groups = [record for record in quick if record.seed == 0 and record.test is not None]
    for number in range(RECORDS):
        seed, group = divmod(number, len(groups))
        record = parse_any(json.dumps(_data(draw, groups[group], seed)), "made up")
        record = _named(record)
        path = clone / published_path(record, host)
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_text(record.to_json())
    return size, len(groups)


def _data(draw: random.Random, record, seed: int) -> dict[str, object]:
    """Return a record of another seed, with other numbers that may all be."""
    data = json.loads(record.to_json())
    cells, chosen = data["test"]["cells"], data["selected"]
    least = draw.randint(0, cells["strings"][0])
    cells["correct"] = [draw.randint(least, strings) for strings in cells["strings"]]
    wrong = [n - right for n, right in zip(cells["strings"], cells["correct"], strict=True)]
    # A wrong answer has a probability of at most one half for the correct class: at least one bit.
    totals = [1000 * one + draw.randint(0, 10**6) for one in wrong]
    cells["metrics"]["cross-entropy"]["total"] = totals
    chosen["correct"] = draw.randint(0, chosen["strings"])
    chosen["metrics"]["cross-entropy"]["total"] = (
        chosen["strings"] - chosen["correct"] + draw.random()
    )
    return {**data, "seed": seed, "weights": f"{draw.getrandbits(256):064x}"}


def _named(record):
    """Return a record with the identities and the command that its parts give."""
    from formalbench.contracts.identity import ids_of
    from formalbench.statistics.records import words_of

    trained, tested = ids_of(record)
    update = {"train_id": trained, "test_id": tested, "command": shlex.join(words_of(record))}
    return record.model_copy(update=update)


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
