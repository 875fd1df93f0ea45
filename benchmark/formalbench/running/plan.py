"""From a request to a plan: the list of runs it means."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError, each
from formalbench.contracts.hooks import RunInfo
from formalbench.contracts.specs import display, show_value
from formalbench.host.calls import PROJECT
from formalbench.host.local import YAML_SUFFIXES
from formalbench.host.options import (
    Settings,
    check_set_once,
    check_settings,
    option_facts,
    parse_instance,
)
from formalbench.host.plugins import SESSION
from formalbench.running.seeds import Seeds, check_seeds
from formalbench.running.sweep import changes_of, sweep
from formalbench.running.used import (
    code_of,
    extra_metrics,
    full_name,
    local_plugins,
    model_used,
    task_used,
)

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, Record, TaskUsed
    from formalbench.host import PluginHost
    from formalbench.store import RunFacts

DEFAULT_SUITE = "default"
DEFAULT_PROTOCOL = "quick"

ENDED = ("finished", "diverged", "timeout")
"""The statuses that a training comes to; after any other there is something to go on with."""

RunKey = tuple[str, str]
"""What a run and its record share, and no other run under a protocol of that title."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a user asks for with ``formalbench run``; empty means the default.

    Attributes:
        models: model names, with options as in ``mine[width=32]``, or ``all`` (every learned
            model).
        tasks: task names, likewise.
        suite: a suite's name, if no tasks are named.
        protocol: a protocol's name.
        seeds: how many seeds, or which; None for the protocol's number.
        settings: what was set with ``--set``; a list of values is a sweep.
    """

    models: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    suite: str = ""
    protocol: str = ""
    seeds: Seeds = None
    settings: Settings = ()


@dataclass(frozen=True)
class Run:
    """One (model, its config, task, protocol, learning rate, seed).

    Attributes:
        model, task: as a record names them, their source included.
        protocol: the protocol's contents.
        learning_rate: None for an exact model.
        seed: 0, 1, …
        extra_metrics: versions of the metrics measured beside the objective's own.
        code: where code came from that is not formalbench's own, beside the model's and task's.
        plugins: file names of the local plugins it needs; not part of its identity.
        by_itself: whether its seed was asked for by itself and not as one of the first; likewise.
    """

    model: ModelUsed
    task: TaskUsed
    protocol: Protocol
    learning_rate: float | None
    seed: int
    extra_metrics: Mapping[str, int] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    by_itself: bool = False

    @cached_property
    def train_id(self) -> str:
        """The hash of everything that decides its weights."""
        from formalbench.contracts.identity import train_id

        asked = (self.model, self.task, self.protocol, self.learning_rate, self.seed)
        return train_id(*asked, self.code)

    @cached_property
    def test_id(self) -> str:
        """The hash of that, and of everything that decides the numbers of its test."""
        from formalbench.contracts.identity import test_id

        return test_id(self.train_id, self.protocol, self.code)

    @cached_property
    def strangers(self) -> tuple[str, ...]:
        """The distributions and local files, formalbench aside, whose code it runs."""
        sources = {self.model.source.distribution, self.task.source.distribution}
        parts = {told.partition(" version ")[0] for told in self.code.values()}
        named = sources | parts | {*self.plugins}
        # A class of this session runs in its process.
        named = {name for name in named - {PROJECT} if not name.startswith(SESSION.name)}
        code = (name for name in named if not name.endswith((*YAML_SUFFIXES, ".att")))
        return tuple(sorted(code))

    @property
    def info(self) -> RunInfo:
        """The run as observers hear of it."""
        return RunInfo(
            train_id=self.train_id,
            test_id=self.test_id,
            model=display(self.model.name, self.model.options),
            task=display(self.task.name, self.task.options),
            protocol=self.protocol.title,
            learning_rate=self.learning_rate,
            seed=self.seed,
            steps=0 if self.learning_rate is None else self.protocol.steps,
        )

    @property
    def command(self) -> str:
        """The command line that repeats the run (and those of its rates, and the seeds before)."""
        words = ["formalbench", "run", "--model", self.model.name, "--task", self.task.name]
        words += ["--protocol", self.protocol.name]
        words += ["--seeds", f"{self.seed}," if self.by_itself else str(self.seed + 1)]
        for scope, options in (("model", self.model.options), ("task", self.task.options)):
            for key, value in sorted(options.items()):
                words += ["--set", f"{scope}.{key}={show_value(value)}"]
        for key, changed in sorted((self.protocol.changed or {}).items()):
            words += ["--set", f"protocol.{key}={show_value(changed)}"]
        for plugin in self.plugins:
            words += ["--plugin", plugin]
        return shlex.join(words)


def key_of(run: RunFacts) -> RunKey:
    """Return the key of a run, or of a record's: two protocols may test the same run alike."""
    return run.test_id, run.protocol.title


def does_for(record: Record, run: Run) -> bool:
    """Say whether a record of a run's key makes it unnecessary to do the run: it was tested.

    One of another version of the protocol does not, nor does one that nobody watched for a protocol
    that watches.
    """
    return record.test is not None and ends(record, run)


def ends(record: Record, run: Run) -> bool:
    """Say whether a record of a run's key is a result of the run: it finished or failed to learn.

    What failed for another reason (a lost worker, no memory) may succeed the next time.
    """
    own, theirs = run.protocol, record.protocol
    return (
        record.status in ENDED
        and own.version == theirs.version
        and own.watch in (None, theirs.watch)
    )


