"""The networks of a unit's runs: trained, built or loaded from stored weights, and tested."""

from __future__ import annotations

import ast
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from formalbench.cache import cached, code_digest
from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.hooks import Progress
from formalbench.contracts.network import traits_of
from formalbench.contracts.record import TestResult
from formalbench.evaluation.beam_search import search_of
from formalbench.evaluation.cells import check_lengths, saved_test_set
from formalbench.evaluation.evaluate import evaluate, pooled
from formalbench.host.loader import PROJECT
from formalbench.running.run_record import RunResult, cells_of, failure_of, summed
from formalbench.running.units import model_of, task_of
from formalbench.store import Store
from formalbench.store.weights import load_network
from formalbench.training import trainer
from formalbench.training.gradients import choose_program
from formalbench.training.run_state import Checkpointer, Member, saved_cohorts
from formalbench.training.trainer import ResolvedProtocol, resolve_protocol, runs_that_fit

if TYPE_CHECKING:
    from torch import nn

    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import TaskUsed
    from formalbench.contracts.task import Task
    from formalbench.evaluation.cells import TestSet
    from formalbench.evaluation.evaluate import CellScore
    from formalbench.host import PluginHost
    from formalbench.running.plan import Run


MOST_PACKAGES = 32
"""Packages whose versions a record lists."""

ReportRun = Callable[[str, Progress], None]
"""Called with a run's `test_id` and its progress."""


def take_kept(host: PluginHost, store: Store, result: RunResult, device: torch.device) -> bool:
    """Load weights that a run with the same `train_id` stored; return whether there were any.

    If they do not fit the network (such as a position table for longer strings), it is retrained.
    """
    run = result.run
    if run.learning_rate is None:
        return False
    for record, path in store.trained(run):
        if run.protocol.watch not in (None, record.protocol.watch):
            continue  # no curves were recorded while it trained
        try:
            result.network = load_network(host, record, path, run.protocol).to(device)
            result.kept = record, path.read_bytes()
        except PLUGIN_FAILURES:
            continue
        result.parameters = record.model.parameters
        return True
    return False


def train_runs(
    host: PluginHost,
    store: Store,
    results: Sequence[RunResult],
    device: torch.device,
    report: ReportRun,
) -> None:
    """Train runs together; on failure, split them in halves until only the faulty run fails.

    A cohort that exceeds the device's memory is also halved until it fits.
    """
    try:
        _train_together(host, store, results, device, report)
        return
    except PLUGIN_FAILURES as error:
        if len(results) == 1:
            results[0].fail(failure_of(error, host))
            return
    # Outside the handler: while the error exists, its frames keep their memory.
    half = len(results) // 2
    for part in (results[:half], results[half:]):
        train_runs(host, store, part, device, report)


def _train_together(
    host: PluginHost,
    store: Store,
    results: Sequence[RunResult],
    device: torch.device,
    report: ReportRun,
) -> None:
    first = results[0].run
    task = task_of(host, first)

    def build() -> nn.Module:
        network: nn.Module = host.build_network(model_of(host, first), task)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        for result in results:
            result.parameters, result.primary = parameters, task.primary.name
        return network

    if first.learning_rate is None:  # an exact model: one run, nothing to train
        network = build()
        results[0].network = network.to(device)
        _set_code(results, parts_of(task, network, None))
        return
    members = [
        Member(run.learning_rate, run.seed, partial(report, run.test_id))
        for run in (result.run for result in results)
        if run.learning_rate is not None
    ]
    resolved = resolve_protocol(host, first.protocol)
    cohort = trainer.Cohort(
        build,
        task,
        first.protocol,
        members,
        device,
        resolved,
        program=partial(choose_program, batch=first.protocol.batch),
    )
    with torch.random.fork_rng(devices=[]):
        network = trainer.build_seeded(build, members[0].seed)
    cohort.ready[members[0].seed] = network  # the first run trains it
    check_lengths(first.info.model, traits_of(network).lengths, task, first.protocol)
    key = _key(first, device, _set_code(results, parts_of(task, network, resolved)))
    by_member = {(run.run.learning_rate, run.run.seed): run for run in results}
    for saved in _parts(cohort, key):
        runs = [replace(first, learning_rate=m.learning_rate, seed=m.seed) for m in saved.members]
        checkpointer = replace(saved, records=list(map(store.path_of, runs)))
        part = replace(cohort, members=checkpointer.members, checkpointer=checkpointer)
        try:
            outcomes = trainer.train_cohort(part)
        except PLUGIN_FAILURES:
            if len(part.members) > 1:
                checkpointer.forget()  # the halves train separately, with different rounding
            raise
        for member, trained in zip(part.members, outcomes, strict=True):
            if result := by_member.get((member.learning_rate, member.seed)):
                _set_training(result, trained)
                result.saved = checkpointer


