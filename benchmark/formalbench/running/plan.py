"""Runs, and the plan of a request: resolve its names and options into runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
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
    """Return a model as records name it, with its options."""
    from formalbench.contracts.record import ModelUsed

    return ModelUsed(
        name=model.name,
        version=model.spec.version,
        kind=model.spec.kind,
        options=model.options,
        source=model.plugin.source,
    )


def task_used(task: Selection[TaskSpec]) -> TaskUsed:
    """Return a task as records name it: the full form of its name, with its options."""
    from formalbench.contracts.record import TaskUsed

    return TaskUsed(
        name=task.full_name,
        version=task.spec.version,
        options=task.options,
        source=task.plugin.source,
    )


def extra_metrics(host: PluginHost, objective: str) -> dict[str, int]:
    """Return the versions of the metrics measured in addition to an objective's own, by name."""
    specs = [entry.spec for entry in host.metrics.all()]
    return {spec.name: spec.version for spec in specs if objective in spec.objectives}


def _parts(host: PluginHost, objective: str, protocol: Protocol) -> dict[str, Entry[Any]]:
    """Return the registry entries that a run uses besides its model and its task, by role."""
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


def code_of(host: PluginHost, task: Selection[TaskSpec], protocol: Protocol) -> dict[str, str]:
    """Return the sources of a run's plugin code, without those of its model and task.

    They include the plugin that reads the task's file, if another plugin does.
    """
    sources = {}
    reader = task.plugin.reader
    if reader and (reader.source.distribution != PROJECT or reader.source.sha256):
        sources["reader"] = reader.source.sha256 or reader.source.distribution
    for role, entry in _parts(host, task.objective, protocol).items():
        origin, version = entry.plugin.source, entry.spec.version
        if origin.distribution != PROJECT or origin.sha256 or version != 1:
            text = origin.sha256 or origin.distribution
            sources[role] = text if version == 1 else f"{text} version {version}"
    return sources


def local_plugins(
    host: PluginHost,
    model: Selection[ModelSpec],
    task: Selection[TaskSpec],
    protocol: Protocol,
) -> tuple[str, ...]:
    """Return the file names of the local plugins of a run, and of plugins that read them."""
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
"""The number of seeds (0, 1, …) or a list of seeds; None for the protocol's number."""


def parse_seeds(text: str) -> int | tuple[int, ...]:
    """Parse ``5`` (a number of seeds) or ``3,7,11`` (a list of seeds; ``7,`` is a list of one)."""
    try:
        if "," not in text:
            return int(text)
        return tuple(int(part) for part in text.removesuffix(",").split(","))
    except ValueError:
        raise RequestError(
            f"--seeds {text}: must be a number of seeds (5) or a list of seeds (3,7,11)"
        ) from None


def check_seeds(seeds: Seeds) -> int | tuple[int, ...] | None:
    """Return seeds as Python integers, which may be NumPy's; refuse invalid ones."""
    if seeds is None:
        return None
    given: Any = seeds  # callers in Python can pass anything
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    items = tuple(given) if is_list else (given,)
    if not all(isinstance(seed, Integral) and not isinstance(seed, bool) for seed in items):
        raise RequestError(
            f"seeds={seeds!r:.80}: must be a number of seeds (5) or a list of seeds ([3, 7, 11])"
        )
    values = tuple(int(seed) for seed in items)
    if not is_list:
        if not 1 <= values[0] <= MAX_SEEDS:
            raise RequestError(f"--seeds {seeds}: must be at least 1 and at most {MAX_SEEDS}")
        return values[0]
    text = ",".join(map(str, values))[:80]
    if not values or len(values) > MAX_SEEDS:
        raise RequestError(f"--seeds {text}: name at least 1 and at most {MAX_SEEDS}")
    if not all(0 <= seed <= MAX_SEED for seed in values):
        raise RequestError(f"--seeds {text}: a seed is at least 0 and at most {MAX_SEED}")
    return values


DEFAULT_SUITE = "default"


DEFAULT_PROTOCOL = "quick"


ENDED = ("finished", "diverged", "timeout")
"""Final statuses of a training; after any other status it can be resumed."""


RunKey = tuple[str, str]
"""Identifies a run and its record among all runs under protocols of one title."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The request of a ``formalbench run``; empty means the default.

    Attributes:
        models: model names, with options as in ``mine[width=32]``, or ``all`` (every learned
            model).
        tasks: task names, with options in brackets, or ``all``.
        suite: a suite's name, if no tasks are named.
        protocol: a protocol's name.
        seeds: the number of seeds or a list of seeds; None for the protocol's number.
        settings: the values of ``--set``; a list of values is a sweep.
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
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:i``.
        jobs: number of parallel units; None for one per CPU core, or one per GPU.
        executor: the name of a registered executor; empty for processes on this machine or, if
            units run one at a time, this process.
        fail_fast: whether to stop at the first run that does not finish.
        quiet: whether to keep standard output free for the caller.
        config: options of the executor that differ from their defaults.
        devices: the devices that `device` stands for here: ``cpu``, or one or more ``cuda:i``.
    """

    device: str = "auto"
    jobs: int | None = None
    threads: int = 1
    executor: str = ""
    fail_fast: bool = False
    quiet: bool = False
    trackers: tuple[str, ...] = ()
    config: Mapping[str, Value] = field(default_factory=dict)
    devices: tuple[str, ...] = ("cpu",)


