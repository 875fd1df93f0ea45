"""The plugin host: what it loads, what it refuses, and what it survives."""

from importlib import metadata
from pathlib import Path

import pytest
from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import (
    ExecutorSpec,
    MetricSpec,
    ModelSpec,
    ObjectiveSpec,
    OptimiserSpec,
    ProbeSpec,
    ProtocolSpec,
    ScheduleSpec,
    SuiteSpec,
    TaskSpec,
)
from formalbench.host import PluginHost


class Point:
    """An entry point as importlib.metadata gives it."""

    def __init__(self, name, loads):
        self.name = name
        self._loads = loads
        self.dist = type("Distribution", (), {"name": f"{name}-package", "version": "2.3"})()

    def load(self):
        if isinstance(self._loads, BaseException):
            raise self._loads
        return self._loads


class Hooks:
    """A plugin object made of functions."""

    def __init__(self, **functions):
        for name, function in functions.items():
            setattr(self, name, hookimpl(function))


@pytest.fixture
def install(monkeypatch):
    """Pretend that more plugins are installed."""
    real = metadata.entry_points

    def install(**points):
        extra = [Point(name, loads) for name, loads in points.items()]

        def entry_points(**query):
            return [*real(**query), *(extra if query == {"group": "formalbench"} else [])]

        monkeypatch.setattr(metadata, "entry_points", entry_points)

    return install


def task(name="mine", factory="nowhere:Nothing", **more):
    return TaskSpec(name, 1, "a task", factory, **more)


# What is installed.


