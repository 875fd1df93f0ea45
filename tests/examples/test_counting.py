"""The example plugin, installed into a fresh environment and run."""

import json
import os
import subprocess
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
def installed(tmp_path_factory: pytest.TempPathFactory, fresh_environment) -> Path:
    """Return the scripts folder of a fresh environment with the example in it."""
    folder = tmp_path_factory.mktemp("environment")
    return fresh_environment(folder, EXAMPLE, see="import site; site.addsitedir({path!r})")


@pytest.fixture
def formalbench(installed: Path, tmp_path: Path):
    environment = os.environ | {
        "FORMALBENCH_RESULTS": str(tmp_path / "results"),
        "FORMALBENCH_CACHE": str(tmp_path / "cache"),
    }

    def call(*arguments: str, folder: Path = tmp_path, code: int = 0) -> str:
        command = [str(installed / "python"), "-m", "formalbench", *arguments]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr * (code != 0)

    return call


@pytest.mark.slow
def test_it_is_listed_with_its_distribution(formalbench) -> None:
    plugins = {row["name"]: row for row in json.loads(formalbench("plugins", "--json"))}
    assert plugins["counting"]["distribution"] == "formalbench-counting"
    assert plugins["counting"]["version"] == "1.0.0"
    assert plugins["counting"]["provides"] == {"tasks": 1, "models": 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["more-ones", "bag-of-symbols"])
def test_it_keeps_the_contract(formalbench, name: str) -> None:
    assert "0 failed" in formalbench("check", name)


@pytest.mark.slow
def test_it_counts_and_cannot_tell_what_comes_first(formalbench, tmp_path: Path) -> None:
    protocol = tmp_path / "tiny.yaml"
    protocol.write_text(TINY)
    out = formalbench(
        *("run", "--model", "bag-of-symbols", "--task", "more-ones,first", "--json"),
        *("--protocol", "tiny", "--plugin", str(protocol), "--jobs", "1"),
    )
    accuracy = {}
    for record in json.loads(out):
        cells = record["test"]["cells"]
        accuracy[record["task"]["name"]] = sum(cells["correct"]) / sum(cells["strings"])
        assert record["model"]["source"]["distribution"] == "formalbench-counting"
    assert accuracy["more-ones:classify"] > 0.9
    assert accuracy["first:classify"] < 0.65


@pytest.mark.slow
def test_its_result_goes_all_the_way_to_the_leaderboard(formalbench, tmp_path: Path) -> None:
    """Run, look, publish, check, audit, as CONTRIBUTING.md says."""
    protocol = tmp_path / "tiny.yaml"
    protocol.write_text(TINY)
    clone = tmp_path / "clone"
    published = clone / "leaderboard" / "results"
    published.mkdir(parents=True)
    extra = ("--plugin", str(protocol))
    asked = ("--model", "bag-of-symbols", "--task", "more-ones,first", "--protocol", "tiny")
    formalbench("run", *asked, *extra, "--jobs", "1", "--device", "cpu")
    assert "1 row of yours" in formalbench("leaderboard", *extra)
    assert "bag-of-symbols" in formalbench("leaderboard", "--protocol", "tiny", *extra)

    told = formalbench("leaderboard", "publish", *extra, folder=clone)
    assert "added bag-of-symbols on more-ones: 1 record" in told
    assert "tiny: new row bag-of-symbols" in told
    (archive,) = clone.glob("weights-*.tar")
    assert str(archive) in told
    formalbench("leaderboard", "render", *extra, folder=clone)
    assert "bag-of-symbols" in (clone / "leaderboard" / "README.md").read_text("utf-8")
    records = sorted(published.rglob("*.json"))
    assert [file.parent.name for file in records] == ["first--classify", "more-ones--classify"]
    assert list(clone.rglob("*.safetensors")) == []

    extra = ("--weights", str(archive), *extra)
    told = formalbench("leaderboard", "check", "--rendered", *extra, folder=clone)
    assert "all records are valid" in told
    told = formalbench("leaderboard", "audit", *extra, folder=clone)
    assert [line.split()[0] for line in told.splitlines()] == ["ok", "ok"]

    forged = json.loads(records[0].read_text())
    # Not all of them: what has nothing wrong may not cost as much as this does.
    forged["test"]["cells"]["correct"] = [n - 1 for n in forged["test"]["cells"]["strings"]]
    records[0].write_text(json.dumps(forged))
    told = formalbench("leaderboard", "audit", "--device", "cpu", *extra, folder=clone, code=1)
    assert "MISMATCH  bag-of-symbols on first" in told
    words = ("leaderboard", "check", "--rendered")
    formalbench(*words, *extra, folder=clone, code=1)  # the page says otherwise
