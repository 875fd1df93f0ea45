"""The checks of `formalbench check`.

Legend: R runs, P parameters of each.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    FormalbenchError,
    MissingPackageError,
    RequestError,
    each,
    unknown,
)
from formalbench.contracts.network import traits_of
from formalbench.contracts.objective import BrokenPromiseError, Metric, Objective, demand
from formalbench.contracts.source import Stream
from formalbench.contracts.specs import display, fill_fields
from formalbench.contracts.training import Optimiser, ParameterInfo, Penalty, Sampler, Schedule
from formalbench.host.loader import as_failures
from formalbench.host.options import make_config, parse_instance
from formalbench.host.plain_class import PlainFactory, names_class

if TYPE_CHECKING:
    from torch import Tensor, nn

    from formalbench.contracts.objective import Promise
    from formalbench.contracts.specs import MetricSpec
    from formalbench.host import LocalPlugin, Plugin, PluginHost
    from formalbench.host.registry import Registry


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        subject: what was checked, such as ``task parity:classify``.
        promise: what should hold.
        problem: one line; empty if it holds.
    """

    subject: str
    promise: str
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return not self.problem


begun: ContextVar[Callable[[Check], None]] = ContextVar("begun", default=lambda check: None)
"""Called before each check, which might not end."""


def keep(subject: str, promises: Iterator[Promise]) -> Iterator[Check]:
    """Run checks one by one; an exception in a plugin's code is a failed check."""
    for promise, run in promises:
        begun.get()(Check(subject, promise))
        yield Check(subject, promise, _problem(run))


def _problem(run: Callable[[], None]) -> str:
    try:
        with as_failures():
            run()
    except BrokenPromiseError as error:
        return str(error)
    except FormalbenchError as error:  # it says what is wrong, and where
        return " ".join(str(error).split())
    except PLUGIN_FAILURES as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{text} ({Path(frame.filename).name}:{frame.lineno})"
    return ""


RUNS, STEPS = 3, 3

LAYOUT = (
    ParameterInfo("hidden.weight", (2, 3), slice(6), "hidden"),
    ParameterInfo("hidden.bias", (2,), slice(6, 8)),
)
"""The parameters of each run."""

BASE = 1e-3
"""The learning rate that is tried."""


def part_promises(kind: str, part: Any) -> Iterator[Promise]:
    """Return what a part of a protocol promises, by its kind."""
    if kind == "optimiser":
        bound = part.with_layout(LAYOUT)
        yield "updates each run independently of the others", lambda: _independent(bound)
    elif kind == "sampler":
        yield "draws lengths of the training split, the same every time", lambda: _lengths(part)
    elif kind == "penalty" and not part.traced:  # a trace's names are the networks'
        yield "returns a differentiable number, under vmap as without", lambda: _term(part)


def _term(penalty: Penalty) -> None:
    import torch

    parameters = {"hidden.weight": _random_numbers("weight").requires_grad_()}
    logits_RK = _random_numbers("logits").requires_grad_()

    def term(logits: Tensor) -> Tensor:
        return penalty.term(logits[None], {}, parameters)

    alone = [term(logits) for logits in logits_RK]
    for one in alone:
        demand(isinstance(one, torch.Tensor), f"it is a {type(one).__name__}, not a tensor")
        demand(one.ndim == 0, f"it has the shape {tuple(one.shape)}, not ()")
        demand(one.isfinite(), f"it is {one.item()}")
        demand(one.requires_grad, "it depends on neither logits nor parameters")
    together = torch.func.vmap(term)(logits_RK)
    demand(torch.allclose(together, torch.stack(alone)), "vmap changed the number")


def _independent(optimiser: Optimiser) -> None:
    import torch

    before_RP = _random_numbers("parameters")
    together = _run_steps(optimiser, before_RP, slice(None))
    demand(together.isfinite().all(), "a parameter is not finite")
    demand((together != before_RP).any(), "nothing changed")
    for run in range(RUNS):
        alone = _run_steps(optimiser, before_RP, slice(run, run + 1))
        same = torch.allclose(together[run : run + 1], alone, rtol=1e-5, atol=1e-7)
        demand(same, "the update of a run depends on other runs")


