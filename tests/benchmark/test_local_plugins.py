"""Local plugins: files, folders and packages that the user names, good and broken."""

import os
import sys
from pathlib import Path

import pytest
from formalbench.host import PluginHost
from formalbench.host.plugin import content_hash
from formalbench.running.plan import RunRequest, key_of, make_plan

LANGUAGE = '''
import numpy as np
from formalbench import Language, TaskSpec, hookimpl


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


@pytest.fixture
def language(write):
    """Write a Python plugin with a task of this name."""
    return lambda file, name: write(file, LANGUAGE.replace("NAME", name))


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


def test_tools_and_results_do_not_change_a_package(write, language, refused):
    """Neither hidden files nor results, which are refused in its folder."""
    language("pack/__init__.py", "packed")
    before = content_hash(Path("pack"))
    write("pack/.git/HEAD", "main\n")
    write("pack/__pycache__/a.pyc", "")
    assert content_hash(Path("pack")) == before
    words = ["--model", "lstm", "--task", "parity", "--plugin", "pack", "--results", "pack/runs"]
    assert "it is inside the plugin pack" in refused("run", *words)


def test_a_class_of_a_folder_with_several_files(write, refused):
    for name in ("a.py", "b.py"):
        write(f"many/{name}", "x = 1\n")
    assert refused("check", "many:Mine").endswith("name one, as in a.py:Mine, b.py:Mine")


def test_a_package_with_a_file_of_another_name_is_another_one(write):
    before = content_hash(write("pack/a.py", "x = 1\n").parent)
    Path("pack/a.py").rename("pack/b.py")
    assert content_hash(Path("pack")) != before


def test_a_missing_plugin_of_the_environment_is_told_with_the_variable(refused, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_PLUGINS", "nowhere.py")
    line = refused("list", "tasks")
    assert line == "formalbench: FORMALBENCH_PLUGINS nowhere.py: no such file or folder"
    Path("empty").mkdir()
    monkeypatch.setenv("FORMALBENCH_PLUGINS", "empty")
    assert "FORMALBENCH_PLUGINS empty: the folder holds no" in refused("list", "tasks")


@pytest.mark.parametrize("name", ["notes.txt", "model", "model.pyc"])
def test_other_files_are_no_plugins(refused, write, name):
    write(name, "")
    assert "a plugin is a .py or .yaml file" in refused("plugins", "--plugin", name)


GRAMMARS = """
    from formalbench import TaskSpec, hookimpl
    from formalbench_tasks.automata.regex import RegexDefinition
    from formalbench_tasks.automata.regular_language import CustomLanguage

    @hookimpl
    def formalbench_read_file(path):
        if path.suffix == ".grammar":
            regex = RegexDefinition(("a", "b"), path.read_text().strip() + "*")
            return TaskSpec(path.stem, 1, "a grammar", lambda: CustomLanguage(regex))
"""


def test_a_file_of_any_kind_that_a_plugin_reads(write, cli, refused):
    reader, grammar = write("reader.py", GRAMMARS), write("all-b.grammar", "b\n")
    done = cli("label", "all-b", "--plugin", reader, "--plugin", grammar, stdin="bb\nab\n")
    assert (done.code, done.out) == (0, "1\n0\n")
    rows = cli("plugins", "--json", "--plugin", reader, "--plugin", grammar).data
    (row,) = [row for row in rows if row["name"] == "all-b.grammar"]
    assert row["provides"] == {"tasks": 1}
    other = write("all-b.gramar", "b\n")
    line = refused("plugins", "--plugin", reader, "--plugin", other)
    assert "none reads .gramar" in line
    # Its runs are others when its reader changes, since it draws their strings.
    keys = set()
    for text in (GRAMMARS, GRAMMARS + "    # changed\n"):
        host = PluginHost.load([write("reader.py", text), grammar])
        keys.add(key_of(make_plan(host, RunRequest(("lstm",), ("all-b",))).runs[0]))
    assert len(keys) == 2
    # What it makes of the file is checked as any other task.
    bad = write("All B.grammar", "b\n")
    assert "bad name 'All B'" in refused("plugins", "--plugin", reader, "--plugin", bad)


def test_plugin_needs_a_path(refused):
    assert refused("list", "tasks", "--plugin") == "formalbench: --plugin needs a path"


@pytest.mark.slow
def test_a_name_taken_by_a_plugin_that_is_always_loaded_stops_only_who_needs_it(
    language, cli, refused, monkeypatch
):
    path = language("mine.py", "tomita-7")
    monkeypatch.setenv("FORMALBENCH_PLUGINS", str(path))
    for command in (("plugins",), ("list", "tasks"), ("show", "task", "first"), ("leaderboard",)):
        assert cli(*command).code == 0, command
    assert "mine.py" in cli("plugins").out
    assert "'tomita-7' is defined twice" in cli("list", "models").err
    for command in (("show", "task", "tomita-7"), ("check", "tomita-7"), ("check", path)):
        assert "'tomita-7' is defined twice" in refused(*command)


def test_a_local_plugin_may_not_take_a_name(language, refused):
    path = language("mine.py", "parity")
    line = refused("list", "models", "--plugin", path)
    assert "task 'parity' is defined twice" in line
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


def only_own_frames(err, path):
    files = [line.split('"')[1] for line in err.splitlines() if line.lstrip().startswith("File ")]
    assert files
    assert set(files) == {str(path)}
    assert "Traceback" not in err


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
        "from formalbench import hookimpl, read_yaml\n@hookimpl\n"
        "def formalbench_read_file(path):\n    return read_yaml(path)['grammar']['start']\n",
    )
    data = write("mine.yaml", "grammar: {}\n")
    done = cli("list", "tasks", "--plugin", path, "--plugin", data)
    assert done.code == 3
    only_own_frames(done.err, path)


def test_a_failed_import_leaves_no_module_behind(write, cli):
    path = write("mine.py", "1 / 0\n")
    before = set(sys.modules)
    assert cli("plugins", "--plugin", path).code == 3
    assert not [name for name in set(sys.modules) - before if "formalbench_local" in name]


# What a plugin does to the process that imports it.


HOOK = """
import os, signal, sys, time
from formalbench import hookimpl

{}

@hookimpl
def formalbench_suites():
    return []
"""


@pytest.fixture
def plugin(write):
    return lambda code: write("bad.py", HOOK.format(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sys.exit()", "SystemExit: "),
        ("raise BaseException('no')", "RuntimeError: BaseException: no"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ],
)
@pytest.mark.parametrize("environment", [False, True])
def test_an_import_that_ends_the_process(cli, plugin, monkeypatch, code, said, environment):
    path = plugin(code)
    named = () if environment else ("--plugin", path)
    if environment:
        monkeypatch.setenv("FORMALBENCH_PLUGINS", str(path))
    done = cli("list", "suites", *named)
    assert (done.code, done.out) == (3, "")
    first, *frames, last = done.err.splitlines()
    assert first == f"formalbench: plugin {path} is broken"
    assert frames[0].strip() == f'File "{path}", line 5, in <module>'
    assert last == said


def test_an_interrupt_is_an_interrupt(refused, plugin):
    assert refused("list", "suites", "--plugin", plugin("raise KeyboardInterrupt"), code=130)


def test_a_plugin_may_fork(cli, plugin):
    code = "if (child := os.fork()) == 0: os._exit(7)\nassert os.waitpid(child, 0)[1] == 7 << 8"
    assert cli("list", "suites", "--plugin", plugin(code)).code == 0


@pytest.mark.apart
def test_a_name_is_checked_where_no_plugin_of_the_line_can_end_the_command(cli, write, monkeypatch):
    """Of several that are named, one crashes the interpreter: only the other process is lost."""
    bad = write("bad.py", HOOK.format("os.kill(os.getpid(), signal.SIGKILL)"))
    done = cli("check", "parity", "--plugin", bad)
    assert done.code == 1, done.err
    assert [line.strip() for line in done.lines] == [
        "parity",
        "FAIL  can be loaded",
        "ended the process that loaded it",
        "0 checks passed, 1 failed",
    ]
    monkeypatch.setenv("FORMALBENCH_PLUGINS", str(bad))
    assert cli("check", "parity").out == done.out
