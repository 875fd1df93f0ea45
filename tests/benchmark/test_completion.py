"""What a shell completes: the names of models, tasks, protocols and suites, without torch."""

import os
import subprocess
import sys

import pytest

BASH, ZSH, FISH = "bash", "zsh", "fish"


def asking(shell, line):
    """Return the environment in which a shell's own script asks what may stand at a line's end."""
    words = len(line.split(" "))
    asked = {
        BASH: {"COMP_WORDS": line, "COMP_CWORD": str(words - 1)},
        ZSH: {"_TYPER_COMPLETE_ARGS": line},
        FISH: {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    return {**asked[shell], "_FORMALBENCH_COMPLETE": f"complete_{shell}"}


@pytest.fixture
def complete(monkeypatch, capsys):
    """Return what a shell is offered."""
    from formalbench.cli.main import run_command_line

    def complete(shell, line):
        with monkeypatch.context() as patch:
            for name, value in asking(shell, f"formalbench {line}").items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit, match="0"):
                run_command_line([])
        said = capsys.readouterr()
        assert said.err == ""
        return said.out.split("\n")[:-1] if said.out != "\n" else []

    return complete


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("run --model regulargpt-", ["regulargpt-c3"]),
        ("run --model rnn,regulargpt-", ["rnn,regulargpt-c3"]),
        ("run --model lstm[width=16,ls", []),  # this comma parts options
        ("run --model lstm --task even-pairs,tomita-7", ["even-pairs,tomita-7"]),
        ("run --model lstm --task yao", []),
        ("run --model lstm --task dyck-", []),  # a pattern, whose numbers no shell knows
        ("run --model lstm --suite state", ["state-tracking"]),
        ("run --model lstm --protocol quic", ["quick"]),
        ("run --model lstm --tracker mlf", ["mlflow"]),
        ("run --model lstm --executor ser", ["serial"]),
        ("show protocol stan", ["standard", "standard-long"]),
        ("show model exact-par", ["exact-parity"]),
        ("show task exact-par", []),
        ("verify exact-par", ["exact-parity"]),
        ("check tomita-7", ["tomita-7"]),
        ("sample tomita-7", ["tomita-7"]),
        ("label tomita-7", ["tomita-7"]),
        ("leaderboard --suite state", ["state-tracking"]),
    ],
)
def test_names_are_completed(complete, line, offered):
    assert complete(BASH, line) == offered


def test_models_of_a_plugin_that_is_always_loaded_are_completed(complete, mine, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_PLUGINS", str(mine("of-my-own")))
    assert complete(BASH, "run --model of-my") == ["of-my-own"]


def test_completing_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from formalbench.cli.main import main\n"
        "try:\n    main()\n"
        "finally:\n    print(*({'torch', 'numpy', 'pandas'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **asking(BASH, "formalbench run --model lstm --task tomita-7")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "tomita-7\n\n"