def _run_steps(optimiser: Optimiser, before_RP: Tensor, runs: slice) -> Tensor:
    """Return the parameters of some runs after some steps, clipped as a protocol asks."""
    parameters_RP = before_RP[runs].clone()
    slots = tuple(parameters_RP.new_zeros(parameters_RP.shape) for _ in optimiser.slots)
    rate_R1 = parameters_RP.new_tensor([[BASE * (run + 1)] for run in range(RUNS)])[runs]
    for step in range(STEPS):
        gradient_RP = _random_numbers(f"gradient {step}")[runs].clone()
        scalars = parameters_RP.new_tensor(optimiser.scalars(step + 1))
        numbers = rate_R1, scalars, optimiser.weight_decay
        optimiser.clipped_step(parameters_RP, gradient_RP, slots, *numbers, 1.0)
    return parameters_RP


def _random_numbers(name: str) -> Tensor:
    """Return numbers between -4 and 4, (R, P)."""
    import torch

    numbers = Stream("check steps", name).uniform((RUNS, LAYOUT[-1].columns.stop))
    return torch.from_numpy(8 * numbers - 4).float()


def _lengths(sampler: Sampler) -> None:
    from formalbench.contracts.protocol import Protocol
    from formalbench.training.curriculum import draw_length, stages_of

    lengths = list(range(1, 41))
    protocol = Protocol(name="check", version=1)
    for stage in stages_of(sampler, protocol, lengths):
        for batch in range(20):
            first, again = (draw_length(protocol, stage, batch, None, 0, sampler) for _ in range(2))
            demand(first == again, f"batch {batch} has another length when repeated")


BUILT: dict[str, type] = {
    "objective": Objective,
    "metric": Metric,
    "optimiser": Optimiser,
    "schedule": Schedule,
    "sampler": Sampler,
    "penalty": Penalty,
}
"""What a factory makes, by kind."""

CALLED = ("probe", "executor", "reproduction")
"""Kinds whose factory is only called while something runs."""


def check_parts(host: PluginHost, plugin: Plugin) -> Iterator[Check]:
    """Check what a plugin announces beside tasks, models, suites and protocols."""
    for registry in host.registries.values():
        kind = registry.kind
        for entry in registry.all() if kind in (*BUILT, *CALLED) else ():
            if entry.plugin is plugin:
                yield from keep(f"{kind} {entry.spec.name}", _promises(kind, entry.spec))


def _promises(kind: str, spec: Any) -> Iterator[Promise]:
    parts: list[Any] = []
    yield "is made by its factory", lambda: parts.extend(_make(kind, spec))
    for part in parts:
        yield from part_promises(kind, part)


def _make(kind: str, spec: Any) -> list[Any]:
    """Return what a factory makes, as far as it is called here."""
    from formalbench.host.host import load

    factory = load(spec.factory)
    demand(callable(factory), f"the factory is a {type(factory).__name__}")
    config = make_config(spec) if hasattr(spec, "config") else None
    if kind in CALLED or (kind == "metric" and not spec.objectives):
        return []
    instance = factory() if config is None else factory(config)
    expected = BUILT[kind]
    problem = f"the factory returned a {type(instance).__name__}, no {expected.__name__}"
    demand(isinstance(instance, expected), problem)
    if kind in ("objective", "metric"):
        demand(instance.name == spec.name, f"its name is {instance.name!r}, not {spec.name!r}")
    return [instance]


TRIAL_FIELD = 2
"""Value of each field if a model can be tried only on a task whose name is a pattern."""


def trials(host: PluginHost, model: str) -> Iterator[tuple[str, str | None]]:
    """Yield the objectives that a model is tried on, each with a task.

    A task whose package is not installed is yielded too: whether the model answers it is unknown.

    One that names its objectives is tried on all of them, and None stands for the task of an
    objective that no task has. Any other is tried wherever its network can answer.
    """
    selected = host.select_model(model)
    own = selected.spec.task.format(**selected.fields)
    for objective in selected.spec.objectives:
        yield objective, asked(own, objective) if own else trial_task(host, objective)
    if selected.spec.objectives:
        return
    for entry in host.objectives.all():
        objective = entry.spec.name
        task = _task_of(host, own, objective) if own else trial_task(host, objective)
        if task is not None and _can_answer(host, model, task):
            yield objective, task


def asked(task: str, objective: str) -> str:
    """Return a task's name with another objective and the same options.

    Example:
        >>> asked("parity:classify[p=0.3]", "tag")
        'parity:tag[p=0.3]'
    """
    name, bracket, options = task.partition("[")
    return f"{name.partition(':')[0]}:{objective}{bracket}{options}"