def test_the_built_in_plugins_load(host):
    assert {"formalbench", "formalbench-tasks", "formalbench-models"} <= {
        plugin.name for plugin in host.plugins
    }
    assert all(not plugin.error for plugin in host.plugins)
    assert all(plugin.distribution == "formalbench" for plugin in host.plugins)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (ImportError("no module\nnamed x"), "ImportError: no module named x"),
        (SyntaxError("bad"), "SyntaxError"),
        (SystemExit("go away"), "go away"),
        (Hooks(formalbench_taks=lambda: []), "formalbench_taks"),
        (Hooks(formalbench_tasks=lambda surprise: []), "surprise"),
        (Hooks(formalbench_tasks=lambda: 3), "TypeError"),
        (Hooks(formalbench_tasks=lambda: ["x"]), "TypeError: formalbench_tasks gave a str"),
        (Hooks(formalbench_tasks=lambda: 1 / 0), "ZeroDivisionError"),
        (Hooks(formalbench_models=lambda: [ModelSpec("Bad Name", 1, "", "a:b")]), "bad name"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_a_broken_installed_plugin_is_one_line(install, cli, broken, said):
    install(zebra=broken)
    done = cli("sample", "parity", "--length", 3)
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("plugin zebra (zebra-package 2.3) skipped: ")
    assert said in line
    (row,) = [row for row in cli("plugins", "--json").data if row["name"] == "zebra"]
    assert said in row["error"]


def test_a_broken_plugin_leaves_nothing_behind(install):
    def tasks():
        return [task("fine"), task("Not Fine")]

    heard = []
    install(zebra=Hooks(formalbench_tasks=tasks, formalbench_read_file=lambda: heard.append(1)))
    lines = []
    host = PluginHost.load(warn=lines.append)
    assert len(lines) == 1
    with pytest.raises(RequestError, match="unknown task 'fine'"):
        host.tasks.get("fine")


def test_a_plugin_with_a_wrong_hook_is_not_called_for_others(install, write, cli):
    def read_file(path):
        raise AssertionError("called, though the plugin was skipped")

    # the hooks are looked at in alphabetical order, so the good one is registered first
    install(zebra=Hooks(formalbench_read_file=read_file, formalbench_tasks=lambda surprise: []))
    path = write("x.yaml", "name: mine\nalphabet: ab\nregex: a*\n")
    done = cli("label", "mine", "--plugin", path, stdin="a\n")
    assert (done.code, done.out) == (0, "1\n")


def test_an_installed_plugin_may_clash_until_its_name_is_used(install, cli):
    install(zebra=Hooks(formalbench_tasks=lambda: [task("parity")]))
    assert cli("label", "first", stdin="1\n").code == 0
    done = cli("label", "parity", stdin="1\n")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "'parity' is announced twice" in line
    assert "formalbench-tasks (formalbench " in line
    assert "zebra (zebra-package 2.3)" in line


# Names.


def test_factories_are_lazy_or_not(host):
    plugin = host.plugins[0]
    built = []
    host.tasks.add(task("eager", lambda: built.append(1) or host.task("parity").source), plugin)
    host.tasks.add(task("lazy", "formalbench_tasks.bits:First"), plugin)
    host.tasks.add(task("nowhere", "formalbench_tasks.nowhere:Nothing"), plugin)
    host.tasks.add(task("nothing", "formalbench_tasks.bits:Nothing"), plugin)
    assert not built
    assert host.task("eager").source.oracle([1]) == 1
    assert built == [1]
    assert type(host.task("lazy").source).__name__ == "First"
    for name in ("nowhere", "nothing"):
        with pytest.raises(BrokenPluginError):
            host.task(name)


class MineConfig(Config):
    a: int = option(1, "", minimum=1)
    b: str = option("x", "")


def test_a_config_reaches_the_factory(host):
    got = []

    def factory(config, **fields):
        got.append((config, fields))
        return host.task("parity").source

    spec = task("mine-{k}", factory, config=MineConfig, defaults={"b": "y"})
    host.tasks.add(spec, host.plugins[0])
    assert host.task("mine-7", {"a": 5}).parameters == {"a": 5}
    assert host.task("mine-8[a=3,b=x]").parameters == {"a": 3, "b": "x"}
    assert host.task("mine-9:classify[a=1]").parameters == {}
    assert got == [
        (MineConfig(a=5, b="y"), {"k": 7}),
        (MineConfig(a=3, b="x"), {"k": 8}),
        (MineConfig(a=1, b="y"), {"k": 9}),
    ]
    with pytest.raises(RequestError, match="mine-7: a=0: Input should be greater"):
        host.task("mine-7", {"a": 0})
    with pytest.raises(RequestError, match=r"mine-7\[a=0\]: must be at least 1"):
        host.task("mine-7[a=0]")
    with pytest.raises(RequestError, match="unknown option of mine-7 'c'"):
        host.task("mine-7[c=0]")


def test_patterns(host):
    got = []

    def factory(**fields):
        got.append(fields)
        return host.task("parity").source

    spec = task("zyck-{k}-{D}", factory, objectives=("classify", "tag"))
    host.tasks.add(spec, host.plugins[0])
    built = host.task("zyck-2-13:tag")
    assert got == [{"k": 2, "D": 13}]
    assert built.name == "zyck-2-13:tag"
    assert "zyck-{k}-{D}" in [entry.spec.name for entry in host.tasks.all()]
    for name in ("zyck-2", "zyck-2-x", "zyck-2-3-4", "zyck-02-3"):
        with pytest.raises(RequestError, match="unknown task"):
            host.task(name)


def test_a_name_and_a_pattern_that_both_fit_are_a_clash(host):
    host.tasks.add(task("zyck-{k}-{D}"), host.plugins[0])
    host.tasks.add(task("zyck-2-3"), host.plugins[1])
    with pytest.raises(RequestError, match="announced twice") as caught:
        host.tasks.get("zyck-2-3")
    assert host.plugins[0].name in str(caught.value)
    assert host.plugins[1].name in str(caught.value)
    assert host.tasks.get("zyck-2-4")[1] == {"k": 2, "D": 4}


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("tasks", "partiy", "did you mean parity"),
        ("tasks", "tomita3", "tomita-3"),
        ("models", "lsmt", "did you mean lstm"),
        ("suites", "defualt", "did you mean default"),
        ("protocols", "quik", "did you mean quick"),
        ("protocols", "zzzzzz", "`formalbench list protocols` shows all"),
        ("suites", "zzzzzz", "known: all, chi-table1, chomsky, crasp, default"),
    ],
)
def test_an_unknown_name_hears_of_the_nearest(host, kind, name, hint):
    with pytest.raises(RequestError) as caught:
        getattr(host, kind).get(name)
    assert hint in str(caught.value)


def test_listings_count_digits_as_numbers(host):
    names = [entry.spec.name for entry in host.tasks.all()]
    assert names.index("d2") < names.index("d12")


def test_an_objective_that_the_source_cannot_answer(host):
    with pytest.raises(RequestError) as caught:
        host.task_entry("modular-arithmetic:tag")
    assert str(caught.value) == (
        "modular-arithmetic: tag needs the class of every prefix, and ModularArithmetic does not "
        "have it (inherit formalbench.HasPrefixClasses)"
    )


def test_an_objective_that_nobody_announced(host):
    with pytest.raises(RequestError, match="unknown objective of parity 'tga': did you mean tag"):
        host.task("parity:tga")


# Local plugins.


def test_a_plugin_adds_commands(write, cli):
    path = write(
        "mine.py",
        """
        from formalbench import hookimpl

        @hookimpl
        def formalbench_commands(app):
            @app.command()
            def hello(name: str) -> None:
                "Say hello."
                print("hello", name)
        """,
    )
    done = cli("hello", "you", "--plugin", path)
    assert (done.code, done.out) == (0, "hello you\n")
    assert "Say hello." in cli("--help", "--plugin", path).out


