"""The plugin host: resolves names to tasks, models, objectives and protocols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from formalbench.contracts.errors import RequestError, each, unknown, validate
from formalbench.contracts.specs import (
    Factory,
    ModelSpec,
    Splits,
    SuiteSpec,
    TaskSpec,
    display,
    split_task,
)
from formalbench.files import read_yaml
from formalbench.host.loader import LoadedPlugins, Warn, to_stderr
from formalbench.host.options import (
    OptionTable,
    Settings,
    changed_options,
    config_of,
    make_config,
    option_facts,
    parse_instance,
    settings_for,
)
from formalbench.host.plugin import Plugin
from formalbench.host.registry import Registry

if TYPE_CHECKING:
    from torch import nn

    from formalbench.contracts.config import Config, Value
    from formalbench.contracts.network import Traits
    from formalbench.contracts.objective import Metric, Objective
    from formalbench.contracts.paper_tables import PublishedTable
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.source import Source
    from formalbench.contracts.specs import TableSpec
    from formalbench.contracts.task import Task
    from formalbench.host.protocols import ProtocolLoader

C = TypeVar("C", bound=TaskSpec | ModelSpec)


def read_table(spec: TableSpec) -> PublishedTable:
    """Read the table that a spec announces."""
    from formalbench.contracts.paper_tables import PublishedFile

    for table in validate(PublishedFile, read_yaml(spec.path), spec.path).tables:
        if table.key == spec.name:
            return table
    raise RequestError(f"{spec.path}: has no table {spec.name}")


def load(factory: Factory) -> Callable[..., Any]:
    """Return the callable of a factory; import a lazy one."""
    if not isinstance(factory, str):
        return factory
    module, _, attribute = factory.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), attribute)
    return loaded


def call(factory: Factory, *arguments: Any, **fields: int) -> Any:
    """Call a factory, without the arguments that are None: a spec may have no config."""
    return load(factory)(*(one for one in arguments if one is not None), **fields)


@dataclass(frozen=True)
class Selection(Generic[C]):
    """A model or task selected by name.

    Attributes:
        scope: ``model`` or ``task``.
        name: without options, such as ``dyck-2-3``; for a task also without objective.
        spec: its spec. plugin: its plugin. fields: integers in the name, such as ``{"k": 2, "D":
            3}``.
        written: options in brackets, and options given by value.
        settings: options from ``--set``; those in `written` have precedence.
        objective: objective's name, for a task.
    """

    scope: str
    name: str
    spec: C
    plugin: Plugin
    fields: Mapping[str, int]
    written: Mapping[str, Any]
    settings: Settings = ()
    objective: str = ""

    @cached_property
    def facts(self) -> OptionTable:
        """The options that it supports."""
        return option_facts(self.spec)

    @cached_property
    def config(self) -> Config | None:
        """Its validated options; None if it has none."""
        config = config_of(self.spec)
        known = () if config is None else config.model_fields
        chosen = settings_for(self.scope, self.settings, known)
        return make_config(self.spec, {**chosen, **self.written}, self.name)

    @cached_property
    def options(self) -> dict[str, Value]:
        """The options that differ from the defaults."""
        return changed_options(self.spec, self.config)

    @property
    def full_name(self) -> str:
        """The name in records: ``lstm``, ``parity:classify``."""
        return f"{self.name}:{self.objective}" if self.objective else self.name

    @property
    def title(self) -> str:
        """The display name with options: ``lstm[width=32]``."""
        return display(self.full_name, self.options)

    def build(self, *arguments: Any) -> Any:
        """Call the factory."""
        return call(self.spec.factory, *arguments, self.config, **self.fields)


class PluginHost(LoadedPlugins):
    """All loaded plugins; resolves names and builds tasks and networks.

    Methods raise `RequestError` for unknown names and invalid options, and `BrokenPluginError` if
    the factory of a plugin fails.

    Args:
        warn: called with one line for each broken plugin that the user did not name.
    """

    def __init__(self, warn: Warn = to_stderr) -> None:
        super().__init__(warn)
        self._objectives: dict[str, Objective] = {}
        self._chains: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, PublishedTable] = {}

    # Names.

    def select_model(
        self, name: str, settings: Settings = (), options: Mapping[str, Any] | None = None
    ) -> Selection[ModelSpec]:
        """Look a model up.

        Args:
            name: of the model, options behind it in brackets: ``lstm[width=32]``.
            settings: settings; keys of other models are ignored.
            options: more options, by value.
        """
        bare, written = parse_instance(name)
        entry, fields = self.models.get(bare)
        written |= options or {}
        selected = Selection("model", bare, entry.spec, entry.plugin, fields, written, settings)
        return _check_options(selected)

    def select_task(
        self, name: str, settings: Settings = (), options: Mapping[str, Any] | None = None
    ) -> Selection[TaskSpec]:
        """Look a task up: ``parity``, ``parity:tag`` or ``parity:tag[p=0.3]``; see `select_model`.

        An objective that the spec does not list works if the source has the capabilities that it
        needs.
        """
        bare, written = parse_instance(name)
        language, objective = split_task(bare)
        entry, fields = self.tasks.get(language)
        written |= options or {}
        objectives = entry.spec.objectives
        selected = Selection(
            *("task", language, entry.spec, entry.plugin, fields, written, settings),
            objective=objective or objectives[0],
        )
        if selected.objective not in objectives:
            names = [entry.spec.name for entry in self.objectives.all()]
            if objective not in names:
                raise unknown(f"objective of {language}", objective, objectives)
            self._objective_for(selected, self._source(replace(selected, written={}, settings=())))
        return _check_options(selected)

    def model_title(self, name: str) -> str:
        """Return a model's title in records, without options at their defaults.

        A name that is not known here is returned unchanged.

        Example:
            >>> load_plugins(()).model_title("lstm[width=16,layers=1]")
            'lstm[width=16]'
        """
        try:
            return self.select_model(name).title
        except RequestError:
            return name

    def task_title(self, name: str) -> str:
        """Return a task's title on a board; a name that is not known here unchanged.

        Example:
            >>> load_plugins(()).task_title("parity:classify[p=0.30]")
            'parity[p=0.3]'
        """
        try:
            selected = self.select_task(name)
        except RequestError:
            return name
        return display(selected.full_name.removesuffix(":classify"), selected.options)

    # Tasks.

    def task(self, name: str, options: Mapping[str, Value] | None = None) -> Task:
        """Build a `Task` by name; see `select_task` and `build_task`."""
        return self.build_task(self.select_task(name, (), options))

    def build_task(self, selected: Selection[TaskSpec]) -> Task:
        """Build a task."""
        from formalbench.contracts.objective import CROSS_ENTROPY
        from formalbench.contracts.task import Task

        source = self._source(selected)
        objective = self._objective_for(selected, source)
        with self.blaming(selected.plugin):
            splits = source.splits(objective.name) or selected.spec.splits
            if not isinstance(splits, Splits):
                raise TypeError(f"splits of {selected.name} gave a {type(splits).__name__}")
        task = Task(
            source_name=selected.name,
            version=selected.spec.version,
            source=source,
            objective=objective,
            splits=splits,
            parameters=selected.options,
            extra_metrics=self._extra_metrics(objective.name),
        )
        with self.blaming(self.objectives.get(objective.name)[0].plugin):
            names = [metric.name for metric in task.metrics]
        if len(set(names)) < len(names):
            raise RequestError(f"{task.name} has two metrics of one name: {', '.join(names)}")
        if CROSS_ENTROPY not in names:
            raise RequestError(
                f"the objective {objective.name} must name the metric {CROSS_ENTROPY} "
                f"(formalbench.CrossEntropy), and has {', '.join(names) or 'none'}"
            )
        return task

    def shortcut(self, name: str) -> float | None:
        """Return the accuracy, 0 to 1, of the best known shortcut for a task.

        It is read from the task's spec (docs/shortcuts.md).

        Args:
            name: task name, as for `select_task`.

        Returns:
            None if it was not measured: for objectives other than `classify`, non-default
            options, most members of a family, and languages from files.
        """
        task = self.select_task(name)
        if task.objective != "classify" or task.options:
            return None
        return task.spec.shortcuts.get(task.name)

    def warn_of_overlap(self, task: Task) -> None:
        """Warn if training and test share lengths or strings."""
        from formalbench.contracts.source import HasParts

        overlap = task.source.overlap() if isinstance(task.source, HasParts) else None
        if overlap:
            self.warn(f"warning: {task.name}: {overlap}")
        if overlap is None and (both := task.splits.overlap):
            self.warn(f"warning: {task.name} trains and tests at lengths {both[0]} to {both[1]}")

    def _source(self, selected: Selection[TaskSpec]) -> Source:
        from formalbench.contracts.source import Language, Source

        with self.blaming(selected.plugin):
            source = selected.build()
            if not isinstance(source, Source):
                raise TypeError(f"the factory of {selected.name} gave a {type(source).__name__}")
            if not all(isinstance(symbol, str) for symbol in source.alphabet):
                raise TypeError(f"{selected.name}: the symbols of its alphabet must be text")
            if isinstance(source, Language):
                operator.index(source.num_classes)  # a TypeError unless it is a whole number
            return source

    def objective(self, name: str) -> Objective:
        """Return the objective called `name` (cached)."""
        from formalbench.contracts.objective import Objective

        if name not in self._objectives:
            self._objectives[name] = self._build(self.objectives, name, Objective)
        return self._objectives[name]

    def _build(self, registry: Registry[Any], name: str, kind: Any) -> Any:
        """Build an objective or a metric."""
        entry, _ = registry.get(name)
        with self.blaming(entry.plugin):
            instance = load(entry.spec.factory)()
            if not isinstance(instance, kind) or getattr(instance, "name", "") != name:
                actual = getattr(instance, "name", type(instance).__name__)
                raise TypeError(f"the factory of the {registry.kind} {name} gave {actual}")
        return instance

    def _objective_for(self, selected: Selection[TaskSpec], source: Source) -> Objective:
        """Return an objective if a source supports it."""
        objective = self.objective(selected.objective)
        with self.blaming(self.objectives.get(objective.name)[0].plugin):
            refusal = objective.refusal(source)
        if refusal is None:
            return objective
        if (offered := selected.spec.objectives) and objective.name not in offered:
            titles = " or ".join(f"{selected.name}:{name}" for name in offered)
            refused = f"{selected.name} does not support {objective.name}: use {titles}"
            raise RequestError(f"{refused} ({refusal})")
        raise RequestError(f"{selected.name}: {refusal}")

    def _extra_metrics(self, objective: str) -> tuple[Metric, ...]:
        from formalbench.contracts.objective import Metric

        names = {e.spec.name for e in self.metrics.every() if objective in e.spec.objectives}
        return tuple(self._build(self.metrics, name, Metric) for name in sorted(names))

    # Networks.

    def network(self, name: str, task: Task, options: Mapping[str, Value] | None = None) -> Any:
        """Build a model's network by name; see `build_network`."""
        return self.build_network(self.select_model(name, (), options), task)

    def build_network(self, selected: Selection[ModelSpec], task: Task) -> Any:
        """Build a model's network for a `Task`, with weights from torch's global generator.

        Returns:
            A `torch.nn.Module` with the objective's layout; a backbone is wrapped in a
            `formalbench.readout.Readout`.
        """
        from formalbench.contracts.network import traits_of

        check_offered(selected.name, selected.spec, task.objective.name)
        with self.blaming(selected.plugin):
            network = selected.build(task)
            if not callable(getattr(network, "state_dict", None)):
                raise TypeError(f"the factory of {selected.name} gave a {type(network).__name__}")
            traits = traits_of(network)
        _check_traits(selected.name, traits, task)
        return answering(network, task)

    # Everything else.

    def protocol(
        self, name: str, changes: Mapping[str, Any] | None = None, version: int | None = None
    ) -> Protocol:
        """Return the `Protocol` called `name`, with inherited values and defaults filled in.

        Args:
            name: as in its file.
            changes: changed values by dotted key, as text or value: ``{"test.strings": "64"}``.
            version: an earlier version whose file is registered; None for the newest.
        """
        return self._protocol_loader.load(name, changes, version)

    def protocol_chain(self, name: str) -> tuple[str, ...]:
        """Return the names of a protocol and of those it extends, nearest first."""
        if name not in self._chains:
            self._chains[name] = self._protocol_loader.chain(name)
        return self._chains[name]

    def protocol_takes_list(self, key: str) -> bool:
        """Return whether a protocol's key may hold several values: then a comma parts them."""
        return self._protocol_loader.takes_list(key)

    @property
    def _protocol_loader(self) -> ProtocolLoader:
        from formalbench.host.protocols import ProtocolLoader

        choices: dict[str, Registry[Any]] = {
            "optimiser": self.optimisers,
            "schedule": self.schedules,
            "curriculum": self.samplers,
        }
        return ProtocolLoader(self.protocols, self.penalties, choices)

    def table(self, name: str) -> PublishedTable:
        """Return the table of a paper's numbers called `name`."""
        if name not in self._tables:
            self._tables[name] = read_table(self.tables.get(name)[0].spec)
        return self._tables[name]

    def published(self) -> tuple[PublishedTable, ...]:
        """Return all tables of papers' numbers; an invalid file is one warning."""
        tables = []
        for entry in self.tables.all():
            try:
                tables.append(self.table(entry.spec.name))
            except RequestError as error:
                self.warn(f"plugin {entry.plugin.name}: {error}")
        return tuple(tables)

    def suite(self, name: str) -> SuiteSpec:
        """Return the suite called `name`; an unknown name in a file is an error of the file."""
        entry, _ = self.suites.get(name)
        if entry.plugin.local:
            try:
                each(self.select_task, entry.spec.tasks)
                if entry.spec.protocol:
                    self.protocols.get(entry.spec.protocol)
            except RequestError as error:
                raise RequestError(f"{entry.plugin.local.path}: {error}") from None
        return entry.spec


