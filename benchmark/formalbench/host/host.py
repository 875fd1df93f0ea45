"""All plugins together: names become tasks, models, objectives and protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.names import split_task
from formalbench.contracts.specs import Factory, ModelSpec, SuiteSpec, TaskSpec
from formalbench.files import read_yaml
from formalbench.host.loader import LoadedPlugins, Warn, to_stderr
from formalbench.host.options import instance_options, make_config, option_facts, parse_instance
from formalbench.host.registry import Entry

if TYPE_CHECKING:
    from torch import nn

    from formalbench.contracts.config import Value
    from formalbench.contracts.metric import Metric
    from formalbench.contracts.network import Traits
    from formalbench.contracts.objective import Objective
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.published import PublishedTable
    from formalbench.contracts.source import Source
    from formalbench.contracts.specs import TableSpec
    from formalbench.contracts.task import Task
    from formalbench.host.protocols import Registries


def read_table(spec: TableSpec) -> PublishedTable:
    """Return the table that a spec announces.

    Raises:
        RequestError: one line that names the file and what is wrong in it.
    """
    for table in read_tables(spec.path):
        if table.key == spec.name:
            return table
    raise RequestError(f"{spec.path}: has no table {spec.name}")


def read_tables(path: Path) -> tuple[PublishedTable, ...]:
    """Return the tables of a file.

    Raises:
        RequestError: one line that names the file and what is wrong in it.
    """
    from pydantic import ValidationError

    from formalbench.contracts.published import PublishedFile
    from formalbench.contracts.reading import first_problem

    try:
        return PublishedFile.model_validate(read_yaml(path)).tables
    except ValidationError as error:
        raise RequestError(f"{path}: {first_problem(error)}") from None


class PluginHost(LoadedPlugins):
    """Everything plugins announced, and the way from a name to the thing itself.

    Args:
        warn: called with one line for each broken plugin that nobody asked for.
    """

    def __init__(self, warn: Warn = to_stderr) -> None:
        super().__init__(warn)
        self._objectives: dict[str, Objective] = {}
        self._chains: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, PublishedTable] = {}

    # Tasks.

    def task_entry(self, name: str) -> tuple[Entry[TaskSpec], str, dict[str, int]]:
        """Return the spec of a task name, its objective's name, and the fields in the name.

        An objective that the spec does not name can be asked for if the source has what it needs.
        """
        plain, texts = parse_instance(name)
        language, objective = split_task(plain)
        entry, fields = self.tasks.get(language)
        if texts:  # a bad one fails here, before anything is made
            make_config(entry.spec, _written(entry, language, texts), language)
        offered = entry.spec.objectives
        if objective and objective not in offered:
            known = [entry.spec.name for entry in self.objectives.all()]
            if objective not in known:
                raise unknown(f"objective of {language}", objective, offered)
            self._check_asked(language, self._source(entry, language, fields, {}), objective)
        return entry, objective or offered[0], fields

    def task(self, name: str, options: Mapping[str, Value] | None = None) -> Task:
        """Build the `Task` that a name means.

        Args:
            name: ``language`` or ``language:objective``, options behind it in brackets.
            options: those that differ from their defaults.

        Raises:
            RequestError: for an unknown name, an option the language refuses, or an objective
                that needs what it does not have.
            BrokenPluginError: if the plugin's factory fails.
        """
        from formalbench.contracts.objective import CROSS_ENTROPY
        from formalbench.contracts.task import Task

        entry, objective_name, fields = self.task_entry(name)
        plain, texts = parse_instance(name)
        language = split_task(plain)[0]
        chosen = {**_written(entry, language, texts), **(options or {})}
        source = self._source(entry, language, fields, chosen)
        objective = self._check_asked(language, source, objective_name)
        with self.blaming(entry.plugin):
            splits = source.splits(objective_name) or entry.spec.splits
        task = Task(
            source_name=language,
            version=entry.spec.version,
            source=source,
            objective=objective,
            splits=splits,
            parameters=chosen,
            extra_metrics=self._extra_metrics(objective_name),
        )
        with self.blaming(self.objectives.get(objective_name)[0].plugin):
            measured = [metric.name for metric in task.metrics]
        if len(set(measured)) < len(measured):
            raise RequestError(f"{task.name} has two metrics of one name: {', '.join(measured)}")
        if CROSS_ENTROPY not in measured:
            raise RequestError(
                f"the objective {objective_name} must name the metric {CROSS_ENTROPY} "
                f"(formalbench.CrossEntropy), and has {', '.join(measured) or 'none'}"
            )
        return task

    def shortcut(self, name: str) -> float | None:
        """Return the accuracy, 0 to 1, of the best known rule that is not the language.

        Nothing is built or measured for it: the task's spec has it (docs/shortcuts.md).

        Args:
            name: of a task, as `task` takes it.

        Returns:
            None where it was not measured: of an objective other than `classify`, of options that
            are not the defaults, of most members of a family, of languages from files.

        Raises:
            RequestError: for an unknown name.
        """
        entry, objective, _ = self.task_entry(name)
        plain, texts = parse_instance(name)
        language = split_task(plain)[0]
        if objective != "classify" or _written(entry, language, texts):
            return None
        return entry.spec.shortcuts.get(language)

    def warn_of_overlap(self, task: Task) -> None:
        """Say so if a task is tested at lengths, or on strings, that it trains on."""
        from formalbench.contracts.source import HasParts

        told = task.source.overlap() if isinstance(task.source, HasParts) else None
        if told:
            self.warn(f"warning: {task.name}: {told}")
        if told is None and (both := task.splits.overlap):
            self.warn(f"warning: {task.name} trains and tests at lengths {both[0]} to {both[1]}")

    def _source(
        self,
        entry: Entry[TaskSpec],
        name: str,
        fields: Mapping[str, int],
        options: Mapping[str, Value],
    ) -> Source:
        from formalbench.contracts.source import Source

        config = make_config(entry.spec, options, name)
        configs = () if config is None else (config,)
        with self.blaming(entry.plugin):
            source = load(entry.spec.factory)(*configs, **fields)
            if not isinstance(source, Source):
                raise TypeError(f"the factory of {name} gave a {type(source).__name__}")
            return source

    def objective(self, name: str) -> Objective:
        """Return the objective called `name`; the same one every time.

        Raises:
            RequestError: for an unknown name.
            BrokenPluginError: if the plugin's factory fails.
        """
        from formalbench.contracts.objective import Objective

        if name not in self._objectives:
            entry, _ = self.objectives.get(name)
            with self.blaming(entry.plugin):
                objective = load(entry.spec.factory)()
                if not isinstance(objective, Objective) or objective.name != name:
                    found = getattr(objective, "name", type(objective).__name__)
                    raise TypeError(f"the factory of the objective {name} gave {found}")
            self._objectives[name] = objective
        return self._objectives[name]

    def _check_asked(self, language: str, source: Source, name: str) -> Objective:
        """Return an objective, if it can be asked of a source."""
        objective = self.objective(name)
        with self.blaming(self.objectives.get(name)[0].plugin):
            refusal = objective.refusal(source)
        if refusal is not None:
            raise RequestError(f"{language}: {refusal}")
        return objective

    def _extra_metrics(self, objective: str) -> tuple[Metric, ...]:
        from formalbench.contracts.metric import Metric

        found = []
        wanted = {e.spec.name for e in self.metrics.every() if objective in e.spec.objectives}
        for name in sorted(wanted):
            entry, _ = self.metrics.get(name)
            with self.blaming(entry.plugin):
                metric = load(entry.spec.factory)()
                if not isinstance(metric, Metric) or metric.name != name:
                    wrong = getattr(metric, "name", type(metric).__name__)
                    raise TypeError(f"the factory of the metric {name} gave {wrong}")
                found.append(metric)
        return tuple(found)

    # Networks.

    def network(self, name: str, task: Task, options: Mapping[str, Value] | None = None) -> Any:
        """Build a model's network for a `Task`; its weights come from torch's global generator.

        Args:
            name: of the model, options behind it in brackets.
            task: what it is to answer.
            options: those that differ from their defaults.

        Returns:
            A `torch.nn.Module` that answers in the objective's layout; a backbone is in a
            `formalbench.readout.Readout`.

        Raises:
            RequestError: for an unknown name, or a task or option the model refuses.
            BrokenPluginError: if the plugin's factory fails.
        """
        from formalbench.contracts.network import traits_of

        plain, texts = parse_instance(name)
        entry, fields = self.models.get(plain)
        check_offered(plain, entry.spec, task.objective.name)
        chosen = {**_written(entry, plain, texts), **(options or {})}
        config = make_config(entry.spec, chosen, plain)
        configs = () if config is None else (config,)
        with self.blaming(entry.plugin):
            network = load(entry.spec.factory)(task, *configs, **fields)
            if not callable(getattr(network, "state_dict", None)):
                raise TypeError(f"the factory of {plain} gave a {type(network).__name__}")
            traits = traits_of(network)
        _check_traits(plain, traits, task)
        return answering(network, task)

    # Everything else.

    def protocol(
        self, name: str, changes: Mapping[str, str] | None = None, version: int | None = None
    ) -> Protocol:
        """Return the `Protocol` called `name`, with what it extends and all defaults.

        Args:
            name: as in its file.
            changes: values of some keys as text, as ``{"test.strings": "64"}``.
            version: an earlier one, if its file is still registered; None for the newest.

        Raises:
            RequestError: one line that names the file and the key.
        """
        from formalbench.host.protocols import resolve

        return resolve(self._protocol_names(), name, changes, version)

    def protocol_chain(self, name: str) -> tuple[str, ...]:
        """Return a protocol's name and those of the protocols that it extends, nearest first."""
        from formalbench.host.protocols import chain

        if name not in self._chains:
            self._chains[name] = chain(self._protocol_names(), name)
        return self._chains[name]

    def protocol_takes_list(self, key: str) -> bool:
        """Say whether a protocol's key may hold several values: then a comma parts them."""
        from formalbench.host.protocols import takes_list

        return takes_list(self._protocol_names(), key)

    def _protocol_names(self) -> Registries:
        from formalbench.host.protocols import Registries

        return Registries(
            *(self.protocols, self.optimisers, self.schedules, self.samplers, self.penalties)
        )

    def table(self, name: str) -> PublishedTable:
        """Return the numbers of a paper that are announced under a name.

        Raises:
            RequestError: for an unknown name, or a file that does not hold them.
        """
        if name not in self._tables:
            self._tables[name] = read_table(self.tables.get(name)[0].spec)
        return self._tables[name]

    def published(self) -> tuple[PublishedTable, ...]:
        """Return all numbers from papers; a bad file, which nobody asked for, is one line."""
        found = []
        for entry in self.tables.all():
            try:
                found.append(self.table(entry.spec.name))
            except RequestError as error:
                self.warn(f"plugin {entry.plugin.name}: {error}")
        return tuple(found)

    def suite(self, name: str) -> SuiteSpec:
        """Return the suite called `name`."""
        return self.suites.get(name)[0].spec


