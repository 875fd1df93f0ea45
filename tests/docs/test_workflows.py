"""Workflows are within their limits, and call what exists."""

import re
import runpy
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BY_HAND = {"audit.yml"}
"""Started by a maintainer, for as many runs as they choose."""

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def jobs(path):
    return yaml.safe_load(path.read_text("utf-8"))["jobs"]


def commands(path):
    return "\n".join(
        step.get("run", "") for job in jobs(path).values() for step in job.get("steps", ())
    )


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_ends_within_twenty_minutes(path):
    for name, job in jobs(path).items():
        assert "uses" in job or path.name in BY_HAND or job["timeout-minutes"] <= 20, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit(path):
    used = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
    assert used
    assert [one for one in used if not re.search(r"@[0-9a-f]{40}$|^\./", one)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_and_targets_are_there(path):
    for script in re.findall(r"bash (\.ci/\S+)", commands(path)):
        assert (ROOT / script).is_file(), script
    for line in re.findall(r"^make (.*)$", commands(path), re.M):
        for target in re.sub(r"\$\{\{.*?\}\}", "", line).split():
            assert re.search(rf"^{re.escape(target.replace('.venv', '$(VENV)'))}:", MAKEFILE, re.M)


def test_every_target_of_the_matrix_is_there_and_every_test_is_run():
    matrix = jobs(ROOT / ".github/workflows/ci.yml")["make"]["strategy"]["matrix"]
    targets = {*matrix["target"], *(one["target"] for one in matrix["include"])}
    assert all(re.search(rf"^{target}:", MAKEFILE, re.M) for target in targets)
    slow = [one["tests"] for one in matrix["include"] if one["target"] == "test-slow"]
    run = {path for part in " ".join(slow).split() for path in ROOT.glob(part.rstrip("/"))}
    tests = set((ROOT / "tests").rglob("test_*.py"))
    left_out = {one for one in tests if not run & {one, *one.parents}}
    apart = {"page", "site"}  # of `make test-page` and `make docs`
    assert {one.relative_to(ROOT / "tests").parts[0] for one in left_out} == apart


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_nothing_is_pushed_to_main(path):
    pushes = re.findall(r"git push (.*)", commands(path))
    assert [one for one in pushes if not one.endswith("HEAD:rendered")] == []


def test_a_release_publishes_without_a_password_and_after_the_tests():
    release = jobs(ROOT / ".github/workflows/release.yml")
    assert release["test"]["uses"] == "./.github/workflows/ci.yml"
    assert (release["build"]["needs"], release["index"]["needs"]) == ("test", "build")
    assert release["index"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")


@pytest.mark.parametrize("target", ["sdist", "wheel"])
def test_a_build_deletes_nothing_of_the_project(tmp_path, target):
    """Hatchling names files of the project in `force_include` of an sdist."""
    kept = tmp_path / "pyproject.toml"
    kept.write_text("")
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["CommitHook"]
    builder = hook(str(ROOT), {}, None, None, str(tmp_path / "dist"), target)
    data = {"force_include": {str(kept): "pyproject.toml"}}
    builder.initialize("standard", data)
    (written,) = [Path(file) for file in data["force_include"] if file != str(kept)]
    assert written.is_file()
    builder.finalize("standard", data, "")
    assert kept.is_file()
    assert not written.exists()
