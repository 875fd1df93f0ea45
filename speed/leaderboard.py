"""Thousands of records, made up: how long a page takes from their files, and how much memory.

As a program it makes the page of a folder of records and prints what that took, for `measure`.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import markdown, show, tell

RECORDS, CELLS, STRINGS, WINDOW = 10_000, 460, 512, 10
TASKS, RATES, SEEDS = 20, (1e-3, 3e-4, 1e-4), 5
REPEATS = 3


def measure() -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = make(folder)
        tell(f"{RECORDS:,} records made")
        runs = [_once(folder) for _ in range(REPEATS)]
    best = min(runs, key=lambda run: run["cpu"])
    rows = [
        ("CPU time of the process", show(best["cpu"])),
        ("of it: reading and checking", show(best["read"])),
        ("of it: ranking", show(best["rank"])),
        ("wall time", show(min(run["wall"] for run in runs))),
        ("most memory", f"{best['peak_bytes'] / 2**20:.0f} MiB"),
    ]
    inputs = (
        f"{RECORDS:,} records of {CELLS} cells, {size / 1e6:.0f} MB: {best['rows']} models on "
        f"{TASKS} tasks, {len(RATES)} rates, {SEEDS} seeds; the best of {REPEATS} processes, "
        "imports included."
    )
    return f"{markdown(('from files to a ranking', ''), rows)}\n{inputs}"


def _once(folder: Path) -> dict[str, float]:
    words = [sys.executable, __file__, str(folder)]
    start = time.perf_counter()
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return {**json.loads(done.stdout), "wall": time.perf_counter() - start}


def make(folder: Path) -> int:
    """Write the records; returns their size in bytes."""
    from formalbench.contracts.identity import ids_of
    from formalbench.contracts.verification import parse_any
    from formalbench.store import Store

    draw, store, size = random.Random(0), Store(folder), 0
    per_model = TASKS * len(RATES) * SEEDS
    for number in range(RECORDS):
        rest, seed = divmod(number % per_model, SEEDS)
        task, rate = divmod(rest, len(RATES))
        data = _data(draw, f"model-{number // per_model}", f"task-{task}:classify")
        data |= {"learning_rate": RATES[rate], "seed": seed}
        record = parse_any(json.dumps(data), "made up")
        record = record.model_copy(
            update=dict(zip(("train_id", "test_id"), ids_of(record), strict=True))
        )
        path = store.path_of(record)
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_text(record.to_json())
    return size


def _data(draw: random.Random, model: str, task: str) -> dict[str, object]:
    source = {"distribution": "made-up", "version": "1"}
    least = draw.randint(0, STRINGS)
    cells = {
        "length": list(range(41, 41 + CELLS)),
        "strings": [STRINGS] * CELLS,
        "correct": [draw.randint(least, STRINGS) for _ in range(CELLS)],
        "metrics": {
            "cross-entropy": {
                "total": [WINDOW * STRINGS * draw.randint(0, 3000) for _ in range(CELLS // WINDOW)],
                "count": [WINDOW * STRINGS] * (CELLS // WINDOW),
            }
        },
        "window": WINDOW,
    }
    return {
        "schema_version": 2,
        "train_id": "0" * 16,
        "test_id": "0" * 16,
        "status": "finished",
        "model": {"name": model, "version": 1, "parameters": 1000, "source": source},
        "task": {"name": task, "version": 1, "source": source},
        "protocol": {"name": "made-up", "version": 1, "learning_rates": RATES},
        "selected": {"step": 100, "strings": 1000, "correct": draw.randint(0, 1000)},
        "test": {
            "metric": "accuracy",
            "fingerprint": "0" * 64,
            "chance_constant": 0.5,
            "chance_length": 0.5,
            "seconds": 1.0,
            "cells": cells,
        },
        "environment": {
            "device": "cpu",
            "hardware": "a machine",
            "threads": 1,
            "peak_memory_mib": draw.randint(300, 900),
            "versions": {"python": "3.11"},
        },
        "command": f"formalbench run --model {model} --task {task}",
        "date": "2026-01-01T00:00:00Z",
    }


def main() -> None:
    """Make a page of the records of a folder, and print what that took."""
    from formalbench.statistics.build import View, build_page
    from formalbench_leaderboard.board.sources import read_all

    begin = time.process_time()
    records = read_all([Path(sys.argv[1])]).records
    read = time.process_time()
    page = build_page(records, View("made up", tuple(f"task-{task}" for task in range(TASKS))))
    end = time.process_time()
    took = {
        "cpu": end,  # since the process began: with its imports
        "read": read - begin,
        "rank": end - read,
        "rows": len(page.boards[0].rows),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(took))


if __name__ == "__main__":
    main()
