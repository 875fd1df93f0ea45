"""Runs, and the plan of a request: names are resolved, finished runs left out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError, each
from formalbench.contracts.hooks import RunInfo
from formalbench.contracts.specs import display, show_value
from formalbench.host.host import check_offered
from formalbench.host.loader import PROJECT
from formalbench.host.options import Settings, changes_of, check_settings, sweep
from formalbench.host.plugin import SESSION, YAML_SUFFIXES

if TYPE_CHECKING:
    from formalbench.contracts.config import Value
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, Record, TaskUsed
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.host import Selection
    from formalbench.host.registry import Entry
    from formalbench.store import RunFacts


def model_used(model: Selection[ModelSpec]) -> ModelUsed:
    """Return a model as a record names it, with the options set."""
    from formalbench.contracts.record import ModelUsed

    return ModelUsed(
        name=model.name,
        version=model.spec.version,
        kind=model.spec.kind,
        options=model.options,
        source=model.plugin.source,
    )


def task_used(task: Selection[TaskSpec]) -> TaskUsed:
    """Return a task as a record names it, in the full form of its name, with the options set."""
    from formalbench.contracts.record import TaskUsed

    return TaskUsed(
        name=task.full_name,
        version=task.spec.version,
        options=task.options,
        source=task.plugin.source,
    )


def extra_metrics(host: PluginHost, objective: str) -> dict[str, int]:
    """Return the versions of the metrics measured beside an objective's own, by name."""
    specs = [entry.spec for entry in host.metrics.all()]
    return {spec.name: spec.version for spec in specs if objective in spec.objectives}


def _parts(host: PluginHost, objective: str, protocol: Protocol) -> dict[str, Entry[Any]]:
    """Return what a run is made of beside its model and its task, by its role."""
    parts: dict[str, Entry[Any]] = {
        "objective": host.objectives.get(objective)[0],
        "optimiser": host.optimisers.get(protocol.optimiser.name)[0],
        "schedule": host.schedules.get(protocol.schedule.name)[0],
        "sampler": host.samplers.get(protocol.curriculum.kind)[0],
    }
    for name in protocol.penalties or ():
        parts[f"penalty {name}"] = host.penalties.get(name)[0]
    for name in extra_metrics(host, objective):
        parts[f"metric {name}"] = host.metrics.get(name)[0]
    return parts


def code_of(host: PluginHost, objective: str, protocol: Protocol) -> dict[str, str]:
    """Return where code came from that is not formalbench's own, beside a model's and a task's."""
    told = {}
    for role, entry in _parts(host, objective, protocol).items():
        origin, version = entry.plugin.source, entry.spec.version
        if origin.distribution != PROJECT or origin.sha256 or version != 1:
            text = origin.sha256 or origin.distribution
            told[role] = text if version == 1 else f"{text} version {version}"
    return told


def local_plugins(
    host: PluginHost,
    model: Selection[ModelSpec],
    task: Selection[TaskSpec],
    protocol: Protocol,
) -> tuple[str, ...]:
    """Return the file names of the local plugins that a run needs, and of those that read them."""
    probes = protocol.watch.probes if protocol.watch else ()
    plugins = [
        *(model.plugin, task.plugin),
        *(host.protocols.get(name)[0].plugin for name in host.protocol_chain(protocol.name)),
        *(entry.plugin for entry in _parts(host, task.objective, protocol).values()),
        *(host.probes.get(name)[0].plugin for name in probes),
    ]
    needed = [one for plugin in plugins for one in (plugin.reader, plugin) if one and one.local]
    return tuple(dict.fromkeys(one.local.named.name for one in needed if one.local))


MAX_SEEDS = 1000


MAX_SEED = 2**31 - 1


Seeds = int | Sequence[int] | None
"""How many (0, 1, …), or which; None for as many as the protocol says."""


def parse_seeds(text: str) -> int | tuple[int, ...]:
    """Parse ``5`` (how many) or ``3,7,11`` (which; ``7,`` is one of them).

    Raises:
        RequestError: if it is neither.
    """
    try:
        if "," not in text:
            return int(text)
        return tuple(int(part) for part in text.removesuffix(",").split(","))
    except ValueError:
        raise RequestError(
            f"--seeds {text}: must be a number of seeds (5) or a list of seeds (3,7,11)"
        ) from None


def _is_whole(seed: object) -> bool:
    return isinstance(seed, Integral) and not isinstance(seed, bool)


