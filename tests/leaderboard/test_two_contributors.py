"""Two contributors publish at once: their branches merge, and what is rendered then is in order."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from built_records import write_all
from formalbench.store import Store

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="merging takes git")


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Run git below the folder of a test, without any user's settings."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    someone = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")

    def run(folder, *words):
        done = subprocess.run(
            ["git", *someone, "-C", str(folder), *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def main(invoke, repository, make_runs, git):
    """Make the main branch: a few results are published and rendered."""
    git(repository.parent, "init", "--quiet", "--initial-branch", "main", repository)
    write_all(Store(repository.parent / "first"), make_runs("rnn"))
    assert invoke("publish", "--results", repository.parent / "first").exit_code == 0
    assert invoke("render").exit_code == 0
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "first")
    return repository


@pytest.mark.slow
def test_their_branches_merge(invoke, main, make_runs, git, tmp_path, monkeypatch):
    models = ("regulargpt", "lstm")
    for model in models:
        clone, own = tmp_path / f"clone-{model}", Store(tmp_path / f"own-{model}")
        git(tmp_path, "clone", "--quiet", main, clone)
        for task in ("parity", "first"):
            write_all(own, make_runs(model, task=f"{task}:classify"))
        monkeypatch.chdir(clone)
        assert invoke("publish", "--results", own.path).exit_code == 0
        assert invoke("check").exit_code == 0
        changed = git(clone, "status", "--porcelain", "--untracked-files=all").splitlines()
        assert len(changed) == 12
        assert all(line.startswith("?? leaderboard/results/default/") for line in changed)
        git(clone, "add", ".")
        git(clone, "commit", "--quiet", "--message", model)
        git(main, "fetch", "--quiet", clone, f"HEAD:{model}")

    monkeypatch.chdir(main)
    for model in models:
        git(main, "merge", "--quiet", "--no-edit", model)
    assert len(Store(main / "leaderboard" / "results").records()) == 6 + 2 * 12
    assert invoke("check").exit_code == 0
    assert invoke("check", "--rendered").exit_code == 1
    assert invoke("render").exit_code == 0
    assert invoke("check", "--rendered").exit_code == 0
    front = (main / "leaderboard" / "README.md").read_text(encoding="utf-8")
    assert all(f"[{model}](models/{model}.md)" in front for model in (*models, "rnn"))
