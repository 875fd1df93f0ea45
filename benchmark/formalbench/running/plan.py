"""Runs, and the plan of a request: names are resolved, finished runs left out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError, each
from formalbench.contracts.hooks import RunInfo
from formalbench.contracts.specs import display, show_value
from formalbench.host.loader import PROJECT
from formalbench.host.options import (
    Settings,
    changes_of,
    check_set_once,
    check_settings,
    chosen_options,
    instance_options,
    make_config,
    option_facts,
    parse_instance,
    sweep,
)
from formalbench.host.plugin import SESSION, YAML_SUFFIXES

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, Record, TaskUsed
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.registry import Entry
    from formalbench.store import RunFacts


def model_used(host: PluginHost, name: str, settings: Settings) -> ModelUsed:
    """Return a model as a record names it, with the options set.

    Args:
        host: the plugins.
        name: of the model, with options as in ``mine[width=32]``; these win over `settings`.
        settings: what was set; keys it does not have are for others.

    Raises:
        RequestError: for an unknown name, or options that cannot be.
    """
    from formalbench.contracts.record import ModelUsed

    bare, own = parse_instance(name)
    entry, _ = host.models.get(bare)
    return ModelUsed(
        name=bare,
        version=entry.spec.version,
        kind=entry.spec.kind,
        options=_options("model", bare, entry.spec, own, settings),
        source=entry.plugin.source,
    )


def task_used(host: PluginHost, name: str, settings: Settings) -> TaskUsed:
    """Return a task as a record names it, in the full form of its name; see `model_used`."""
    from formalbench.contracts.record import TaskUsed

    bare, own = parse_instance(name)
    entry, _, _ = host.task_entry(bare)
    return TaskUsed(
        name=full_name(host, bare),
        version=entry.spec.version,
        options=_options("task", bare, entry.spec, own, settings),
        source=entry.plugin.source,
    )


def _options(
    scope: str, name: str, spec: ModelSpec | TaskSpec, own: Mapping[str, str], settings: Settings
) -> dict[str, Value]:
    table = option_facts(spec)
    others = tuple(setting for setting in settings if setting.key not in own)
    options = {
        **chosen_options(scope, name, others, table),
        **instance_options(name, own, table),
    }
    make_config(spec, options, name)  # what one option cannot say is refused here
    return options


def full_name(host: PluginHost, task: str) -> str:
    """Return a task's name with its objective: ``parity:classify`` for ``parity``."""
    bare = parse_instance(task)[0]
    return f"{bare.partition(':')[0]}:{host.task_entry(bare)[1]}"


def extra_metrics(host: PluginHost, objective: str) -> dict[str, int]:
    """Return the versions of the metrics measured beside an objective's own, by name."""
    specs = [entry.spec for entry in host.metrics.all()]
    return {spec.name: spec.version for spec in specs if objective in spec.objectives}


def code_of(host: PluginHost, objective: str, protocol: Protocol) -> dict[str, str]:
    """Return where code came from that is not formalbench's own, beside a model's and a task's."""
    entries: dict[str, Entry[Any]] = {
        "objective": host.objectives.get(objective)[0],
        "optimiser": host.optimisers.get(protocol.optimiser.name)[0],
        "schedule": host.schedules.get(protocol.schedule.name)[0],
        "sampler": host.samplers.get(protocol.curriculum.kind)[0],
    }
    for name in protocol.penalties or ():
        entries[f"penalty {name}"] = host.penalties.get(name)[0]
    for entry in host.metrics.all():
        if objective in entry.spec.objectives:
            entries[f"metric {entry.spec.name}"] = entry
    told = {}
    for role, entry in entries.items():
        origin, version = entry.plugin.source, entry.spec.version
        if origin.distribution != PROJECT or origin.sha256 or version != 1:
            text = origin.sha256 or origin.distribution
            told[role] = text if version == 1 else f"{text} version {version}"
    return told


def local_plugins(host: PluginHost, model: str, task: str, protocol: Protocol) -> tuple[str, ...]:
    """Return the file names of the local plugins that a run needs, and of those that read them."""
    objective = full_name(host, task).partition(":")[2]
    probes = protocol.watch.probes if protocol.watch else ()
    plugins = [
        host.models.get(parse_instance(model)[0])[0].plugin,
        host.task_entry(parse_instance(task)[0])[0].plugin,
        *(host.protocols.get(name)[0].plugin for name in host.protocol_chain(protocol.name)),
        host.objectives.get(objective)[0].plugin,
        host.optimisers.get(protocol.optimiser.name)[0].plugin,
        host.schedules.get(protocol.schedule.name)[0].plugin,
        host.samplers.get(protocol.curriculum.kind)[0].plugin,
        *(host.penalties.get(name)[0].plugin for name in protocol.penalties or ()),
        *(e.plugin for e in host.metrics.all() if objective in e.spec.objectives),
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