def _parts(cohort: trainer.Cohort, key: str) -> Iterator[Checkpointer]:
    """Yield the runs that train together: saved cohorts that contain some of them, then the rest.

    A saved cohort resumes as a whole, even if only some of its runs are requested: rounding makes
    the last digits of each run depend on all of them.
    """
    remaining = {(member.learning_rate, member.seed): member for member in cohort.members}
    for saved in saved_cohorts(key):
        members = [remaining.pop((m.learning_rate, m.seed), m) for m in saved.members]
        if any(member in cohort.members for member in members):
            yield replace(saved, members=members)
    rest = tuple(remaining.values())
    if rest:
        size = runs_that_fit(replace(cohort, members=rest))
        for start in range(0, len(rest), size):
            yield Checkpointer(key, rest[start : start + size])


def _set_training(result: RunResult, trained: trainer.TrainingResult) -> None:
    result.trained, result.network, result.status = trained, trained.network, trained.status
    if trained.status == "diverged":
        result.message = f"{trained.message}, step {trained.steps}"
    elif trained.status == "timeout":
        limit = result.run.protocol.time_limit
        result.message = f"longer than {limit:g} s, step {trained.steps}"


def _set_code(results: Sequence[RunResult], parts: list[object]) -> str:
    """Note the code and package versions of runs, and return the digest of the source."""
    source, packages = code_digest(*parts), packages_of(parts)
    for result in results:
        result.source, result.packages = source, packages
    return source


def _key(run: Run, device: torch.device, code: str) -> str:
    """Return everything that determines a run's results and curves except its rate and seed."""
    watch = run.protocol.watch
    return json.dumps(
        [
            replace(run, learning_rate=1.0, seed=0).train_id,
            watch and watch.model_dump(mode="json"),
            device.type if device.type == "cpu" else torch.cuda.get_device_name(device),
            torch.get_num_threads(),
            code,
        ]
    )


# The code that a run depends on.


def parts_of(task: Task, network: nn.Module, resolved: ResolvedProtocol | None) -> list[object]:
    """Return the objects whose code determines a run's results.

    `resolved` is None for a model that is not trained.
    """
    # A readout contains the backbone; layers of torch itself are not the run's code.
    parts = [one for one in network.modules() if not type(one).__module__.startswith("torch.")]
    training: list[object] = []
    if resolved:
        training = [resolved.optimiser, resolved.schedule, resolved.sampler]
        training += [one.penalty for one in resolved.penalties]
    return [task, task.source, task.objective, *training, *parts]


def packages_of(parts: list[object]) -> dict[str, str]:
    """Return the versions of the packages that plugins imported, by distribution.

    If a plugin uses a library's network unchanged, these are the imports of that library.
    Formalbench's own code is ignored.
    """
    versions: dict[str, str] = {}
    for package in sorted({type(one).__module__.partition(".")[0] for one in parts}):
        if package in _libraries():
            versions |= {dist: metadata.version(dist) for dist in _distributions()[package]}
        elif package not in _own_packages():
            versions |= _imported_by(package)
    return dict(sorted(versions.items())[:MOST_PACKAGES])


