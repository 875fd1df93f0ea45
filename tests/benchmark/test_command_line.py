"""The command line as a shell sees it: its help, its streams, what a shell can complete."""

import os
import subprocess
import sys

import pytest

FORMALBENCH = (sys.executable, "-m", "formalbench")
RUN = ("run", "--model", "bag", "--task", "first", "--protocol", "tiny", "--device", "cpu")


def shell(line, **environment):
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "FORMALBENCH": " ".join(FORMALBENCH), **environment},
    )


@pytest.mark.parametrize(
    "command", [(), ("run",), ("list",), ("leaderboard",), ("leaderboard", "check")]
)
def test_help_has_a_short_name(cli, command):
    short, long = cli(*command, "-h"), cli(*command, "--help")
    assert (short.code, short.out) == (0, long.out)
    assert "Usage: formalbench" in short.out


@pytest.mark.parametrize("group", [(), ("leaderboard", "weights"), ("corpus",)])
def test_a_group_of_commands_alone_shows_its_help(cli, group):
    alone, asked = cli(*group), cli(*group, "--help")
    assert (alone.code, alone.out, alone.err) == (0, asked.out, "")
    assert "Commands:" in alone.lines


def test_a_shell_learns_to_complete(tmp_path):
    told = shell(
        "$FORMALBENCH --install-completion; exit $?", HOME=str(tmp_path), SHELL="/bin/bash"
    )
    assert told.returncode == 0, told.stderr
    assert ".bash_completions/formalbench.sh" in (tmp_path / ".bashrc").read_text()
    asked = {"COMP_WORDS": "formalbench leader", "COMP_CWORD": "1"}
    done = shell("$FORMALBENCH", _FORMALBENCH_COMPLETE="complete_bash", **asked)
    assert done.stdout.split() == ["leaderboard"]


def test_a_list_without_a_kind_says_what_there_is_to_list(cli):
    done = cli("list")
    assert (done.code, done.err) == (0, "")
    counts = cli("list", "--json").data
    assert counts["objectives"] == len(cli("list", "objectives", "--json").data)
    for kind, count in counts.items():
        (line,) = [line for line in done.lines if line.split()[:1] == [kind]]
        assert line.split() == [kind, str(count), "formalbench", "list", kind]


@pytest.fixture
def tiny_run(tiny, odd_models, results, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_PLUGINS", f"{tiny}:{odd_models}")
    return (*RUN, "--seeds", "1", "--results", str(results))


@pytest.mark.slow
def test_a_run_without_standard_output_is_a_run(tiny_run, results):
    done = shell(f"$FORMALBENCH {' '.join(tiny_run)} >&-")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr
    assert len(list(results.rglob("*.json"))) == 1


@pytest.mark.slow
def test_a_board_whose_reader_left_is_said_by_the_exit_code(tiny_run, results):
    """Nobody is blamed for it; the records are there."""
    done = shell(f"$FORMALBENCH {' '.join(tiny_run)} | head -n 0; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 1
    assert "dropped" not in done.stderr
    assert "Traceback" not in done.stderr
    assert len(list(results.rglob("*.json"))) == 1


def test_a_quiet_run_says_only_what_fails(cli, tiny_run, results):
    done = cli(*tiny_run, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert len(list(results.rglob("*.json"))) == 1
    failing = ["stumbling" if word == "bag" else word for word in tiny_run]
    done = cli(*failing, "-q")
    assert (done.code, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert line.startswith("formalbench: stumbling on first:classify, seed 0, rate 0.01: ")


def test_threads_sleep_while_they_wait(python, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    code = (
        "from formalbench.cli.main import run_command_line\n"
        "run_command_line(['list'])\n"
        "import os; print(os.environ['OMP_WAIT_POLICY'])"
    )
    assert python("-c", code).splitlines()[-1] == "passive"
    assert python("-c", code, OMP_WAIT_POLICY="active").splitlines()[-1] == "active"
