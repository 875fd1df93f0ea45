"""The networks of a unit's runs: trained together, built by hand, or of weights that are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from formalbench.cache import cache_folder, code_digest
from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.hooks import Progress
from formalbench.running.failures import failure_of
from formalbench.running.results import RunResult
from formalbench.running.testing import task_of
from formalbench.store import Store
from formalbench.store.weights import load_network
from formalbench.training import trainer
from formalbench.training.checkpoints import Checkpointer
from formalbench.training.fit import runs_that_fit
from formalbench.training.programs import choose_program
from formalbench.training.recipe import Recipe, make_recipe
from formalbench.training.run_state import Member

if TYPE_CHECKING:
    from torch import nn

    from formalbench.contracts.task import Task
    from formalbench.host import PluginHost

ReportRun = Callable[[str, Progress], None]
"""Called with a run's `test_id` and how far it is."""


def take_kept(host: PluginHost, store: Store, result: RunResult, device: torch.device) -> bool:
    """Give a run the weights that one of equal `train_id` kept, if there are any.

    What does not fit (a table of positions for longer test strings, say) is trained anew.
    """
    run = result.run
    if run.learning_rate is None:
        return False
    for record, path in store.trained(run):
        if run.protocol.watch not in (None, record.protocol.watch):
            continue  # nobody looked while it trained
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
    results: Sequence[RunResult],
    device: torch.device,
    report: ReportRun,
    *,
    debug: bool = False,
) -> None:
    """Train runs together; if that fails, in halves, until only the guilty one fails.

    A cohort larger than was foreseen for the device's memory is thus halved until it fits.
    """
    try:
        _train_together(host, results, device, report)
        return
    except PLUGIN_FAILURES as error:
        if len(results) == 1:
            results[0].fail(failure_of(error, host, debug=debug))
            return
    # Not in the handler: as long as there is the error, so is all memory that its frames hold.
    half = len(results) // 2
    for part in (results[:half], results[half:]):
        train_runs(host, part, device, report, debug=debug)


def _train_together(
    host: PluginHost, results: Sequence[RunResult], device: torch.device, report: ReportRun
) -> None:
    first = results[0].run
    task = task_of(host, first)

    def build() -> nn.Module:
        network: nn.Module = host.network(first.model.name, task, first.model.options)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        for result in results:
            result.parameters, result.primary = parameters, task.primary.name
        return network

    if first.learning_rate is None:  # an exact model: one run, nothing to train
        results[0].network = build().to(device)
        return
    members = [
        Member(run.learning_rate, run.seed, partial(report, run.test_id))
        for run in (result.run for result in results)
        if run.learning_rate is not None
    ]
    recipe = make_recipe(host, first.protocol)
    cohort = trainer.Cohort(
        build,
        task,
        first.protocol,
        members,
        device,
        recipe,
        partial(choose_program, batch=first.protocol.batch),
    )
    size = runs_that_fit(cohort)
    code = _code_of(task, recipe, build())
    done: list[trainer.Trained] = []
    for start in range(0, len(members), size):
        part = slice(start, start + size)
        checkpointer = Checkpointer(_saved_at(results[part], device, code))
        done += trainer.train_cohort(
            replace(cohort, members=members[part], checkpointer=checkpointer)
        )
        checkpointer.forget()
    for result, trained in zip(results, done, strict=True):
        _note(result, trained)


def _note(result: RunResult, trained: trainer.Trained) -> None:
    result.trained, result.network, result.status = trained, trained.network, trained.status
    if trained.status == "diverged":
        result.message = f"{trained.message}, step {trained.steps}"
    elif trained.status == "timeout":
        limit = result.run.protocol.time_limit
        result.message = f"longer than {limit:g} s, step {trained.steps}"


def _code_of(task: Task, recipe: Recipe, network: nn.Module) -> str:
    """Return a digest of the code that decides a cohort's numbers."""
    # A backbone stands inside a readout; the library's own layers are not anybody's code here.
    parts = [one for one in network.modules() if not type(one).__module__.startswith("torch.")]
    return code_digest(
        *(task, task.source, task.objective, recipe.optimiser, recipe.schedule, *parts)
    )


def _saved_at(results: Sequence[RunResult], device: torch.device, code: str) -> Path:
    """Return where a cohort is saved: a function of all that decides its numbers and its curves."""
    watch = results[0].run.protocol.watch
    key = [
        [result.run.train_id for result in results],
        watch and watch.model_dump(mode="json"),
        str(device),
        torch.get_num_threads(),
        code,
    ]
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    return cache_folder() / "training" / f"{name[:32]}.safetensors"