def trial_task(host: PluginHost, objective: str) -> str | None:
    """Return a task with an objective, preferably from the default suite."""
    suite = [parse_instance(task)[0] for task in host.suite("default").tasks]
    names = (*suite, *(entry.spec.name for entry in host.tasks.all()))
    sources = [fill_fields(name.partition(":")[0], TRIAL_FIELD) for name in names]
    for source in sources:
        if objective in host.select_task(source).spec.objectives:
            return asked(source, objective)
    return next((task for source in sources if (task := _task_of(host, source, objective))), None)


def _task_of(host: PluginHost, source: str, objective: str) -> str | None:
    """Return the task of a source with an objective; None if it does not support it."""
    task = asked(source, objective)
    try:
        host.select_task(task)
    except RequestError:
        return None
    return task


def _can_answer(host: PluginHost, model: str, task: str) -> bool:
    """Return whether a model's network can be built and used for a task.

    Raises:
        MissingPackageError: if the model needs a package.
    """
    import torch

    try:
        built = host.task(task)
    except MissingPackageError:
        return True
    with torch.random.fork_rng(devices=[]):
        try:
            network = host.network(model, built)
        except MissingPackageError:  # the error is the same for every task
            raise
        except RequestError:
            return False
    return built.layout == "decoded" or not traits_of(network).encoder_decoder


def plain_facts(host: PluginHost, name: str) -> Iterator[Check]:
    """Yield the detected traits of a class as passed checks.

    Raises:
        RequestError: if its networks return no states.
    """
    import torch

    selected = host.select_model(name)
    options = {key: facts["default"] for key, facts in selected.facts.items()}
    title = display(selected.name, options)
    yield Check(f"model {name}", f"is {selected.spec.summary}, the model {title}")
    networks: dict[str, nn.Module] = {}
    errors = {}
    for objective in (entry.spec.name for entry in host.objectives.all()):
        task = trial_task(host, objective)
        with torch.random.fork_rng(devices=[]):
            try:
                networks |= {objective: host.network(name, host.task(task))} if task else {}
            except MissingPackageError:
                continue
            except RequestError as error:
                errors[objective] = error
    if not networks:
        raise next(iter(errors.values()))
    traits = traits_of(next(iter(networks.values())))
    yield Check(f"model {name}", f"gives states (B, N, {traits.width}) of ids (B, N)")
    yield Check(f"model {name}", f"supports {', '.join(networks)}")
    for objective, refusal in errors.items():
        yield Check(
            f"model {name}", f"does not support {objective}: {str(refusal).partition(': ')[2]}"
        )
    if not traits.vmap:
        note = "it does not run under torch.func.vmap, so its runs train one after another on a GPU"
        yield Check(f"model {name}", f"cannot train several runs together: {note}")


HEAVY = ("torch", "numpy", "pandas", "automata")


def check_plugin(path: Path | str, host: PluginHost | None = None) -> list[Check]:
    """Check everything that a local plugin provides.

    Args:
        path: a .py or .yaml file, a folder, or a plain class: ``mine.py:Mine``.
        host: host to load it with; None for a new one.
    """
    from formalbench.host import PluginHost
    from formalbench.host.plugin import find_plugins

    host = host or PluginHost.load()
    checks: list[Check] = []
    for local in find_plugins(Path(path)):
        if host.local_plugin(local) is None:
            checks += _load_lightly(host, local)
        plugin = host.local_plugin(local)
        assert plugin is not None
        host.check_clashes(plugin)
        checks += _check_contents(host, plugin)
    return checks


def _load_lightly(host: PluginHost, local: LocalPlugin) -> list[Check]:
    before = {name for name in HEAVY if name in sys.modules}
    host.load_local(local)
    if not local.is_code:
        return []  # a YAML file imports nothing
    heavy = [name for name in HEAVY if name in sys.modules and name not in before]
    # A single file is imported with its network; only a package can be lazy.
    problem = f"importing it imports {', '.join(heavy)}" if heavy and local.path.is_dir() else ""
    return [Check(f"plugin {local.path.name}", "imports no heavy package", problem)]


