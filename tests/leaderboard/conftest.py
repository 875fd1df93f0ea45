"""Records, and a plugin host that could have made them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
import yaml
from built_records import (
    BY_HAND,
    LARGE,
    PROTOCOL,
    SPLITS,
    FirstSymbol,
    MakeRecord,
    Noise,
    build_record,
    timed,
    with_sums,
    write_all,
)
from formalbench import builtin
from formalbench.contracts.config import Config, option
from formalbench.contracts.network import Traits
from formalbench.contracts.record import Record
from formalbench.contracts.specs import (
    ModelSpec,
    ProtocolSpec,
    SuiteSpec,
    TaskSpec,
)
from formalbench.host import LocalPlugin, Plugin, PluginHost
from formalbench.store import Store
from formalbench_leaderboard import plugin as leaderboard_plugin
from formalbench_leaderboard.publishing.publish import publish
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses
from formalbench_leaderboard.renderers.render import render
from formalbench_papers import plugin as papers_plugin
from torch import nn
from typer.testing import CliRunner, Result


@pytest.fixture
def make_record() -> MakeRecord:
    return build_record


@pytest.fixture
def make_text() -> MakeRecord:
    """Make records of a task for language models, with a perplexity at each length."""

    def make(model: str, perplexity: Sequence[float], task: str = "words", **keys: Any) -> Record:
        right, kept = [75] * len(perplexity), {"fingerprint": "0" * 64, **keys}
        record = build_record(model, f"{task}:classify", accuracy=right, **kept)
        totals = [100.0 * one for one in perplexity]
        return with_sums(record, perplexity=(totals, [100] * len(totals)))

    return make


@pytest.fixture
def make_runs() -> Callable[..., list[Record]]:
    """Make all runs of a model on a task that the protocol asks for, or more seeds."""

    def make(model: str = "regulargpt", seeds: int = 3, **keys: Any) -> list[Record]:
        rates = (0.001, 0.0003)
        return [build_record(model, rate=r, seed=s, **keys) for r in rates for s in range(seeds)]

    return make


class Chunks(Config):
    """The options of every model."""

    chunk: int = option(2, "positions", minimum=2)


class ByHand(nn.Module):
    """A network of a paper."""

    traits = Traits(constants={"c": 1.0}, depth=2, width=9)

    def __init__(self, task, config=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(BY_HAND))

    def forward(self, batch):
        """Say the first symbol."""
        return nn.functional.one_hot(batch.symbols[:, 0], 2).to(torch.get_default_dtype())


class Large(nn.Module):
    """A network whose weights are not kept, so that no record needs any."""

    def __init__(self, task, config=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(LARGE))


def build_host(folder: Path) -> PluginHost:
    """Make a host as if one distribution had announced four tasks and six models."""
    host = PluginHost()
    plugin = Plugin("formalbench", "formalbench", "0.1.0")
    for kind in ("objectives", "optimisers", "schedules", "samplers"):
        for spec in getattr(builtin, f"formalbench_{kind}")():
            host.registries[kind].add(spec, plugin)
    for spec in papers_plugin.formalbench_tables():
        host.tables.add(spec, plugin)
    for name in ("parity", "first", "tomita-3", "even-pairs"):
        noise = Noise if name == "parity" else None
        spec = TaskSpec(name, 1, name, FirstSymbol, splits=SPLITS, config=noise)
        host.tasks.add(spec, plugin)
    for name in ("regulargpt", "rnn", "lstm", "transformer", "newcomer"):
        host.models.add(ModelSpec(name, 1, name, Large, config=Chunks), plugin)
    host.models.add(ModelSpec("by-hand", 1, "exact", ByHand, kind="exact"), plugin)
    host.suites.add(SuiteSpec("default", 1, "three", ("parity", "first", "tomita-3")), plugin)
    host.suites.add(SuiteSpec("core", 1, "three", ("parity", "first", "tomita-3")), plugin)
    file = folder / "quick.yaml"
    file.write_text(yaml.safe_dump(PROTOCOL))
    host.protocols.add(ProtocolSpec("quick", "quick", file), plugin)
    return host


@pytest.fixture
def protocol() -> dict[str, Any]:
    return PROTOCOL


@pytest.fixture
def host(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> PluginHost:
    # Its plugins are objects of this process.
    monkeypatch.setattr(PluginProcesses, "foreign", lambda *arguments: frozenset())
    return build_host(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module")
def installed() -> PluginHost:
    """A host with everything that is installed."""
    return PluginHost.load()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a clone with nothing published, and work in a folder of it."""
    root = tmp_path / "clone"
    (root / "leaderboard" / "results").mkdir(parents=True)
    (root / "docs").mkdir()
    monkeypatch.chdir(root / "docs")
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "own"))
    return root


@pytest.fixture
def invoke(host: PluginHost) -> Callable[..., Result]:
    """Run ``formalbench leaderboard …`` or another command of the wing in this process."""
    app = typer.Typer(rich_markup_mode=None)
    leaderboard_plugin.formalbench_commands(app)

    @app.command()
    def other() -> None:
        """Make the application one of several commands."""

    def run(*arguments: object, command: str = "leaderboard") -> Result:
        return CliRunner().invoke(app, [command, *map(str, arguments)], obj=host)

    return run


@pytest.fixture
def add_local_model(host: PluginHost) -> Callable[[str, str], None]:
    """Let the host know a model of a local plugin."""

    def add(name: str, sha256: str) -> None:
        path = Path(f"/somewhere/{name}.py")
        plugin = Plugin(path.name, str(path), "", local=LocalPlugin(path, sha256))
        host.models.add(ModelSpec(name, 1, name, Large), plugin)

    return add


@pytest.fixture
def clone(repository: Path, many_records: list[Record], host: PluginHost) -> Path:
    """Make a clone with published records, and all that is rendered from them."""
    mine = Store(repository.parent / "mine")
    write_all(mine, (timed(one, 5.0 + len(one.model.name)) for one in many_records))
    publish(mine.path, repository, host)
    render(repository, host)
    return repository


@pytest.fixture
def many_records() -> list[Record]:
    """Three models on three tasks, three seeds, two rates; one of them lacks a task."""
    records = []
    for model, level in (("regulargpt", 0.99), ("rnn", 0.9), ("transformer", 0.6)):
        for task in ("parity", "first", "tomita-3"):
            if (model, task) == ("transformer", "first"):
                continue
            for rate, loss in ((0.001, 0.0), (0.0003, 0.1)):
                for seed in range(3):
                    records.append(
                        build_record(
                            model,
                            f"{task}:classify",
                            accuracy=level - loss - seed / 100,
                            validation=level - loss,
                            rate=rate,
                            seed=seed,
                        )
                    )
    return records
