"""The example plugin, installed into a fresh environment as a stranger would, and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "formalbench-counting"
TINY = """
schema_version: 1
name: tiny
version: 1
seeds: 1
steps: 200
evaluate_every: 20
curriculum: {kind: uniform}
decay: {steps: 100}
validation: {every: 100, lengths: 4, strings: 32}
test: {lengths: 4, strings: 128}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scripts folder of a fresh environment with the example in it.

    Its dependencies are seen through a path file: torch alone would take minutes to install.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    scripts = folder / "bin"
    python = scripts / "python"
    paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    lines = [f"import site; site.addsitedir({path!r})" for path in dict.fromkeys(paths)]
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True)
    (Path(site.stdout.strip()) / "parent.pth").write_text("\n".join(lines) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", str(EXAMPLE)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return scripts


@pytest.fixture
def formalbench(installed: Path, tmp_path: Path):
    environment = os.environ | {
        "FORMALBENCH_RESULTS": str(tmp_path / "results"),
        "FORMALBENCH_CACHE": str(tmp_path / "cache"),
    }

    def call(*arguments: str) -> str:
        command = [str(installed / "python"), "-m", "formalbench", *arguments]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_it_is_listed_with_its_distribution(formalbench) -> None:
    plugins = {row["name"]: row for row in json.loads(formalbench("plugins", "--json"))}
    assert plugins["counting"]["distribution"] == "formalbench-counting"
    assert plugins["counting"]["version"] == "1.0.0"
    assert plugins["counting"]["provides"] == {"tasks": 1, "models": 1}


@pytest.mark.parametrize("name", ["majority", "bag-of-symbols"])
def test_it_keeps_the_contract(formalbench, name: str) -> None:
    assert "0 broken" in formalbench("check", name)


def test_it_counts_and_cannot_tell_what_comes_first(formalbench, tmp_path: Path) -> None:
    protocol = tmp_path / "tiny.yaml"
    protocol.write_text(TINY)
    out = formalbench(
        *("run", "--model", "bag-of-symbols", "--task", "majority,first", "--json"),
        *("--protocol", "tiny", "--plugin", str(protocol), "--jobs", "1"),
    )
    accuracy = {}
    for record in json.loads(out):
        cells = record["test"]["cells"]
        accuracy[record["task"]["name"]] = sum(cells["correct"]) / sum(cells["strings"])
        assert record["model"]["source"]["distribution"] == "formalbench-counting"
    assert accuracy["majority:classify"] > 0.9
    assert accuracy["first:classify"] < 0.65
