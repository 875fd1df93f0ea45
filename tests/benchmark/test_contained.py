"""A plugin that raises anything when it is imported costs its command one message."""

import pytest

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
