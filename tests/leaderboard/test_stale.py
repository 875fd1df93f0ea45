"""Versions, two contributors, and reports from elsewhere: what is published and what counts."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from built_records import PROTOCOL, write_all
from formalbench.contracts.specs import SuiteSpec
from formalbench.host import LocalPlugin, Plugin
from formalbench.statistics.selection import current_of
from formalbench.store import Store
from formalbench_leaderboard.publishing.places import published_path


def raise_version(host, registry, name):
    """Let the host have the next version of something."""
    (entry,) = getattr(host, registry)._entries[name]
    newer = replace(entry, spec=replace(entry.spec, version=entry.spec.version + 1))
    getattr(host, registry)._entries[name] = [newer]


def raise_protocol(host, protocol):
    (entry,) = host.protocols._entries["quick"]
    entry.spec.path.write_text(yaml.safe_dump(protocol | {"version": 2}))


@pytest.fixture
def publish(invoke, repository):
    """Publish records, and return what is then on the page."""
    folder = repository.parent / "own"

    def run(records):
        write_all(Store(folder), records)
        done = invoke("publish", "--results", folder)
        assert done.exit_code == 0, done.output
        assert invoke("render").exit_code == 0
        for file in folder.rglob("*.json"):
            file.unlink()
        return (repository / "leaderboard" / "README.md").read_text(encoding="utf-8")

    return run


def measured(page):
    """Return a page without the papers' numbers, which may change."""
    return "\n".join(line for line in page.splitlines() if "*published*" not in line)


def versions(host, protocol):
    return {
        "task": (lambda: raise_version(host, "tasks", "parity"), {"task_version": 2}),
        "model": (lambda: raise_version(host, "models", "rnn"), {"model_version": 2}),
        "protocol": (
            lambda: raise_protocol(host, protocol),
            {"protocol": protocol | {"version": 2}},
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("what", ["task", "model", "protocol"])
def test_stale_records_stay_and_do_not_count(
    publish, invoke, repository, host, make_runs, protocol, what
):
    raised, newer = versions(host, protocol)[what]
    publish(make_runs("rnn", accuracy=0.99))
    raised()
    assert invoke("check", "--rendered").exit_code == 1  # the page still counts them
    invoke("render")
    page = (repository / "leaderboard" / "README.md").read_text(encoding="utf-8")
    assert "99.0" not in measured(page)
    checked = invoke("check", "--rendered")
    assert checked.exit_code == 0, checked.output
    assert "6 records made with another version, not counted" in checked.output
    if what != "task":  # the strings of another version of this task are not known to the factory
        page = publish(make_runs("rnn", accuracy=0.77, **newer))
        assert "77.0" in page
        assert "99.0" not in measured(page)
        assert len(Store(repository / "leaderboard" / "results").records()) == 12
        assert "6 records made with another version, not counted" in invoke("check").output
    assert "not counted" in page


def test_an_earlier_version_that_is_registered_counts_beside_the_newer(
    publish, invoke, repository, host, make_runs, protocol, tmp_path
):
    earlier = tmp_path / "quick-v1.yaml"
    earlier.write_text(yaml.safe_dump(protocol))
    (entry,) = host.protocols._entries["quick"]
    host.protocols._entries["quick"] = [
        replace(entry, spec=replace(entry.spec, earlier=(earlier,)))
    ]
    publish(make_runs("rnn", accuracy=0.99))
    raise_protocol(host, protocol)
    page = publish(
        make_runs("rnn", accuracy=0.77, validation=0.9, protocol={**protocol, "version": 2})
    )
    assert "quick (version 2)" in page
    page = (repository / "leaderboard" / "suites" / "default.md").read_text(encoding="utf-8")
    first, second = page.index("quick (version 2)\n"), page.index("quick (version 1)\n")
    assert first < page.index("77.0", first) < second < page.index("99.0", second)
    checked = invoke("check", "--rendered")
    assert checked.exit_code == 0, checked.output
    assert "stale" not in checked.output


@pytest.mark.parametrize("what", ["task", "model", "protocol"])
def test_a_version_above_the_installed_one_is_refused(invoke, repository, host, make_runs, what):
    newer = versions(host, PROTOCOL)[what][1]
    runs = make_runs("rnn", **newer)
    write_all(Store(repository.parent / "own"), runs)
    write_all(Store(repository / "leaderboard" / "results" / "default"), runs)
    assert invoke("publish").exit_code == 1
    done = invoke("check")
    assert done.exit_code == 1
    assert f"its {what}.version is 2, not 1" in done.stderr


def test_how_a_record_stands(host, make_record, protocol):
    current = current_of(host)
    for keys, standing in [
        ({}, "current"),
        ({"options": {"chunk": 3}}, "current"),
        ({"task_version": 2}, "stale"),
        ({"model_version": 0}, "stale"),
        ({"protocol": protocol | {"version": 9}}, "stale"),
        ({"protocol": protocol | {"batch": 64}}, "stale"),
        ({"protocol": protocol | {"name": "mine"}}, "unknown"),
        ({"model": "stranger"}, "unknown"),
        ({"distribution": "mine.py", "sha256": "a" * 64}, "unknown"),
        ({"task": "mystery:classify", "fingerprint": "0" * 64}, "unknown"),
        ({"task": "mystery:classify", "fingerprint": "0" * 64, "model_version": 2}, "stale"),
    ]:
        assert current.standing(make_record(**keys)) == standing, keys


def test_a_suite_of_somebodys_own_moves_no_record(host, make_record):
    record = make_record(task="even-pairs:classify")
    before = published_path(record, host)
    plugin = Plugin("mine", "mine.yaml", "", local=LocalPlugin(Path("mine.yaml"), "a" * 64))
    host.suites.add(SuiteSpec("mine", 1, "one", ("even-pairs",)), plugin)
    assert published_path(record, host) == before


def test_publishing_says_which_rows_are_new_and_which_ranks_moved(
    publish, invoke, make_runs, tmp_path
):
    tasks = [f"{name}:classify" for name in ("parity", "first", "tomita-3")]
    publish([run for task in tasks for run in make_runs("rnn", task=task, accuracy=0.7)])
    own = Store(tmp_path / "more")
    for task in tasks:
        for run in make_runs("regulargpt", task=task, accuracy=0.99):
            own.write(run)
    for run in make_runs("lstm"):
        own.write(run)
    lines = invoke("publish", "--results", own.path).output.splitlines()
    assert "quick: new row regulargpt, rank 1" in lines
    assert "quick: rnn, no rank -> 2" in lines
    assert "quick: new row lstm, no rank" in lines
    assert "quick:" not in invoke("publish", "--results", own.path).output


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
@pytest.mark.skipif(shutil.which("git") is None, reason="merging takes git")
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
