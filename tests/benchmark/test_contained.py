"""A plugin whose import ends the process, or hangs, costs its command one message."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from formalbench.host import loader

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
        ("os._exit(0)", "SystemExit: os._exit(0)"),
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


@pytest.mark.parametrize("code", ["time.sleep(3600)", "while True: pass"])
def test_an_import_that_hangs_is_ended_where_it_is(cli, plugin, monkeypatch, code):
    monkeypatch.setattr(loader, "LIMIT", 0.2)
    done = cli("list", "suites", "--plugin", plugin(code))
    assert (done.code, done.out) == (3, "")
    assert code in done.err
    assert done.err.splitlines()[-1] == "TimeoutError: it is not loaded after 0.2 s"


def test_an_interrupt_is_an_interrupt(refused, plugin):
    assert refused("list", "suites", "--plugin", plugin("raise KeyboardInterrupt"), code=130)


def test_a_plugin_may_fork(cli, plugin):
    code = "if (child := os.fork()) == 0: os._exit(7)\nassert os.waitpid(child, 0)[1] == 7 << 8"
    assert cli("list", "suites", "--plugin", plugin(code)).code == 0


def test_standard_files_that_an_import_closes_are_open_again(spawn, plugin):
    code = "os.closerange(0, 3)"
    done = spawn("-m", "formalbench", "list", "suites", "--json", "--plugin", plugin(code))
    out, err = done.communicate(timeout=120)
    assert (done.returncode, err) == (0, "")
    assert "default" in out


LEAVING = """
import sys
from importlib import import_module
main = import_module("formalbench.cli.main")
main.PATIENCE = {}
main.leave(main.run_command_line(sys.argv[1:]))
"""


@pytest.mark.parametrize(("seconds", "patience", "ended"), [(3600, 0.2, True), (0.5, 60, False)])
def test_a_thread_that_an_import_leaves_is_waited_for_a_while(
    spawn, plugin, seconds, patience, ended
):
    path = plugin(
        f"import threading\nthreading.Thread(target=time.sleep, args=({seconds},)).start()"
    )
    done = spawn("-c", LEAVING.format(patience), "list", "suites", "--plugin", path)
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0
    assert "default" in out
    assert err == (
        "formalbench: a plugin's thread is still running and is now stopped\n" if ended else ""
    )


def test_everything_is_put_back():
    end, handler = os._exit, signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 1000, 7)
    try:
        with loader.contained():
            assert os._exit is not end
            assert signal.getitimer(signal.ITIMER_REAL)[0] <= loader.LIMIT
        left, every = signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert os._exit is end
    assert signal.getsignal(signal.SIGALRM) is handler
    assert every == 7
    assert loader.LIMIT < left <= 1000


def test_outside_the_main_thread_nothing_is_timed():
    def load():
        with loader.contained():
            return time.monotonic() > 0

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(load).result()


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