def load_plugins(plugins: Sequence[Path | str]) -> PluginHost:
    """Return a host with everything that is installed, and local plugins.

    Raises:
        RequestError: if `plugins` is no list of paths of plugins.
        BrokenPluginError: if a Python plugin that was asked for is broken.
    """
    if isinstance(plugins, str | Path):
        raise RequestError(f"plugins is a list of paths: write [{str(plugins)!r}]")
    return PluginHost.load([Path(plugin) for plugin in plugins])


def check_offered(name: str, spec: ModelSpec, objective: str) -> None:
    """Refuse an objective that a model says it does not do.

    Raises:
        RequestError: naming those that it does.
    """
    if spec.objectives and objective not in spec.objectives:
        raise RequestError(
            f"model {name} does not do {objective}: it does {', '.join(spec.objectives)}"
        )


def _check_traits(name: str, traits: Traits, task: Task) -> None:
    """Refuse a network that cannot answer a task as it asks."""
    objective = task.objective
    refused = f"model {name} does not do {objective.name}: "
    if task.layout == "decoded":
        if not traits.encoder_decoder or traits.backbone:
            raise RequestError(f"{refused}its answers are said step by step, by encoder-decoders")
    elif task.layout != "last" and not objective.sees_all and not traits.causal:
        raise RequestError(f"{refused}an answer may not see what follows it (traits: causal=True)")


def answering(network: nn.Module, task: Task) -> nn.Module:
    """Return a network that answers a task: itself or, if it is a backbone, with a readout."""
    from formalbench.contracts.network import traits_of

    if not traits_of(network).backbone:
        return network
    from formalbench.readout import read_out

    return read_out(network, task)


def _written(entry: Entry[Any], name: str, texts: Mapping[str, str]) -> dict[str, Value]:
    """Return the options that stand behind a name."""
    return instance_options(name, texts, option_facts(entry.spec)) if texts else {}


def load(factory: Factory) -> Callable[..., Any]:
    """Return the callable a factory stands for, importing a lazy one."""
    if not isinstance(factory, str):
        return factory
    module, _, attribute = factory.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), attribute)
    return loaded
