"""Load plugins one by one and call their hooks; an error in one does not affect others."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import pluggy

from formalbench.contracts import hooks, specs
from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    BrokenPluginError,
    FormalbenchError,
    ReaderLeftError,
    RequestError,
)
from formalbench.contracts.specs import ProtocolSpec, TaskSpec, check_name
from formalbench.files import read_yaml
from formalbench.host.plugin import (
    SESSION,
    YAML_SUFFIXES,
    LocalPlugin,
    Plugin,
    broken,
    content_hash,
    find_plugins,
    import_local,
)
from formalbench.host.registry import Registry, check_spec, read_suite

PROJECT = "formalbench"

ENVIRONMENT = "FORMALBENCH_PLUGINS"

Warn = Callable[[str], None]

Host = TypeVar("Host", bound="LoadedPlugins")


@contextlib.contextmanager
def as_failures() -> Iterator[None]:
    """Convert exceptions of a plugin that are not `PLUGIN_FAILURES`.

    Raises:
        RuntimeError: instead of any other exception that the plugin raises.
    """
    try:
        yield
    except (*PLUGIN_FAILURES, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # of a kind of its own
        line = f"{type(error).__name__}: {error}"
        raise RuntimeError(line).with_traceback(error.__traceback__) from None


def to_stderr(line: str) -> None:
    """Print a warning on standard error."""
    print(line, file=sys.stderr)


class LoadedPlugins:
    """Loads plugins, keeps their specs and notifies observers.

    Args:
        warn: called with one line for each broken plugin that nobody asked for.
    """

    def __init__(self, warn: Warn = to_stderr) -> None:
        self.warn = warn
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hooks)
        self.plugins: list[Plugin] = []
        self.tasks = Registry("task", specs.TaskSpec)
        self.models = Registry("model", specs.ModelSpec)
        self.suites = Registry("suite", specs.SuiteSpec)
        self.protocols = Registry("protocol", specs.ProtocolSpec)
        self.objectives = Registry("objective", specs.ObjectiveSpec)
        self.metrics = Registry("metric", specs.MetricSpec)
        self.probes = Registry("probe", specs.ProbeSpec)
        self.optimisers = Registry("optimiser", specs.OptimiserSpec)
        self.schedules = Registry("schedule", specs.ScheduleSpec)
        self.samplers = Registry("sampler", specs.SamplerSpec)
        self.penalties = Registry("penalty", specs.PenaltySpec)
        self.executors = Registry("executor", specs.ExecutorSpec)
        self.trackers = Registry("tracker", specs.TrackerSpec)
        self.tables = Registry("table", specs.TableSpec)
        self.reproductions = Registry("reproduction", specs.ReproductionSpec)
        registries = [r for r in vars(self).values() if isinstance(r, Registry)]
        self.registries: dict[str, Registry[Any]] = {r.plural: r for r in registries}

    @classmethod
    def load(
        cls: type[Host],
        paths: Sequence[Path] = (),
        warn: Warn = to_stderr,
        *,
        apart: bool = False,
        own_code: bool = False,
    ) -> Host:
        """Load all installed plugins, then those of ``FORMALBENCH_PLUGINS`` and `paths`.

        A name clash with a plugin of ``FORMALBENCH_PLUGINS`` is an error only when the name is
        used, because these plugins are loaded for every command.

        Args:
            paths: of local plugins.
            warn: called with one line for each broken plugin that nobody asked for.
            apart: whether to only note them, for another process, if one of them is code.
            own_code: whether to import only formalbench's code; other plugins, except data files,
                are only noted.

        Raises:
            RequestError: if a path is no plugin, a file is invalid, or a name of `paths` clashes.
            BrokenPluginError: if a Python plugin that was asked for is broken.
        """
        host = cls(warn)
        host.load_installed(own_code=own_code)
        extra = [Path(part) for part in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if part]
        found = dict.fromkeys(local for path in extra for local in find_plugins(path, ENVIRONMENT))
        requested = dict.fromkeys(local for path in paths for local in find_plugins(path))
        found |= requested
        any_code = any(local.is_code for local in found)
        for local in found:
            if any_code and (apart or (own_code and local.is_code)):
                host.note_local(local).noted = True
                continue
            try:
                host.load_local(local)
            except RequestError:
                plugin = host.local_plugin(local)
                if plugin is None or not (own_code and any_code):
                    raise
                plugin.noted = True  # a noted plugin may be its reader
        for plugin in host.plugins:
            if plugin.local in requested:
                host.check_clashes(plugin)
        return host

    def load_installed(self, *, own_code: bool = False) -> None:
        """Load the entry points of every installed distribution; a broken one is one warning.

        With `own_code`, plugins of other distributions are noted and not loaded.
        """
        for point in sorted(metadata.entry_points(group=PROJECT), key=lambda point: point.name):
            name = point.dist.name if point.dist else "?"
            version = point.dist.version if point.dist else ""
            plugin = Plugin(point.name, name, version)
            self.plugins.append(plugin)
            if own_code and name != PROJECT:
                plugin.noted = True
                continue
            try:
                with as_failures():
                    self._register(plugin, point.load())
            except PLUGIN_FAILURES as error:
                self.drop(plugin, error, "skipped")

    def load_local(self, local: LocalPlugin) -> None:
        """Load a plugin the user named."""
        if local.path != SESSION and content_hash(local.path) != local.sha256:
            raise RequestError(f"plugin {local.path} changed while it was in use: start again")
        plugin = self.note_local(local)
        if local.attribute:
            self._load_class(plugin, local)
        elif local.is_code:
            self._load_python(plugin, local)
        else:
            self._load_file(plugin, local.path)

    def note_local(self, local: LocalPlugin) -> Plugin:
        """Register a local plugin without loading it."""
        plugin = Plugin(local.named.name, str(local.named), "", local=local)
        self.plugins.append(plugin)
        return plugin

    def announce(self, plugin: Plugin, announced: Mapping[str, Sequence[Any]]) -> None:
        """Register the specs that a noted plugin provides, by plural kind.

        Raises:
            RequestError: if a name clashes.
            ValueError: for a spec that cannot be.
        """
        for kind, group in announced.items():
            for spec in group:
                self._add(kind, spec, plugin)
        if plugin.local:
            self.check_clashes(plugin)

    def local_plugin(self, local: LocalPlugin) -> Plugin | None:
        """Return the loaded plugin of a file, package or class, if any."""
        return next((plugin for plugin in self.plugins if plugin.local == local), None)

    def models_named(self, names: Sequence[str | type]) -> tuple[str, ...]:
        """Return the names of models; load plain classes among them.

        Args:
            names: ``lstm``, ``mine.py:Mine[width=32]`` or a class of this Python session.

        Raises:
            RequestError: if a class is missing, has the wrong interface, or its name is taken.
            BrokenPluginError: if its file cannot be imported.
        """
        result = []
        classes: dict[LocalPlugin, type] = {}
        for name in names:
            text, bracket, options = ("", "", "") if isinstance(name, type) else name.partition("[")
            if isinstance(name, type):
                from formalbench.host.plain_class import class_plugin

                local = class_plugin(name)
                if classes.setdefault(local, name) is not name:
                    raise RequestError(
                        f"two classes {name.__name__} have the same source and values: name one"
                    )
            elif ":" in text:
                (local,) = find_plugins(Path(text.strip()), "--model")
            elif text.strip().endswith(".py"):
                local, *_ = find_plugins(Path(text.strip()), "--model")
                if self.local_plugin(local) is None:
                    self.load_local(local)  # the error for a file with only a class names the class
                raise RequestError(f"--model {text}: use --plugin {text} and the model's name")
            else:
                result.append(name)
                continue
            if self.local_plugin(local) is None:
                self.load_local(local)
            plugin = self.local_plugin(local)
            assert plugin is not None
            (own,) = (entry.spec.name for entry in self.models.every() if entry.plugin is plugin)
            if len([entry for entry in self.models.every() if entry.spec.name == own]) > 1:
                title = f"class {local.attribute} of {local.path.name}"
                raise RequestError(f"{title}: there is a model {own!r} already: rename the class")
            result.append(f"{own}{bracket}{options}")
        return tuple(result)

    def check_clashes(self, plugin: Plugin) -> None:
        """Check that a plugin's names are not announced by another plugin."""
        for registry in self.registries.values():
            registry.check_clashes(plugin)

    def _load_python(self, plugin: Plugin, local: LocalPlugin) -> None:
        try:
            with as_failures():
                self._register(plugin, import_local(local.path, local.sha256))
        except FormalbenchError:
            raise
        except PLUGIN_FAILURES as error:  # the user named it
            self._forget(plugin, error)
            raise BrokenPluginError(broken(local.path, error)) from None
        if not plugin.provides and not self._manager.get_hookcallers(plugin.module):
            line = f"plugin {local.path} has no function marked @formalbench.hookimpl"
            classes = [
                f"{os.path.relpath(local.path)}:{name}"
                for name, value in vars(plugin.module).items()
                if isinstance(value, type)
                and value.__module__ == plugin.module.__name__
                and callable(getattr(value, "forward", None))
            ]
            if classes:
                raise RequestError(f"{line}: to use its class, name {' or '.join(classes)}")
            raise BrokenPluginError(line)

    def _load_class(self, plugin: Plugin, local: LocalPlugin) -> None:
        from formalbench.host.plain_class import class_spec

        try:
            with self.blaming(plugin):
                spec = class_spec(local)
        except FormalbenchError as error:
            self._forget(plugin, error)
            raise
        self._add("models", spec, plugin)

    def _register(self, plugin: Plugin, module: Any) -> None:
        self._hook(plugin, module)
        pairs: list[tuple[str, Any]] = []
        for kind, registry in self.registries.items():
            for announced in self.call(plugin, f"formalbench_{kind}"):
                for spec in announced:
                    if not isinstance(spec, registry.spec_type):
                        raise TypeError(f"formalbench_{kind} gave a {type(spec).__name__}")
                    pairs.append((kind, spec))
        if plugin.local or plugin.distribution != PROJECT:  # a test checks built-in plugins
            for _, spec in pairs:
                check_spec(spec)  # collect all first, so that a broken plugin registers nothing
        for kind, spec in pairs:
            self._add(kind, spec, plugin)

    def _load_file(self, plugin: Plugin, path: Path) -> None:
        """Load a data file: a suite, a protocol, or a format that a plugin reads."""
        data = read_yaml(path) if path.suffix in YAML_SUFFIXES else {}
        if "tasks" in data:
            self._add_named(path, "suites", read_suite(path, data), plugin)
        elif {"steps", "learning_rates", "extends"} & set(data):
            from formalbench.host.protocols import check_contents

            spec = ProtocolSpec(*check_contents(path, data), path)
            self._add_named(path, "protocols", spec, plugin)
        else:
            task, plugin.reader = self._read_task(path)
            self._add_named(path, "tasks", task, plugin)

    def _read_task(self, path: Path) -> tuple[TaskSpec, Plugin]:
        for plugin in self.plugins:
            with self.blaming(plugin):
                for task in self.call(plugin, "formalbench_read_file", path=path):
                    if isinstance(task, TaskSpec):
                        return task, plugin
        if path.suffix in YAML_SUFFIXES:
            raise RequestError(
                f"{path}: not a task (alphabet or data), a suite (tasks) or a protocol "
                "(steps, extends)"
            )
        raise RequestError(
            f"--plugin {path}: a plugin is a .py or .yaml file, a folder, or a file that "
            f"another plugin reads; none reads {path.suffix or 'one without a suffix'}"
        )

    def _add_named(self, path: Path, kind: str, spec: Any, plugin: Plugin) -> None:
        try:
            check_name(spec.name)
        except ValueError as error:
            raise RequestError(f"{path}: {error}") from None
        self._add(kind, spec, plugin)

    def _add(self, kind: str, spec: Any, plugin: Plugin) -> None:
        self.registries[kind].add(spec, plugin)
        plugin.provides[kind] = plugin.provides.get(kind, 0) + 1

    # Calling hooks.

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a hook of every observer; one that raises is dropped with a warning.

        Raises:
            ReaderLeftError: if the reader of its output is gone.
        """
        for plugin in self.plugins:
            if plugin.module is None:
                continue
            try:
                self.call(plugin, hook, **arguments)
            except ReaderLeftError:
                raise
            except PLUGIN_FAILURES as error:  # an observer must not end a run
                self.drop(plugin, error, "dropped as an observer")

    def observe(self, observer: Any, name: str) -> Plugin:
        """Register an object with observer hooks."""
        plugin = Plugin(name, "formalbench", "")
        self._hook(plugin, observer)
        self.plugins.append(plugin)
        return plugin

    def forget(self, observer: Plugin) -> None:
        """Unregister an observer."""
        if self._manager.is_registered(observer.module):
            self._manager.unregister(observer.module)
        self.plugins.remove(observer)

    def call(self, plugin: Plugin, hook: str, **arguments: Any) -> list[Any]:
        """Call one plugin's implementations of a hook."""
        implementations = [
            impl
            for caller in self._manager.get_hookcallers(plugin.module) or ()
            if caller.name == hook
            for impl in caller.get_hookimpls()
            if impl.plugin is plugin.module
        ]
        return [
            impl.function(*(arguments[name] for name in impl.argnames)) for impl in implementations
        ]

    def _hook(self, plugin: Plugin, module: Any) -> None:
        """Register what a plugin implements.

        Raises:
            pluggy.PluginValidationError: if a hook is misspelt or has unknown arguments.
        """
        plugin.module = module
        self._manager.register(module, name=f"{plugin.name}@{plugin.describe()}")
        try:
            self._manager.check_pending()  # a misspelt hook is an error
        except pluggy.PluginValidationError:
            self._manager.unregister(module)
            raise

    def _forget(self, plugin: Plugin, error: BaseException) -> None:
        if self._manager.is_registered(plugin.module):
            self._manager.unregister(plugin.module)
        plugin.module = None
        plugin.error = " ".join(f"{type(error).__name__}: {error}".split())

    def drop(self, plugin: Plugin, error: BaseException, what: str) -> None:
        """Unregister a plugin that failed, with one warning."""
        self._forget(plugin, error)
        self.warn(f"plugin {plugin.name} ({plugin.describe()}) {what}: {plugin.error}")

    def locals(self) -> list[LocalPlugin]:
        """Return the local plugins for worker processes."""
        return [plugin.local for plugin in self.plugins if plugin.local]

    def runs_local_code(self) -> bool:
        """Return whether code of a local plugin was imported into this process."""
        return any(local.is_code for local in self.locals())

    @contextlib.contextmanager
    def blaming(self, plugin: Plugin) -> Iterator[None]:
        """Turn an exception of a plugin's code into an error that names the plugin."""
        try:
            with as_failures():
                yield
        except (FormalbenchError, MemoryError):  # too large a request: not the plugin's fault
            raise
        except PLUGIN_FAILURES as error:
            place = plugin.local.path if plugin.local else _package_folder(plugin)
            raise BrokenPluginError(broken(place, error)) from error


def _package_folder(plugin: Plugin) -> Path:
    file = getattr(plugin.module, "__file__", None)
    return Path(file).resolve().parent if file else Path(plugin.name)
