"""The plugin host: what it loads, what it refuses, and what it survives."""

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import ModelSpec, Option, ProtocolSpec, SuiteSpec, TaskSpec
from formalbench.host import LocalPlugin, PluginHost

LANGUAGE = '''
import numpy as np
from formalbench import hookimpl
from formalbench.contracts.language import Language
from formalbench.contracts.specs import Option, TaskSpec


class Last(Language):
    """Class 1 iff the last symbol is a b."""

    alphabet = ("a", "b")

    def sample(self, stream, length, count):
        return stream.integers(2, (count, length))

    def classify(self, strings):
        return strings[:, -1] if strings.shape[1] else np.zeros(len(strings), dtype=np.int64)

    def oracle(self, string):
        return string[-1] if len(string) else 0


@hookimpl
def formalbench_tasks():
    yield TaskSpec("NAME", 1, "ends in b", Last)
'''

REGEX = "name: NAME\nalphabet: ab\nregex: a*\n"


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
        monkeypatch.setattr(metadata, "entry_points", lambda **query: [*real(**query), *extra])

    return install


@pytest.fixture
def language(write):
    """Write a Python plugin with a task of this name."""
    return lambda file, name: write(file, LANGUAGE.replace("NAME", name))


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
    install(zebra=Hooks(formalbench_tasks=tasks, formalbench_read_yaml=lambda: heard.append(1)))
    lines = []
    host = PluginHost.load(warn=lines.append)
    assert len(lines) == 1
    with pytest.raises(RequestError, match="unknown task 'fine'"):
        host.tasks.get("fine")


def test_a_plugin_with_a_wrong_hook_is_not_called_for_others(install, write, cli):
    def read_yaml(path, data):
        raise AssertionError("called, though the plugin was skipped")

    # the hooks are looked at in alphabetical order, so the good one is registered first
    install(zebra=Hooks(formalbench_read_yaml=read_yaml, formalbench_tasks=lambda surprise: []))
    path = write("x.yaml", REGEX.replace("NAME", "mine"))
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
    host.tasks.add(task("eager", lambda: built.append(1) or host.task("parity").language), plugin)
    host.tasks.add(task("lazy", "formalbench_tasks.bits:First"), plugin)
    host.tasks.add(task("nowhere", "formalbench_tasks.nowhere:Nothing"), plugin)
    host.tasks.add(task("nothing", "formalbench_tasks.bits:Nothing"), plugin)
    assert not built
    assert host.task("eager").language.oracle([1]) == 1
    assert built == [1]
    assert type(host.task("lazy").language).__name__ == "First"
    for name in ("nowhere", "nothing"):
        with pytest.raises(BrokenPluginError):
            host.task(name)


def test_options_reach_the_factory(host):
    got = []

    def factory(**options):
        got.append(options)
        return host.task("parity").language

    options = {"a": Option(1, ""), "b": Option("x", "")}
    host.tasks.add(task("mine-{k}", factory, options=options), host.plugins[0])
    host.task("mine-7", {"a": 5})
    assert got == [{"k": 7, "a": 5, "b": "x"}]


def test_patterns(host):
    got = []

    def factory(**fields):
        got.append(fields)
        return host.task("parity").language

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
        ("protocols", "zzzzzz", "known: quick, standard"),
    ],
)
def test_an_unknown_name_hears_of_the_nearest(host, kind, name, hint):
    with pytest.raises(RequestError) as caught:
        getattr(host, kind).get(name)
    assert hint in str(caught.value)


def test_listings_count_digits_as_numbers(host):
    names = [entry.spec.name for entry in host.tasks.all()]
    assert names.index("d2") < names.index("d12")


def test_an_objective_the_task_does_not_offer(host):
    with pytest.raises(RequestError, match="unknown objective of modular-arithmetic 'tag'"):
        host.task("modular-arithmetic:tag")


# Local plugins.


def test_a_local_file(language, cli):
    path = language("mine.py", "mine")
    for arguments in (["--plugin", path, "label", "mine"], ["label", "mine", f"--plugin={path}"]):
        done = cli(*arguments, stdin="ab\nba\n")
        assert (done.code, done.out, done.err) == (0, "1\n0\n", "")
    assert cli("label", "mine").code == 2  # gone again


def test_nothing_is_picked_up_from_the_working_directory(language, cli, tmp_path):
    language("mine.py", "mine")
    assert Path.cwd() == tmp_path
    assert "mine.py" not in cli("plugins").out


def test_a_folder_stands_for_the_files_in_it(language, write, cli):
    language("folder/one.py", "one")
    language("folder/test_one.py", "not-loaded")
    write("folder/two.yaml", REGEX.replace("NAME", "two"))
    write("folder/three.yml", "name: three\ntasks: [one, two]\n")
    write("folder/notes.txt", "nothing")
    done = cli("list", "tasks", "--json", "--plugin", "folder")
    names = {row["name"] for row in done.data}
    assert {"one", "two"} <= names
    assert "not-loaded" not in names
    assert "three" in {
        row["name"] for row in cli("list", "suites", "--json", "--plugin", "folder").data
    }


