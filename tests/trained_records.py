"""Runs trained here in a second or two, for tests of what weights say of records."""

from collections.abc import Iterable
from pathlib import Path

from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store

TINY = """
name: tiny
version: 1
seeds: 2
learning_rates: [0.01]
steps: 60
batch: 16
evaluate_every: 20
shared_lengths: true  # so that the seeds of a model are a cohort
splits: {train: [1, 8], test: [9, 24]}
curriculum: {kind: staged}
decay: {steps: 20}
validation: {every: 20, lengths: 4, strings: 32}
test: {lengths: 4, strings: 128}
"""

VerifiedStrings = tuple[str, str, str, tuple[str, ...], int]
"""A protocol, a model, a task, settings, and how many jobs: one, and the seeds are a cohort."""


def write_protocols(folder: Path, **protocols: str) -> list[Path]:
    """Write protocols into files, and return these: they are plugins."""
    for name, text in protocols.items():
        (folder / f"{name}.yaml").write_text(text)
    return sorted(folder.iterdir())


def train(host: PluginHost, folder: Path, runs: Iterable[VerifiedStrings]) -> None:
    """Train every seed of each, into a folder of results."""
    for protocol, model, task, settings, jobs in runs:
        request = RunRequest(
            (model,), (task,), protocol=protocol, settings=parse_settings(settings)
        )
        execute(host, make_plan(host, request), Store(folder), RunOptions(jobs=jobs))