def test_a_broken_command_hook(write, cli, install):
    path = write(
        "mine.py",
        "from formalbench import hookimpl\n@hookimpl\ndef formalbench_commands(app):\n    1 / 0\n",
    )
    done = cli("list", "tasks", "--plugin", path)
    assert done.code == 3
    assert f'File "{path}", line 4' in done.err
    assert "Traceback" not in done.err
    install(zebra=Hooks(formalbench_commands=lambda app: 1 / 0))
    done = cli("list", "tasks")
    assert done.code == 0
    assert done.err.splitlines() == [
        "plugin zebra (zebra-package 2.3) added no commands: ZeroDivisionError: division by zero"
    ]


def test_specs_of_all_kinds(write, tiny, cli):
    path = write(
        "mine.py",
        f"""
        from pathlib import Path
        from formalbench import (
            ExecutorSpec, MetricSpec, ModelSpec, ObjectiveSpec, OptimiserSpec, ProbeSpec,
            ProtocolSpec, ScheduleSpec, SuiteSpec, TaskSpec, TrackerSpec, hookimpl,
        )

        @hookimpl
        def formalbench_tasks():
            yield TaskSpec("t", 1, "", "a:b")

        @hookimpl
        def formalbench_models():
            return [ModelSpec("m", 1, "", "a:b")]

        @hookimpl
        def formalbench_suites():
            return (SuiteSpec("s", 1, "", ("t",)),)

        @hookimpl
        def formalbench_protocols():
            yield ProtocolSpec("tiny", "", Path({str(tiny)!r}))

        @hookimpl
        def formalbench_objectives():
            yield ObjectiveSpec("o", "", "a:b")

        @hookimpl
        def formalbench_metrics():
            yield MetricSpec("me", 1, "", "a:b", ("o",))

        @hookimpl
        def formalbench_probes():
            yield ProbeSpec("p", "", "a:b")

        @hookimpl
        def formalbench_optimisers():
            yield OptimiserSpec("op", "", "a:b")

        @hookimpl
        def formalbench_schedules():
            yield ScheduleSpec("sc", "", "a:b")

        @hookimpl
        def formalbench_executors():
            yield ExecutorSpec("ex", "", "a:b")

        @hookimpl
        def formalbench_trackers():
            yield TrackerSpec("tr", "", "a:b")
        """,
    )
    names = {
        **{"tasks": "t", "models": "m", "suites": "s", "protocols": "tiny", "objectives": "o"},
        **{"metrics": "me", "probes": "p", "optimisers": "op", "schedules": "sc"},
        **{"executors": "ex", "trackers": "tr"},
    }
    (row,) = [r for r in cli("plugins", "--json", "--plugin", path).data if r["name"] == "mine.py"]
    assert row["provides"] == dict.fromkeys(names, 1)
    assert row["error"] == ""
    assert len(row["sha256"]) == 64
    for kind, name in names.items():
        rows = cli("list", kind, "--json", "--plugin", path).data
        assert name in [row["name"] for row in rows]


# Observers.


def test_an_observer_that_raises_is_dropped_with_one_line():
    lines = []
    host = PluginHost(warn=lines.append)
    heard = []

    def stumble(run):
        heard.append("bad")
        raise ValueError("one\ntwo")

    host.observe(Hooks(formalbench_run_started=stumble), "bad")
    host.observe(Hooks(formalbench_run_started=lambda run: heard.append(run)), "good")
    host.notify("formalbench_run_started", run=1)
    host.notify("formalbench_run_started", run=2)
    assert heard == ["bad", 1, 2]
    assert lines == ["plugin bad (formalbench) dropped as an observer: ValueError: one two"]


def test_observers_may_leave_arguments_out():
    host = PluginHost()
    heard = []
    host.observe(Hooks(formalbench_run_progress=lambda progress: heard.append(progress)), "one")
    host.observe(Hooks(formalbench_run_progress=lambda: heard.append("none")), "two")
    host.notify("formalbench_run_progress", run=1, progress=2)
    assert heard == [2, "none"]


def test_specs_are_static_data():
    for spec in (
        task(),
        ModelSpec("m", 1, "", "a:b"),
        SuiteSpec("s", 1, "", ()),
        ProtocolSpec("p", "", Path()),
        ObjectiveSpec("o", "", "a:b"),
        MetricSpec("m", 1, "", "a:b", ("classify",)),
        ProbeSpec("p", "", "a:b"),
        OptimiserSpec("o", "", "a:b"),
        ScheduleSpec("s", "", "a:b"),
        ExecutorSpec("e", "", "a:b"),
    ):
        with pytest.raises(AttributeError):
            spec.name = "other"


def test_an_observer_that_is_forgotten_hears_nothing_and_leaves_its_name():
    host, heard = PluginHost(), []
    for times in (1, 2):  # the same name again
        observer = host.observe(Hooks(formalbench_run_started=lambda run: heard.append(run)), "one")
        host.notify("formalbench_run_started", run=1)
        host.forget(observer)
        host.notify("formalbench_run_started", run=1)
        assert len(heard) == times