@dataclass(frozen=True)
class RunPlan:
    """The runs of a request, model by model and task by task.

    Attributes:
        runs: all of them, each once.
    """

    runs: tuple[Run, ...]

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """The protocols of its runs, each once."""
        found: list[Protocol] = []
        for run in self.runs:
            if run.protocol not in found:
                found.append(run.protocol)
        return tuple(found)


def make_plan(host: PluginHost, request: RunRequest) -> RunPlan:
    """Turn a request into runs.

    Args:
        host: the plugins.
        request: what is asked for.

    Raises:
        RequestError: for a name nobody registered, or a setting that fits nothing.
    """
    models, tasks, groups = check_names(host, request)
    name = request.protocol or (request.suite and host.suite(request.suite).protocol)
    name = name or DEFAULT_PROTOCOL
    runs: list[Run] = []
    for settings in groups:
        protocol = host.protocol(name, changes_of(settings))
        for model in models:
            for task in tasks:
                if _does(host, model, task, asked=model in request.models):
                    one = _one_run(host, model, task, protocol, settings)
                    runs += _by_rate_and_seed(one, request.seeds)
    once: dict[RunKey, Run] = {}
    for run in runs:
        once.setdefault(key_of(run), run)
    return RunPlan(tuple(once.values()))


def _one_run(
    host: PluginHost, model: str, task: str, protocol: Protocol, settings: Settings
) -> Run:
    objective = full_name(host, task).partition(":")[2]
    return Run(
        model=model_used(host, model, settings),
        task=task_used(host, task, settings),
        protocol=protocol,
        learning_rate=None,
        seed=0,
        extra_metrics=extra_metrics(host, objective),
        code=code_of(host, objective, protocol),
        plugins=local_plugins(host, model, task, protocol),
    )


def check_names(
    host: PluginHost, request: RunRequest
) -> tuple[list[str], list[str], list[Settings]]:
    """Check all of a request that can be checked without a device.

    Returns:
        The names of the models and of the tasks it means, with their options in brackets, and
        the settings of each group of runs.

    Raises:
        RequestError: for a name nobody registered, or a setting that fits nothing.
    """
    models = _model_names(host, request.models)
    tasks = _task_names(host, request)
    check_seeds(request.seeds)
    by_name = (
        {name: option_facts(host.models.get(parse_instance(name)[0])[0].spec) for name in models},
        {name: option_facts(host.task_entry(parse_instance(name)[0])[0].spec) for name in tasks},
    )
    tables = [*by_name[0].values()], [*by_name[1].values()]
    check_settings(request.settings, *tables)
    check_set_once(request.settings, *by_name)
    groups = sweep(request.settings, *tables, host.protocol_takes_list)
    for settings in groups:
        for model in models:
            model_used(host, model, settings)
        for task in tasks:
            task_used(host, task, settings)
        if request.protocol:
            host.protocol(request.protocol, changes_of(settings))
    return models, tasks, groups


def _by_rate_and_seed(one: Run, asked: Seeds) -> list[Run]:
    """Return a run for every learning rate and seed."""
    if one.model.kind == "exact":  # nothing to train, so nothing a seed or a rate could change
        return [one]
    by_itself = not (asked is None or isinstance(asked, int))
    if asked is None or isinstance(asked, int):
        asked = range(asked or one.protocol.seeds)
    seeds = tuple(dict.fromkeys(asked))
    return [
        replace(one, learning_rate=rate, seed=seed, by_itself=by_itself)
        for rate in one.protocol.learning_rates
        for seed in seeds
    ]


def _model_names(host: PluginHost, asked: Sequence[str]) -> list[str]:
    if not asked:
        raise RequestError("name a model: --model regulargpt (`formalbench list models`)")
    each(lambda name: host.models.get(parse_instance(name)[0]), [n for n in asked if n != "all"])
    names: list[str] = []
    for name in asked:
        if name == "all":
            specs = [entry.spec for entry in host.models.all()]
            names += [
                spec.name
                for spec in specs
                if spec.kind == "learned" and "{" not in spec.name and not spec.by_name
            ]
        else:
            names.append(name)
    return list(dict.fromkeys(names))


def _task_names(host: PluginHost, request: RunRequest) -> list[str]:
    if request.tasks and request.suite:
        raise RequestError("--task and --suite exclude each other")
    asked = request.tasks or host.suite(request.suite or DEFAULT_SUITE).tasks

    def written_out(name: str) -> str:
        bare, options = parse_instance(name)
        known: dict[str, Value] = dict(sorted(options.items()))
        return display(full_name(host, bare), known)

    names: dict[str, str] = {}
    for full, name in zip(each(written_out, asked), asked, strict=True):
        names.setdefault(full, name)  # one task, however it is written
    return list(names.values())


def _does(host: PluginHost, model: str, task: str, *, asked: bool) -> bool:
    """Say whether a model answers a task's objective; one asked for by name must."""
    name = parse_instance(model)[0]
    offered = host.models.get(name)[0].spec.objectives
    objective = full_name(host, parse_instance(task)[0]).partition(":")[2]
    does = not offered or objective in offered
    if asked and not does:
        raise RequestError(f"model {name} does not do {objective}: it does {', '.join(offered)}")
    return does
