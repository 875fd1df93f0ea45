"""Ten thousand units over two hundred workers, five in a hundred of which are lost.

The scheduler, the executor ``slurm`` and the store are the real ones; the cluster is threads, and a
unit's work is to write a record that was made before. What is left is what a unit costs beside its
own work: CPU time of the one process that hands units over.
"""

from __future__ import annotations

import pickle
import random
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from formalbench.contracts.hooks import Resources
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.dispatch import Dispatcher, Preflight
from formalbench.running.plan import MAX_SEEDS, RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store
from formalbench_executors.slurm import SlurmConfig, SlurmExecutor
from formalbench_executors.slurm_queue import result_name

UNITS, WORKERS, LOSSES = 10_000, 200, 0.05

QUICKLY = (
    *("protocol.steps=10", "protocol.evaluate_every=10"),
    *("protocol.test.lengths=4", "protocol.test.strings=8", "protocol.validation.every=10"),
)
"""The one run that is real takes a second."""


@dataclass
class SimulatedCluster:
    """Workers that are threads; some are lost before they write their record, some after."""

    folder: Path
    store: Store
    template: object
    workers: int
    losses: float
    array: int = 1000
    written: Counter[str] = field(default_factory=Counter)
    queue: set[str] = field(default_factory=set)
    tried: int = 0

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.workers)
        self._random = random.Random(0)
        self._lock = threading.Lock()

    def submit(self, calls, minutes, name):
        self.tried += len(calls)
        jobs = [f"{self.tried}_{index}" for index in range(len(calls))]
        self.queue |= set(jobs)
        for job, (_, unit) in zip(jobs, calls, strict=True):
            self._pool.submit(self._work, job, unit, self._random.random())
        return jobs

    def find(self, name):
        return None  # nothing was submitted before

    def alive(self):
        with self._lock:
            return set(self.queue)

    def cancel(self, jobs):
        raise AssertionError("nothing was to be cancelled")

    def _work(self, job, unit, chance):
        try:
            if chance >= self.losses / 2:
                self._write(unit)
            if chance >= self.losses:
                answer = ("success", (True, [run.test_id for run in unit.runs]))
                path = self.folder / result_name(job)
                path.with_suffix(".part").write_bytes(pickle.dumps(answer))
                path.with_suffix(".part").rename(path)
        finally:
            with self._lock:
                self.queue.discard(job)

    def _write(self, unit):
        own = ("seed", "learning_rate", "train_id", "test_id")
        for run in unit.runs:
            self.store.write(self.template.model_copy(update={k: getattr(run, k) for k in own}))
            with self._lock:
                self.written[run.test_id] += 1


@dataclass(frozen=True)
class Simulated:
    """What came of a simulation."""

    records: list
    plan: object
    cluster: SimulatedCluster
    cpu: float
    wall: float


def simulate(units: int, workers: int, losses: float, place: Path) -> Simulated:
    """Execute a plan with this many units; the first run is real, and the model of the others."""
    host, store = PluginHost.load(), Store(place / "results")
    rates = max(1, units // MAX_SEEDS)
    listed = ",".join(f"{rate / 100:g}" for rate in range(1, rates + 1))
    settings = parse_settings((*QUICKLY, f"protocol.learning_rates={listed}"))
    request = RunRequest(("rnn",), ("parity",), "", "quick", units // rates, settings)
    plan = make_plan(host, request)
    first = replace(plan, runs=plan.runs[:1])
    (template,) = execute(host, first, Store(place / "first"), RunOptions(jobs=1))
    jobs = place / "jobs"
    jobs.mkdir()
    cluster = SimulatedCluster(jobs, store, template, workers, losses)
    config = SlurmConfig(poll=0.5, grace=0.0)
    options = RunOptions(jobs=workers, executor="slurm")
    cohorts = [(run,) for run in plan.runs]
    with Preflight(host, Resources()) as preflight:
        dispatcher = Dispatcher(host, store, options, cohorts, None, preflight)
        entry, _ = host.executors.get("slurm")
        executor = SlurmExecutor(cluster, jobs, config)
        dispatcher._make_executor = lambda: (executor, entry.plugin)
        cpu, wall = time.process_time(), time.monotonic()
        results = dispatcher.run()
    spent = time.process_time() - cpu, time.monotonic() - wall
    return Simulated([*results.values()], plan, cluster, *spent)


def measure() -> str:
    """Return the table."""
    from harness import markdown, show

    with tempfile.TemporaryDirectory() as place:
        done = simulate(UNITS, WORKERS, LOSSES, Path(place))
    check(done)
    failed = sum(record.status != "finished" for record in done.records)
    rows = [
        ("units", f"{len(done.plan.runs):,}"),
        ("recorded as failed, lost twice", str(failed)),
        ("submitted in all", f"{done.cluster.tried:,}"),
        ("CPU time of a unit", show(done.cpu / len(done.plan.runs))),
        ("wall time of a unit", show(done.wall / len(done.plan.runs))),
    ]
    return markdown((f"{WORKERS} workers, {LOSSES:.0%} lost", ""), rows)


def check(done: Simulated) -> None:
    """Hold every unit to be done once or recorded as failed."""
    recorded = {record.test_id: record for record in done.records}
    assert len(done.records) == len(recorded) == len(done.plan.runs)
    for run in done.plan.runs:
        finished = recorded[run.test_id].status == "finished"
        assert done.cluster.written[run.test_id] == finished, run.seed
        assert finished or recorded[run.test_id].message.endswith(", twice")
