"""Runs trained here, to be audited, and forgeries planted in their records."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from built_records import renamed, with_test
from formalbench.cli.main import run_command_line
from formalbench.contracts.record import Record
from formalbench.host import PluginHost
from formalbench.store import Store
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.judge import Audit
from trained_records import TINY, train, write_protocols

WINDOW = """
name: window
version: 1
seeds: 1
learning_rates: [0.01]
steps: 40
batch: 8
evaluate_every: 20
splits: {train: [2, 20], test: [22, 40]}
curriculum: {kind: generated}
decay: {steps: 20}
validation: {every: 20, tokens: 500}
test: {tokens: 4000}
"""

RUNS = [
    ("tiny", "rnn", "parity", ("model.width=8",), 2),
    ("tiny", "gru", "parity", ("model.width=8",), 1),
    ("tiny", "exact-parity", "parity", (), 1),
    ("tiny", "transformer", "parity:tag", ("model.width=8", "model.causal=true"), 2),
    ("window", "lstm", "dyck-2-3:generate", ("model.width=8",), 1),
]


@pytest.fixture(scope="session")
def plugins(tmp_path_factory):
    return write_protocols(tmp_path_factory.mktemp("protocols"), tiny=TINY, window=WINDOW)


@pytest.fixture(scope="session")
def host(plugins):
    return PluginHost.load(plugins)


@pytest.fixture(scope="session")
def trained(host, tmp_path_factory):
    """Train each of `RUNS` once."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_CACHE", str(folder / "cache"))
        train(host, folder / "results", RUNS)
    return folder / "results"


@pytest.fixture
def results(trained, tmp_path, monkeypatch):
    """A copy of what was trained, to plant forgeries in."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "own"))
    shutil.copytree(trained, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def run(results):
    """Return the file of a run, and its record."""

    def find(model="rnn", seed=0):
        for file, record in Store(results).files().items():
            if (record.model.name, record.seed) == (model, seed):
                return file, record
        raise KeyError(model)

    return find


@pytest.fixture
def audit(host):
    def audit(file, seed=1, **keys) -> Audit:
        return Auditor(host, seed, "cpu").audit(file, **keys)

    return audit


@pytest.fixture
def command(plugins, capsys):
    """Run ``formalbench leaderboard audit …``."""
    loaded = [word for path in plugins for word in ("--plugin", str(path))]

    def call(*arguments):
        words = ["leaderboard", "audit", *map(str, arguments), *loaded]
        capsys.readouterr()
        return run_command_line(words), *capsys.readouterr()

    return call


@pytest.fixture
def forge() -> Callable[..., None]:
    """Write a forged record with correct ids."""

    def forge(
        file: Path,
        record: Record,
        *,
        correct: Sequence[int] | None = None,
        metrics: Mapping[str, Mapping[str, object]] | None = None,
        **keys: object,
    ) -> None:
        """Forge a file: what its test got right, cell by cell, sums of its metrics, other parts."""
        if record.test is not None:
            sums = dict(record.test.cells.metrics)
            for name, change in (metrics or {}).items():
                sums[name] = sums[name].model_copy(update=change)
            right = tuple(correct or record.test.cells.correct)
            record = with_test(record, correct=right, metrics=sums)
        file.write_text(renamed(record.model_copy(update=keys)).to_json())

    return forge