def test_a_package_may_import_its_own_modules(write, language, cli):
    language("pack/deep.py", "unused")
    write(
        "pack/__init__.py",
        """
        from formalbench import hookimpl
        from formalbench.contracts.specs import TaskSpec
        from .deep import Last

        @hookimpl
        def formalbench_tasks():
            yield TaskSpec("packed", 1, "", Last)
        """,
    )
    done = cli("label", "packed", "--plugin", "pack", stdin="ab\n")
    assert (done.code, done.out, done.err) == (0, "1\n", "")


def test_the_environment_names_plugins_that_are_always_loaded(language, cli, monkeypatch):
    paths = [str(language(f"{name}.py", name)) for name in ("one", "two")]
    monkeypatch.setenv("FORMALBENCH_PLUGINS", os.pathsep.join([*paths, ""]))
    for name in ("one", "two"):
        assert cli("label", name, stdin="b\n").out == "1\n"
    # named twice, loaded once
    assert cli("label", "one", "--plugin", paths[0], stdin="b\n").code == 0


def test_two_files_of_one_name_do_not_meet(language, write, cli):
    one, two = language("a/model.py", "one"), language("b/model.py", "two")
    done = cli("--plugin", one, "list", "tasks", "--json", "--plugin", two)
    assert {"one", "two"} <= {row["name"] for row in done.data}
    write(
        "a/model.py",
        LANGUAGE.replace("NAME", "one").replace("strings[:, -1]", "1 - strings[:, -1]"),
    )
    assert cli("label", "one", "--plugin", one, stdin="b\n").out == "0\n"  # not the old code


def test_no_bytecode_is_written_beside_a_local_file(language, tmp_path, python):
    path = language("folder/mine.py", "mine")
    command = ("sample", "mine", "--length", 2, "--plugin", path)
    python("-m", "formalbench", *command, PYTHONDONTWRITEBYTECODE="")
    assert [p.name for p in path.parent.iterdir()] == ["mine.py"]


def test_no_bytecode_is_written_into_a_local_package(write, language, python):
    language("pack/deep.py", "deep")
    write("pack/__init__.py", "from .deep import formalbench_tasks\n")
    command = ("sample", "deep", "--length", 2, "--plugin", "pack")
    python("-m", "formalbench", *command, PYTHONDONTWRITEBYTECODE="")
    assert sorted(p.name for p in Path("pack").iterdir()) == ["__init__.py", "deep.py"]


def test_dataclasses_work_in_a_local_plugin(write, cli):
    write(
        "mine.py",
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\n"
        "from typing import ClassVar\n"
        "@dataclass\nclass Settings:\n    kind: ClassVar[str] = 'x'\n"
        "    sizes: list[int] = field(default_factory=list)\n"
        "@dataclass(frozen=True, slots=True)\nclass Other:\n    inner: Settings\n"
        + LANGUAGE.replace("NAME", "mine"),
    )
    assert cli("label", "mine", "--plugin", "mine.py", stdin="b\n").out == "1\n"


def test_a_changed_plugin_is_refused(language):
    path = language("mine.py", "mine")
    with pytest.raises(RequestError, match="changed while it was in use"):
        PluginHost().load_local(LocalPlugin(path, "0" * 64))


def test_a_missing_plugin_is_refused(refused):
    assert "no such file" in refused("list", "tasks", "--plugin", "nowhere.py")


@pytest.mark.parametrize("name", ["notes.txt", "model", "model.pyc"])
def test_other_files_are_no_plugins(refused, write, name):
    write(name, "")
    assert "a plugin is a .py or .yaml file" in refused("plugins", "--plugin", name)


