"""Records of an older version of something stay in the repository, are named, and do not count."""

from __future__ import annotations

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


