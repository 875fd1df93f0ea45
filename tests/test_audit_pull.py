"""The script that audits a pull request, with the installed code and only results."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULT = "leaderboard/results/default/a model/parity/run $(touch evil).json"

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("git", "bash"))), reason="it takes git and bash"
)


@pytest.fixture
def git(tmp_path):
    """Run git below the folder of the test."""
    someone = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")

    def run(folder, *words):
        subprocess.run(["git", *someone, "-C", folder, *words], check=True, capture_output=True)

    return run


@pytest.fixture
def audit(git, tmp_path):
    """Make a pull request of some files, and audit it with something that tells of its calls."""

    def call(*files, pull="7", **keys):
        origin, clone = tmp_path / "origin", tmp_path / "clone"
        origin.mkdir()
        git(origin, "init", "--quiet", "--initial-branch", "main")
        git(origin, "commit", "--quiet", "--allow-empty", "--message", "first")
        git(tmp_path, "clone", "--quiet", str(origin), str(clone))
        git(origin, "switch", "--quiet", "--create", "theirs")
        for name in files:
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            (origin / name).write_text("theirs")
        git(origin, "add", ".")
        git(origin, "commit", "--quiet", "--message", "theirs")
        git(origin, "switch", "--quiet", "main")
        git(origin, "merge", "--quiet", "--no-ff", "--message", "merged", "theirs")
        git(origin, "update-ref", "refs/pull/7/merge", "HEAD")
        program = clone / ".venv" / "bin" / "formalbench"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\nprintf "%s|" "$@"; echo; ls -d leaderboard\n')
        program.chmod(0o755)
        (clone / ".ci").mkdir()
        script = Path(shutil.copy(ROOT / ".ci" / "audit-pull", clone / ".ci"))
        environment = {**os.environ, "PULL": pull, "TMPDIR": str(tmp_path), **keys}
        return subprocess.run(
            ["bash", script], env=environment, capture_output=True, text=True, check=False
        )

    return call


@pytest.mark.slow
def test_its_records_are_audited_where_they_lie(audit, tmp_path):
    done = audit(RESULT, "leaderboard/results/default/other/first/run.json", RETRAIN="2")
    assert done.returncode == 0, done.stderr
    first, second = [line for line in done.stdout.splitlines() if "leaderboard|" in line]
    assert first == "leaderboard|check|"
    folders = "leaderboard/results/default/a model/parity|leaderboard/results/default/other/first"
    assert second == f"leaderboard|audit|{folders}|--retrain|2|"
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("stray", ["Makefile", "leaderboard/README.md", ".ci/audit-pull"])
def test_what_is_no_result_is_refused(audit, stray):
    done = audit(RESULT, stray)
    assert done.returncode == 1
    assert stray in done.stdout
    assert "these are no results" in done.stderr
    assert "leaderboard|" not in done.stdout


def test_bad_requests(audit):
    assert audit(RESULT, pull="7/../8").returncode == 2


def test_archives_come_from_a_safe_place_or_not_at_all(audit, tmp_path):
    done = audit(RESULT, WEIGHTS="file:///etc/hostname")
    assert done.returncode not in (0, 2)
    assert "leaderboard|" not in done.stdout
