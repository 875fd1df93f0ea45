"""The wheel, installed into a fresh environment: every command works outside a clone.

What needs a clone says so in a line.
"""

import email
import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

SHORT = (
    *("--protocol", "quick", "--seeds", "1", "--device", "cpu", "--jobs", "1"),
    *("--set", "protocol.steps=20", "--set", "protocol.decay.steps=20"),
    *("--set", "protocol.test.strings=4", "--set", "protocol.test.lengths=2"),
    *("--set", "protocol.validation.strings=4", "--set", "protocol.validation.lengths=2"),
)

CORPUS = """
name: my-corpus
corpus:
  train: [{file: text.txt}]
  validation: [{file: text.txt}]
  test: [{file: text.txt}]
lengths: {train: 8, test: [8]}
windows: 2
"""

WORKS = [  # what a command is given, and what it must say
    ("--version", f"formalbench {PROJECT['project']['version']}"),
    ("--help", "leaderboard"),
    ("plugins", "formalbench-leaderboard"),
    ("list tasks", "tomita-3"),
    ("list trackers", "tensorboard"),
    ("show model regulargpt", "chunk"),
    ("show task parity --json", '"chance"'),
    ("show suite chomsky", "reverse-string"),
    ("show protocol standard", "20000"),
    ("sample tomita-3 --length 6 --count 2", '"target"'),
    ("show task tiny:causal-lm", "a few pages"),
    ("label parity strings.txt", "0"),
    ("check first", "0 failed"),
    ("new task my-language", "my_language.py"),
    ("new model my-network", "my_network.py"),
    ("check my_network.py:MyNetwork", "0 failed"),
    (f"run --model lstm --task parity {' '.join(SHORT)} --results runs", "lstm"),
    ("verify exact-parity --exhaustive 4 --lengths 5 --count 2 --results runs", "exact-parity"),
    ("leaderboard --suite chomsky", "rnn"),
    ("leaderboard --results runs --all", "exact-parity"),
    ("leaderboard --results runs --format markdown", "exact-parity"),
    ("leaderboard --format latex", r"\begin{tabular}"),
    ("leaderboard --format csv", "gru"),
    ("leaderboard --format html --output page", "page/index.html"),
    ("leaderboard audit runs --device cpu", "ok"),
    ("reproduce", "chi-table1"),
    ("reproduce chi-table2 --no-training --output made --results runs", "not run"),
    ("corpus complete corpus.yaml", "corpus.yaml"),
]

NEEDS_A_CLONE = [
    "leaderboard check",
    "leaderboard publish --results runs",
    "leaderboard audit",
    "reproduce chi-table2 --no-training",
]

DRIVER = """
import contextlib, io, json, shlex, sys
from formalbench.cli.main import run_command_line

told = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command_line(shlex.split(command))
    told.append((code, out.getvalue(), err.getvalue()))
json.dump(told, sys.stdout)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture
def ask(wheel, tmp_path, fresh_environment):
    """Run a program of an environment that has the wheel, in a folder that is no clone."""
    scripts = fresh_environment(tmp_path / "environment", wheel)
    home = tmp_path / "home"
    home.mkdir()
    (home / "corpus.yaml").write_text(CORPUS)
    (home / "text.txt").write_text("To be, or not to be, that is the question.\n" * 4)
    (home / "strings.txt").write_text("0110\n")
    (home / "driver.py").write_text(DRIVER)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "FORMALBENCH_RESULTS": str(home / "results"),
        "FORMALBENCH_CACHE": str(home / "cache"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
    }

    def ask(program, *arguments, **more):
        done = subprocess.run(
            [scripts / program, *arguments],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            **more,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ask


@pytest.mark.slow
def test_every_command_works_outside_a_clone_or_says_what_it_needs(ask, tmp_path):
    where = ask("python", "-c", "import formalbench; print(formalbench.__file__)")
    assert where.startswith(str(tmp_path))
    assert ask("formalbench", "--version").startswith("formalbench ")
    # All in one process, and one test: to start a process for each takes long.
    commands = [*(command for command, _ in WORKS), *NEEDS_A_CLONE]
    told = json.loads(ask("python", "driver.py", input=json.dumps(commands)))
    answers = dict(zip(commands, told, strict=True))
    for command, says in WORKS:
        code, out, err = answers[command]
        assert (code, says in out + err) == (0, True), f"{command}: {out}{err}"
    for command in NEEDS_A_CLONE:
        code, out, err = answers[command]
        assert (code, out, len(err.splitlines())) == (2, "", 1), f"{command}: {out}{err}"
        assert "leaderboard/results" in err


@pytest.mark.slow
def test_everything_beside_the_code_is_in_the_wheel(wheel):
    there = set(zipfile.ZipFile(wheel).namelist())
    folders = [
        ROOT / name for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    ]
    ours = {
        str(file.relative_to(folder.parent))
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    assert ours - there == set()
    packages = {
        point.partition(".")[0]
        for point in PROJECT["project"]["entry-points"]["formalbench"].values()
    }
    assert {folder.name for folder in folders} == packages


@pytest.mark.slow
def test_what_the_wheel_says_of_itself(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    said = email.message_from_bytes(archive.read(name))
    assert said["Author"] == "formalbench contributors"
    assert said["License-Expression"] == "Apache-2.0"
    assert "benchmark" in said["Keywords"]
    assert "Intended Audience :: Science/Research" in said.get_all("Classifier")
    assert {"slurm", "dask", "tensorboard", "wandb", "mlflow", "figures"} <= set(
        said.get_all("Provides-Extra")
    )
    # A link of the description would lead nowhere: the repository has no address yet.
    assert said.get_all("Project-URL") is None
    assert said["Description-Content-Type"] == "text/markdown"
    description = said.get_payload()
    assert "formalbench is not FormalBench (ACL 2025)" in description
    assert "](" not in description.replace("](http", "")
    assert "leaderboard/figures" not in description