def _imported_by(package: str) -> dict[str, str]:
    """Return the versions of the packages that a package's loaded modules import."""
    names: set[str] = set()
    for key, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if key.partition(".")[0] == package and file is not None and file.endswith(".py"):
            with contextlib.suppress(OSError, SyntaxError):  # deleted or half saved
                names |= _imports(file)
    imported = (names & sys.modules.keys()) - {package, *_own_packages()}
    distributions = {dist for name in imported for dist in _distributions().get(name, ())}
    return {dist: metadata.version(dist) for dist in distributions}


@lru_cache(maxsize=1024)
def _imports(file: str) -> frozenset[str]:
    """Return the top-level names that a Python file imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return frozenset(names)


@lru_cache
def _own_packages() -> frozenset[str]:
    """Return formalbench's own packages; an editable installation lists no other files."""
    entries = metadata.distribution(PROJECT).entry_points
    return frozenset(entry.value.partition(".")[0] for entry in entries)


@lru_cache
def _libraries() -> frozenset[str]:
    """Return the installed packages that are not plugins."""
    plugins = {point.value.partition(".")[0] for point in metadata.entry_points(group=PROJECT)}
    return frozenset(_distributions()) - plugins - _own_packages()


@lru_cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def test_run(
    host: PluginHost,
    result: RunResult,
    device: torch.device,
    cores: int,
    alive: Callable[[], None],
) -> None:
    """Test the network of a run, and note the result."""
    run = result.run
    start = time.perf_counter()
    task = task_of(host, run)
    test_set = _test_set(task, run.task.source.model_dump_json(), run.protocol)
    alive()
    assert result.network is not None
    precision = run.protocol.precision
    search = search_of(run.protocol)
    scores = evaluate(
        result.network, task, test_set, device, cores, precision, alive, search, by_cell=True
    )
    result.tested = _test_result(run, task, test_set, scores, time.perf_counter() - start)
    if infinite := [score for score in scores if not score.finite]:
        result.status = "diverged"
        result.message = (
            f"a logit is not finite at {len(infinite)} of {len(scores)} test lengths, "
            f"the first is {infinite[0].last}"
        )


test_run.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for a test by its name


@lru_cache(maxsize=1)
def _test_set(task: Task, source: str, protocol: Protocol) -> TestSet:
    """Return a task's test set; the last one is cached, since the next runs usually share it."""
    return saved_test_set(task, source, protocol)


def chance_of(used: TaskUsed, task: Task, test_set: TestSet) -> tuple[float, float]:
    """Return the chance level of a test; it is cached on disk.

    Returns:
        The accuracy of the best constant answer, and of the best one that sees only the length.
    """
    from formalbench import __version__

    def compute() -> list[float]:
        chance = task.chance(test_set.lengths)
        return [chance.constant, chance.length_only]

    code = code_digest(task.source, task.objective)
    key = ["chance", __version__, used.model_dump(), code, test_set.fingerprint]
    constant, length_only = cached(key, compute)
    return constant, length_only


def _test_result(
    run: Run, task: Task, test_set: TestSet, scores: Sequence[CellScore], seconds: float
) -> TestResult:
    constant, length_only = chance_of(run.task, task, test_set)
    return TestResult(
        metric=task.primary.name,
        fingerprint=test_set.fingerprint,
        chance_constant=constant,
        chance_length=length_only,
        seconds=round(seconds, 3),
        cells=cells_of(scores, task.primary.name, partial(test_set.chances, task)),
        extra_metrics=dict(run.extra_metrics) or None,
        signatures={one.name: one.signature for one in task.metrics if one.signature} or None,
        pooled=summed(pooled(task, scores)) or None,
    )
