"""The plugin host: what it loads, what it refuses, and what it survives."""

from importlib import metadata

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import (
    ModelSpec,
    ObjectiveSpec,
    Splits,
    TaskSpec,
)
from formalbench.host import PluginHost
from formalbench.host.registry import check_spec


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


def test_what_is_built_in_is_announced_right():
    entries = [entry for one in PluginHost.load().registries.values() for entry in one.every()]
    assert len(entries) > 250
    for entry in entries:
        check_spec(entry.spec)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda: ModelSpec("m", True, "", "a:b"), "bad version=true: must be a whole number"),
        (lambda: ModelSpec("m", -1, "", "a:b"), "bad version=-1: must be at least 0"),
        (lambda: ModelSpec("m", 1, "", "a b"), "bad factory"),
        (lambda: ModelSpec("m", 1, "", "a:b", kind="x"), "bad kind=x: must be 'learned' or"),
        (lambda: TaskSpec("t", 1, 3, "a:b"), "bad summary=3: must be text"),
        (lambda: TaskSpec("t", 1, "", "a:b", ()), "bad objectives: must have"),
        (lambda: TaskSpec("t", 1, "", "a:b", splits=Splits((5, 1))), "splits: 5 to 1"),
        (lambda: TaskSpec("t", 1, "", "a:b", splits=Splits((1, 5), step=0)), "splits: step 0"),
    ],
)
def test_a_spec_that_cannot_be_is_refused(broken, said):
    with pytest.raises(ValueError, match=said):
        check_spec(broken())


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
        (
            Hooks(
                formalbench_objectives=lambda: [ObjectiveSpec("o", "", "a:b", metrics="accuracy")]
            ),
            "bad metrics=accuracy: must be a list",
        ),
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
    assert "'parity' is defined twice" in line
    assert "formalbench-tasks (formalbench " in line
    assert "zebra (zebra-package 2.3)" in line


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
    done = cli("--help")
    assert done.code == 0
    assert done.err.splitlines() == [
        "plugin zebra (zebra-package 2.3) added no commands: ZeroDivisionError: division by zero"
    ]


SPECS = {
    "tasks": 'TaskSpec("t", 1, "", "a:b")',
    "models": 'ModelSpec("m", 1, "", "a:b")',
    "suites": 'SuiteSpec("s", 1, "", ("t",))',
    "protocols": 'ProtocolSpec("tiny", "", Path("tiny.yaml").resolve())',
    "objectives": 'ObjectiveSpec("o", "", "a:b")',
    "metrics": 'MetricSpec("me", 1, "", "a:b", ("o",))',
    "probes": 'ProbeSpec("p", "", "a:b")',
    "optimisers": 'OptimiserSpec("op", "", "a:b")',
    "schedules": 'ScheduleSpec("sc", "", "a:b")',
    "samplers": 'SamplerSpec("sa", "", "a:b")',
    "penalties": 'PenaltySpec("pe", "", "a:b")',
    "executors": 'ExecutorSpec("ex", "", "a:b")',
    "trackers": 'TrackerSpec("tr", "", "a:b")',
    "tables": 'TableSpec("ta", "", Path("ta.yaml"))',
    "reproductions": 'ReproductionSpec("re", "", "", "a:b")',
}


def test_specs_of_all_kinds(write, tiny, cli):
    names = ", ".join(spec.partition("(")[0] for spec in SPECS.values())
    hooks = (
        f"@hookimpl\ndef formalbench_{kind}():\n    yield {spec}\n" for kind, spec in SPECS.items()
    )
    head = f"from pathlib import Path\nfrom formalbench import {names}, hookimpl\n"
    path = write("mine.py", head + "".join(hooks))
    (row,) = [r for r in cli("plugins", "--json", "--plugin", path).data if r["name"] == "mine.py"]
    assert row["provides"] == dict.fromkeys(SPECS, 1)
    assert row["error"] == ""
    assert len(row["sha256"]) == 64
    for kind, spec in SPECS.items():
        rows = cli("list", kind, "--json", "--plugin", path).data
        assert spec.split('"')[1] in [row["name"] for row in rows]


# Observers.


def test_an_observer_that_is_forgotten_hears_nothing_and_leaves_its_name():
    host, heard = PluginHost(), []
    for times in (1, 2):  # the same name again
        observer = host.observe(Hooks(formalbench_run_started=lambda run: heard.append(run)), "one")
        host.notify("formalbench_run_started", run=1)
        host.forget(observer)
        host.notify("formalbench_run_started", run=1)
        assert len(heard) == times