def load_plugins(plugins: Sequence[Path | str]) -> PluginHost:
    """Create a host with all installed plugins and these local ones.

    Raises:
        RequestError: if `plugins` is no list of paths of plugins.
        BrokenPluginError: if a Python plugin that was asked for is broken.
    """
    if isinstance(plugins, str | Path):
        raise RequestError(f"plugins is a list of paths: write [{str(plugins)!r}]")
    return PluginHost.load([Path(plugin) for plugin in plugins])


def check_offered(name: str, spec: ModelSpec, objective: str) -> None:
    """Check that a model supports an objective."""
    if spec.objectives and objective not in spec.objectives:
        raise RequestError(
            f"model {name} does not support {objective}: it supports {', '.join(spec.objectives)}"
        )


def _check_traits(name: str, traits: Traits, task: Task) -> None:
    """Check that a network's traits fit a task."""
    objective = task.objective
    prefix = f"model {name} does not support {objective.name}: "
    if task.layout == "decoded":
        if not traits.encoder_decoder or traits.backbone:
            raise RequestError(f"{prefix}it needs an encoder-decoder")
    elif task.layout != "last" and not objective.sees_all and not traits.causal:
        raise RequestError(f"{prefix}its answers depend on later symbols (traits.causal is False)")


def answering(network: nn.Module, task: Task) -> nn.Module:
    """Return the network; add a readout if it is a backbone."""
    from formalbench.contracts.network import traits_of

    if not traits_of(network).backbone:
        return network
    from formalbench.readout import read_out

    return read_out(network, task)


def _check_options(selected: Selection[C]) -> Selection[C]:
    if selected.written or selected.settings:
        _ = selected.config  # fails here if it is invalid
    return selected
