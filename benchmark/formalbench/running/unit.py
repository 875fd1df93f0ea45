"""A unit of work: a cohort of runs as plain data, for any process that can reach the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formalbench.host import LocalPlugin, PluginHost
from formalbench.running.plan import Run, key_of


@dataclass(frozen=True)
class Unit:
    """A cohort of runs as plain data: names, parameters, paths; no objects.

    Attributes:
        runs: they differ in learning rate only or, under a protocol whose seeds share lengths, in
            seed.
        store: the folder their records go to.
        plugins: the local plugins they need, with the contents these must have.
        device: ``cpu``, ``cuda:i``, or ``cuda`` for the GPU that the process was given.
        threads: CPU threads to train with. Networks this small gain little from more than
            one, lose much when cores are shared, and round differently.
        cores: how many batches to test at a time, each by one thread; it changes no result.
        progress: the file that is told how far it is; None to tell nobody.
        debug: whether the whole traceback of a run that fails goes to standard error.
    """

    runs: tuple[Run, ...]
    store: Path
    plugins: tuple[LocalPlugin, ...] = ()
    device: str = "cpu"
    threads: int = 1
    cores: int = 1
    progress: Path | None = None
    debug: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What its runs are known by in every process."""
        return tuple(map(name_of, self.runs))

    @property
    def home(self) -> object:
        """What has run in a process that may do it: no other stranger's code than its own."""
        return home_of(self.runs[0], self.plugins)


def name_of(run: Run) -> str:
    """Return what a run is known by in every process."""
    return " ".join(key_of(run))


def home_of(run: Run, plugins: Sequence[LocalPlugin]) -> object:
    """Return the code, formalbench's own aside, that a run's process has in it."""
    return run.strangers, tuple(one for one in plugins if one.is_code)


def plugins_of(host: PluginHost, run: Run) -> tuple[LocalPlugin, ...]:
    """Return the local plugins that a run needs, in the order they were loaded."""
    return tuple(one for one in host.locals() if one.named.name in run.plugins)