@dataclass(frozen=True)
class Run:
    """One combination of model, its config, task, protocol, learning rate and seed.

    Attributes:
        model, task: as records name them, including their source.
        learning_rate: None for an exact model.
        extra_metrics: versions of the metrics measured in addition to the objective's own.
        code: sources of plugin code, without those of the model and the task.
        plugins: file names of the local plugins it needs; not part of its identity.
        by_itself: whether the request lists its seed explicitly, instead of a number of seeds;
            not part of its identity.
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
        """The hash of everything that determines its weights."""
        from formalbench.contracts.identity import train_id

        identity = (self.model, self.task, self.protocol, self.learning_rate, self.seed)
        return train_id(*identity, self.code)

    @cached_property
    def test_id(self) -> str:
        """The hash of `train_id` and of everything else that determines its test results."""
        from formalbench.contracts.identity import test_id

        return test_id(self.train_id, self.protocol, self.code)

    @cached_property
    def foreign_code(self) -> tuple[str, ...]:
        """The distributions and local files, except formalbench, whose code it runs."""
        sources = {self.model.source.distribution, self.task.source.distribution}
        parts = {source.partition(" version ")[0] for source in self.code.values()}
        names = sources | parts | {*self.plugins}
        # Classes defined in this session run in this process.
        names = {name for name in names - {PROJECT} if not name.startswith(SESSION.name)}
        code = (name for name in names if not name.endswith((*YAML_SUFFIXES, ".att")))
        return tuple(sorted(code))

    @property
    def info(self) -> RunInfo:
        """The run as observers receive it."""
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
        """The command that repeats the run (with all its rates, and the seeds before its own)."""
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
    """Return the key of a run or record; two protocols may share a `test_id`."""
    return run.test_id, run.protocol.title


def does_for(record: Record, run: Run) -> bool:
    """Return whether a record with a run's key makes the run unnecessary because it was tested.

    A record of another protocol version does not, nor does one without curves if the protocol
    records them.
    """
    return record.test is not None and ends(record, run)


def ends(record: Record, run: Run) -> bool:
    """Return whether a record with a run's key is final: it finished or failed to learn.

    A run that failed for another reason (a lost worker, no memory) may succeed the next time.
    """
    own, theirs = run.protocol, record.protocol
    return (
        record.status in ENDED
        and own.version == theirs.version
        and own.watch in (None, theirs.watch)
    )


@dataclass(frozen=True)
class RunPlan:
    """The runs of a request, model by model and task by task."""

    runs: tuple[Run, ...]


def make_plan(host: PluginHost, request: RunRequest) -> RunPlan:
    """Turn a request into runs.

    Raises:
        RequestError: for an unregistered name, or a setting that nothing in the request has.
    """
    seeds = check_seeds(request.seeds)
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
        codes = [code_of(host, task, protocol) for task in set_tasks]
        for requested, model in zip(models, set_models, strict=True):
            for task, code in zip(set_tasks, codes, strict=True):
                if requested in request.models:
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
                    code=code,
                    plugins=local_plugins(host, model, task, protocol),
                )
                runs += _by_rate_and_seed(run, seeds)
    distinct: dict[RunKey, Run] = {}
    for run in runs:
        distinct.setdefault(key_of(run), run)
    return RunPlan(tuple(distinct.values()))


def run_for(host: PluginHost, record: Record, protocol: Protocol, model: ModelUsed) -> Run:
    """Return the run that repeats a record with the plugins installed here."""
    task = host.select_task(record.task.name, options=record.task.options)
    check_offered(model.name, host.select_model(model.name).spec, task.objective)
    code = code_of(host, task, protocol)
    recorded = record.code or {}
    return Run(
        model=model,
        task=task_used(task),
        protocol=protocol,
        learning_rate=record.learning_rate,
        seed=record.seed,
        code={role: one for role, one in code.items() if role in recorded or role[:7] != "metric "},
    )


def _by_rate_and_seed(run: Run, seeds: Seeds) -> list[Run]:
    """Return one run per learning rate and seed."""
    if run.model.kind == "exact":  # not trained, so seeds and rates change nothing
        return [run]
    by_itself = not (seeds is None or isinstance(seeds, int))
    if seeds is None or isinstance(seeds, int):
        seeds = range(seeds or run.protocol.seeds)
    return [
        replace(run, learning_rate=rate, seed=seed, by_itself=by_itself)
        for rate in run.protocol.learning_rates
        for seed in dict.fromkeys(seeds)
    ]


def _models(host: PluginHost, requested: Sequence[str]) -> dict[str, Selection[ModelSpec]]:
    """Return the models of a request, by the names in the request."""
    if not requested:
        raise RequestError("name a model: --model regulargpt (`formalbench list models`)")
    specs = [entry.spec for entry in host.models.all()]
    learned = [
        spec.name
        for spec in specs
        if spec.kind == "learned" and "{" not in spec.name and not spec.by_name
    ]
    names = [one for name in requested for one in (learned if name == "all" else [name])]
    names = list(dict.fromkeys(names))
    return dict(zip(names, each(host.select_model, names), strict=True))


def _tasks(host: PluginHost, request: RunRequest) -> dict[str, Selection[TaskSpec]]:
    """Return the distinct tasks of a request, by the names in the request."""
    if request.tasks and request.suite:
        raise RequestError("--task and --suite exclude each other")
    names = request.tasks or host.suite(request.suite or DEFAULT_SUITE).tasks
    tasks: dict[str, tuple[str, Selection[TaskSpec]]] = {}
    for name, task in zip(names, each(host.select_task, names), strict=True):
        tasks.setdefault(task.title, (name, task))
    return dict(tasks.values())