def check_seeds(seeds: Seeds) -> None:
    """Refuse seeds that cannot be.

    Raises:
        RequestError: one line.
    """
    if seeds is None:
        return
    given: Any = seeds  # from Python it may be anything
    listed = isinstance(given, Sequence | Set) and not isinstance(given, str)
    if not all(_is_whole(seed) for seed in (given if listed else [given])):
        told = repr(seeds)[:80]
        raise RequestError(
            f"seeds={told}: must be a number of seeds (5) or a list of seeds ([3, 7, 11])"
        )
    if isinstance(seeds, int):
        if not 1 <= seeds <= MAX_SEEDS:
            raise RequestError(f"--seeds {seeds}: must be at least 1 and at most {MAX_SEEDS}")
        return
    told = ",".join(map(str, seeds))[:80]
    if not seeds or len(seeds) > MAX_SEEDS:
        raise RequestError(f"--seeds {told}: name at least 1 and at most {MAX_SEEDS}")
    if not all(0 <= seed <= MAX_SEED for seed in seeds):
        raise RequestError(f"--seeds {told}: a seed is at least 0 and at most {MAX_SEED}")


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
        tasks: task names, with options in brackets, or ``all``.
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


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How runs are carried out.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` (every GPU there is) or ``cuda:i``.
        jobs: how many units at a time; None for one per core of the CPU, or one per GPU.
        threads: CPU threads that each trains with.
        executor: the name of a registered one; empty for processes on this machine or, if there
            is only one thing to do at a time, this process.
        fail_fast: whether to stop at the first run that does not finish.
        debug: whether the whole traceback of a run that fails goes to standard error.
        quiet: whether standard output belongs to someone else.
        trackers: the names of those that are to hear of it.
        config: options of the executor, those that differ from their defaults.
        devices: what `device` is here, ``cpu`` or ``cuda:i``, or several GPUs.
    """

    device: str = "auto"
    jobs: int | None = None
    threads: int = 1
    executor: str = ""
    fail_fast: bool = False
    debug: bool = False
    quiet: bool = False
    trackers: tuple[str, ...] = ()
    config: Mapping[str, Value] = field(default_factory=dict)
    devices: tuple[str, ...] = ("cpu",)


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
        by_itself: whether its seed was asked for by itself and not as one of the first; not
            part of its identity.
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

    Raises:
        RequestError: for a name nobody registered, or a setting that fits nothing.
    """
    check_seeds(request.seeds)
    models, tasks = _models(host, request.models), _tasks(host, request)
    tables = [one.facts for one in models.values()], [one.facts for one in tasks.values()]
    check_settings(
        request.settings,
        {name: one.facts for name, one in models.items()},
        {name: one.facts for name, one in tasks.items()},
    )
    name = request.protocol or (request.suite and host.suite(request.suite).protocol)
    name = name or DEFAULT_PROTOCOL
    runs: list[Run] = []
    for settings in sweep(request.settings, *tables, host.protocol_takes_list):
        set_models = [replace(model, settings=settings) for model in models.values()]
        set_tasks = [replace(task, settings=settings) for task in tasks.values()]
        each(lambda one: one.options, set_models)
        each(lambda one: one.options, set_tasks)
        protocol = host.protocol(name, changes_of(settings))
        code = {one.objective: code_of(host, one.objective, protocol) for one in set_tasks}
        for asked, model in zip(models, set_models, strict=True):
            for task in set_tasks:
                if asked in request.models:
                    check_offered(model.name, model.spec, task.objective)
                elif model.spec.objectives and task.objective not in model.spec.objectives:
                    continue
                run = Run(
                    model=model_used(model),
                    task=task_used(task),
                    protocol=protocol,
                    learning_rate=None,
                    seed=0,
                    extra_metrics=extra_metrics(host, task.objective),
                    code=code[task.objective],
                    plugins=local_plugins(host, model, task, protocol),
                )
                runs += _by_rate_and_seed(run, request.seeds)
    once: dict[RunKey, Run] = {}
    for run in runs:
        once.setdefault(key_of(run), run)
    return RunPlan(tuple(once.values()))


def run_for(host: PluginHost, record: Record, protocol: Protocol, model: ModelUsed) -> Run:
    """Return the run that is planned here for what a record says was run.

    Args:
        host: the plugins.
        record: of a run; names, options, learning rate and seed are taken from it, and which
            metrics of plugins were measured.
        protocol: the registered one of its name, version and changes.
        model: the one that is planned here.

    Raises:
        RequestError: for a name that nobody registered, or options that cannot be.
    """
    task = host.select_task(record.task.name, options=record.task.options)
    check_offered(model.name, host.select_model(model.name).spec, task.objective)
    code = code_of(host, task.objective, protocol)
    recorded = record.code or {}
    return Run(
        model=model,
        task=task_used(task),
        protocol=protocol,
        learning_rate=record.learning_rate,
        seed=record.seed,
        code={role: one for role, one in code.items() if role in recorded or role[:7] != "metric "},
    )


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


def _models(host: PluginHost, asked: Sequence[str]) -> dict[str, Selection[ModelSpec]]:
    """Return the models of a request, by their names as they were written."""
    if not asked:
        raise RequestError("name a model: --model regulargpt (`formalbench list models`)")
    specs = [entry.spec for entry in host.models.all()]
    every = [
        spec.name
        for spec in specs
        if spec.kind == "learned" and "{" not in spec.name and not spec.by_name
    ]
    names = [one for name in asked for one in (every if name == "all" else [name])]
    names = list(dict.fromkeys(names))
    return dict(zip(names, each(host.select_model, names), strict=True))


def _tasks(host: PluginHost, request: RunRequest) -> dict[str, Selection[TaskSpec]]:
    """Return the tasks of a request, each once, by their names as they were written."""
    if request.tasks and request.suite:
        raise RequestError("--task and --suite exclude each other")
    names = request.tasks or host.suite(request.suite or DEFAULT_SUITE).tasks
    found: dict[str, tuple[str, Selection[TaskSpec]]] = {}
    for name, task in zip(names, each(host.select_task, names), strict=True):
        found.setdefault(task.title, (name, task))
    return dict(found.values())