def _check_contents(host: PluginHost, plugin: Plugin) -> list[Check]:
    def own(registry: Registry[Any]) -> list[str]:
        return [entry.spec.name for entry in registry.all() if entry.plugin is plugin]

    checks: list[Check] = []
    for name in own(host.tasks):
        checks += _check_task(host, name)
    for name in own(host.models):
        checks += _check_model(host, name)
    lookups: list[tuple[Registry[Any], str, Callable[[str], Any]]] = [
        (host.suites, "names only tasks that exist", partial(_look_up_suite, host)),
        (host.protocols, "is valid", partial(_look_up_protocol, host)),
        (host.tables, "is valid", host.table),
    ]
    for registry, promise, look_up in lookups:
        for name in own(registry):
            checks += keep(f"{registry.kind} {name}", iter([(promise, partial(look_up, name))]))
    for name in own(host.objectives):
        task = trial_task(host, name)
        checks += _check_task(host, task) if task else []
    parts = [*check_parts(host, plugin)]
    subjects = {part.subject for part in parts if part.passed}
    for name in own(host.metrics):
        if f"metric {name}" in subjects:
            checks += _check_metric(host, host.metrics.get(name)[0].spec)
    return [*checks, *parts]


def _look_up_suite(host: PluginHost, name: str) -> None:
    each(host.select_task, host.suite(name).tasks)


def _look_up_protocol(host: PluginHost, name: str) -> None:
    watch = host.protocol(name).watch
    each(host.probes.get, watch.probes if watch else ())


def _check_metric(host: PluginHost, spec: MetricSpec) -> Iterator[Check]:
    from formalbench.checks.tasks import judging_promises

    for objective in spec.objectives:
        name = trial_task(host, objective)
        if name is None:
            problem = f"no registered task has the objective {objective}"
            yield Check(f"metric {spec.name}", f"can be tried on {objective}", problem)
        else:
            yield from keep(f"metric {spec.name} on {name}", judging_promises(host.task(name)))


def check_spec(host: PluginHost, name: str) -> list[Check]:
    """Check the task or model called `name`.

    Raises:
        RequestError: if there is neither.
    """
    if names_class(name):
        (name,) = host.models_named([name])
    checks: list[Check] = []
    language = parse_instance(name)[0].partition(":")[0]
    names = [e.spec.name for e in host.tasks.all()] + [e.spec.name for e in host.models.all()]
    for registry, check in ((host.tasks, _check_task), (host.models, _check_model)):
        try:
            registry.get(language)
        except RequestError as error:
            if "defined twice" in str(error) or "is a pattern" in str(error):
                raise
            continue
        checks += check(host, name)
    if not checks:
        raise unknown("task or model", name, names, "formalbench list")
    return checks


def _check_task(host: PluginHost, name: str) -> list[Check]:
    from formalbench.checks.tasks import task_promises

    if "{" in name:
        return [Check(f"task {name}", "is a pattern: check one of its names instead")]
    begun.get()(Check(f"task {name}", "can be tried"))
    selected = host.select_task(name)
    has_objective = ":" in parse_instance(name)[0]
    checks: list[Check] = []
    host.warn_of_overlap(host.build_task(selected))
    for objective in [selected.objective] if has_objective else selected.spec.objectives:
        task = host.task(asked(name, objective))
        checks += keep(f"task {task.name}", task_promises(task))
    return checks


def _check_model(host: PluginHost, name: str) -> list[Check]:
    from formalbench.checks.models import model_promises

    if "{" in name:
        return [Check(f"model {name}", "is a pattern: check one of its names instead")]
    checks: list[Check] = []
    begun.get()(Check(f"model {name}", "can be tried"))
    if isinstance(host.select_model(name).spec.factory, PlainFactory):
        checks += plain_facts(host, name)
    for objective, task_name in trials(host, name):
        if task_name is None:
            problem = f"no registered task has the objective {objective}"
            checks.append(Check(f"model {name}", f"can be tried on {objective}", problem))
            continue
        try:
            task = host.task(task_name)
        except MissingPackageError as error:
            print(f"formalbench: {name} was not checked on {task_name}: {error}", file=sys.stderr)
            continue
        begun.get()(Check(f"model {name} on {task.name}", "can be tried"))
        build = partial(host.network, name, task)
        if problem := _build_error(build):
            checks.append(Check(f"model {name} on {task.name}", "can be tried", problem))
        else:
            learned = host.select_model(name).spec.kind == "learned"
            promises = model_promises(build, task, learned=learned)
            checks += keep(f"model {name} on {task.name}", promises)
    if not checks:
        problem = "no registered task has an objective that it can do"
        checks.append(Check(f"model {name}", "can be tried on a task", problem))
    return checks


def _build_error(build: Callable[[], object]) -> str:
    """Return why there is no network for a task; empty if there is one.

    Raises:
        BrokenPluginError: if the plugin's factory fails.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        try:
            build()
        except RequestError as error:
            return str(error)
    return ""