def test_an_empty_folder_is_no_plugin(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "no .py or .yaml file" in refused("plugins", "--plugin", "empty")


def test_plugin_needs_a_path(refused):
    assert refused("list", "tasks", "--plugin") == "formalbench: --plugin needs a path"


def test_a_local_plugin_may_not_take_a_name(language, refused):
    path = language("mine.py", "parity")
    line = refused("list", "models", "--plugin", path)
    assert "task 'parity' is announced twice" in line
    assert "formalbench-tasks (formalbench" in line
    assert str(path) in line
    one, two = language("one.py", "same"), language("two.py", "same")
    line = refused("list", "models", "--plugin", one, "--plugin", two)
    assert str(one) in line
    assert str(two) in line


def test_a_syntax_error_is_one_line_with_its_place(write, refused):
    path = write("mine.py", "import os\n\ndef broken(:\n    pass\n")
    line = refused("list", "tasks", "--plugin", path, code=3)
    assert f"{path}:3: SyntaxError: " in line


def test_a_syntax_error_in_a_module_of_a_package(write, refused):
    write("pack/__init__.py", "from . import deep\n")
    deep = write("pack/deep.py", "\nx = = 1\n")
    assert f"{deep}:2: SyntaxError: " in refused("plugins", "--plugin", "pack", code=3)


@pytest.mark.parametrize("contents", ["x = 1\n", "", "def formalbench_tasks():\n    return []\n"])
def test_a_file_without_a_hook_is_broken(write, refused, contents):
    path = write("mine.py", contents)
    line = refused("plugins", "--plugin", path, code=3)
    assert str(path) in line
    assert "hookimpl" in line


@pytest.mark.parametrize(
    ("hook", "said"),
    [("taks", "formalbench_taks"), ("tasks(surprise)", "surprise")],
)
def test_a_misspelt_hook_is_an_error(write, cli, hook, said):
    name, _, argument = hook.partition("(")
    path = write(
        "mine.py",
        f"from formalbench import hookimpl\n@hookimpl\ndef formalbench_{name}"
        f"({argument or ')'}:\n    return []\n",
    )
    done = cli("plugins", "--plugin", path)
    assert done.code == 3
    assert said in done.err
    assert "Traceback" not in done.err


def only_own_frames(err, path):
    files = [line.split('"')[1] for line in err.splitlines() if line.lstrip().startswith("File ")]
    assert files
    assert set(files) == {str(path)}
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "raising", ["1 / 0", "helper()", "import nowhere_at_all", "sys.exit('no')"]
)
def test_an_exception_while_importing_shows_its_own_frames_only(write, cli, raising):
    path = write("mine.py", f"import sys\ndef helper():\n    return [][3]\n{raising}\n")
    done = cli("list", "tasks", "--plugin", path)
    assert done.code == 3
    assert done.out == ""
    only_own_frames(done.err, path)
    assert f"plugin {path} is broken" in done.err.splitlines()[0]
    assert "line 4" in done.err


@pytest.mark.parametrize("command", ["list tasks", "label parity"])
def test_an_exception_in_a_hook_shows_its_own_frames_only(write, cli, command):
    path = write(
        "mine.py",
        "from formalbench import hookimpl\n@hookimpl\ndef formalbench_tasks():\n    yield 1 / 0\n",
    )
    done = cli(*command.split(), "--plugin", path)
    assert done.code == 3
    only_own_frames(done.err, path)
    assert done.err.splitlines()[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("method", ["__init__", "classify", "sample"])
@pytest.mark.parametrize("command", [("label", "mine"), ("sample", "mine", "--length", 3)])
def test_an_exception_in_a_language_shows_its_own_frames_only(
    language, write, cli, method, command
):
    path = language("mine.py", "mine")
    arguments = {"__init__": "self", "classify": "self, strings", "sample": "self, s, n, c"}[method]
    text = path.read_text().replace(
        "    alphabet", f"    def {method}({arguments}):\n        return 1 / 0\n\n    alphabet"
    )
    if method != "__init__":
        head, _, tail = text.partition(f"def {method}")
        text = head + f"def {method}" + tail.replace(f"    def {method}", "    def unused", 1)
    write("mine.py", text)
    done = cli(*command, "--plugin", path, stdin="ab\n")
    if (command[0], method) == ("label", "sample"):
        assert done.code == 0  # never called
        return
    assert done.code == 3
    only_own_frames(done.err, path)


def test_an_exception_while_reading_yaml_shows_its_own_frames_only(write, cli):
    path = write(
        "mine.py",
        "from formalbench import hookimpl\n@hookimpl\ndef formalbench_read_yaml(path, data):\n"
        "    return data['grammar']['start']\n",
    )
    data = write("mine.yaml", "grammar: {}\n")
    done = cli("list", "tasks", "--plugin", path, "--plugin", data)
    assert done.code == 3
    only_own_frames(done.err, path)


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
    only_own_frames(done.err, path)
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
        from formalbench import hookimpl
        from formalbench.contracts.specs import ModelSpec, ProtocolSpec, SuiteSpec, TaskSpec

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
        """,
    )
    (row,) = [r for r in cli("plugins", "--json", "--plugin", path).data if r["name"] == "mine.py"]
    assert row["provides"] == {"tasks": 1, "models": 1, "suites": 1, "protocols": 1}
    assert row["error"] == ""
    assert len(row["sha256"]) == 64
    for kind, name in (("tasks", "t"), ("models", "m"), ("suites", "s"), ("protocols", "tiny")):
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
    ):
        with pytest.raises(AttributeError):
            spec.name = "other"


def test_a_failed_import_leaves_no_module_behind(write, cli):
    path = write("mine.py", "1 / 0\n")
    before = set(sys.modules)
    assert cli("plugins", "--plugin", path).code == 3
    assert not [name for name in set(sys.modules) - before if "formalbench_local" in name]
