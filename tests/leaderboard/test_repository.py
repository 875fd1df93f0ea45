"""The records and the page that this repository publishes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from formalbench.contracts.record import Record
from formalbench.host import PluginHost
from formalbench.store import Store, read_record
from formalbench.store.archive import WeightLookup
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.check import check_published
from formalbench_leaderboard.publishing.weights import keeps_weights
from formalbench_leaderboard.renderers.render import render, stale_files

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "leaderboard" / "results"


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load()


@pytest.mark.slow
def test_what_is_published_is_in_order(host):
    """Planned again and drawn again, each in its place."""
    found = check_published(REPOSITORY, host)
    assert found.problems == []


@pytest.mark.slow
def test_what_is_published_can_be_rendered(host, tmp_path):
    """The main branch renders it; a pull request has records that no page shows yet."""
    for part in ("results", "reproductions"):
        shutil.copytree(RESULTS.with_name(part), tmp_path / "leaderboard" / part)
    render(tmp_path, host)
    assert stale_files(tmp_path, host) == []


def test_no_weights_are_in_git():
    """Every clone would have all of them for ever; archives hold them, and records their hash."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("no clone, or no git")
    words = ["git", "ls-files", "*.safetensors", "*.tar"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def with_weights():
    """Return a record of each model that keeps its weights, on the task with the shortest tests."""
    files = sorted(RESULTS.rglob("*.json"))
    tomita = [file for file in files if file.parent.name == "tomita-3--classify"]
    kept = [file for file in tomita if keeps_weights(read_record(file))]
    return {file.parent.parent.name: file for file in kept}


@pytest.mark.slow
@pytest.mark.parametrize("file", with_weights().values(), ids=with_weights())
def test_published_weights_give_the_published_numbers(host, file):
    archive = os.environ.get("FORMALBENCH_WEIGHTS")
    if archive is None:
        pytest.skip("FORMALBENCH_WEIGHTS names no archive of published weights")
    auditor = Auditor(host, seed=0, device="cpu", weights=WeightLookup([Path(archive)]))
    found = auditor.audit(file)
    assert (found.verdict, found.reasons) == ("ok", [])


def test_every_learned_model_covers_the_default_suite_with_three_seeds(host):
    tasks = {f"{name}:classify" for name in host.suite("default").tasks}
    runs = {
        (record.model.name, record.task.name, record.seed)
        for record in Store(RESULTS).records()
        if isinstance(record, Record) and not record.model.options
    }
    learned = [
        entry.spec
        for entry in host.models.all()
        if entry.spec.kind == "learned" and not entry.spec.by_name
    ]
    assert {(m.name, t, s) for m in learned for t in tasks for s in (0, 1, 2)} <= runs
