"""What this repository publishes: its records, its snapshot, and what plugins say of it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import formalbench
import pytest
from built_records import with_sums, with_test, write_all
from formalbench import hookimpl
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import LearningCurve, Record, Training
from formalbench.store import Store, read_record
from formalbench.store.archive import WeightLookup
from formalbench.store.record_file import written
from formalbench.store.snapshot import SNAPSHOT, read_snapshot
from formalbench_leaderboard.board import sources
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.check import check_published
from formalbench_leaderboard.publishing.publish import publish
from formalbench_leaderboard.publishing.weights import keeps_weights
from formalbench_leaderboard.renderers.render import render, stale_files

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "leaderboard" / "results"


@pytest.mark.slow
def test_what_is_published_is_in_order(installed):
    """Planned again and drawn again, each in its place."""
    found = check_published(REPOSITORY, installed)
    assert found.problems == []


NO_NUMBER = re.compile(r"(?<![\w-])(None(?! of )|nan|NaN|inf|undefined|null)(?![\w-])")


@pytest.mark.slow
def test_what_is_published_can_be_rendered(installed, tmp_path):
    """The main branch renders it; a pull request has records that no page shows yet."""
    for part in ("results", "reproductions"):
        shutil.copytree(RESULTS.with_name(part), tmp_path / "leaderboard" / part)
    render(tmp_path, installed)
    assert stale_files(tmp_path, installed) == []
    figures = [*(tmp_path / "leaderboard" / "figures").glob("*.svg")]
    assert len(figures) >= 8
    for figure in figures:
        texts = re.findall(r"<text[^>]*>([^<]*)<", figure.read_text("utf-8"))
        assert len(texts) > 10, figure
        assert [text for text in texts if NO_NUMBER.search(text)] == [], figure


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
def test_published_weights_give_the_published_numbers(installed, file):
    archive = os.environ.get("FORMALBENCH_WEIGHTS")
    if archive is None:
        pytest.skip("FORMALBENCH_WEIGHTS names no archive of published weights")
    auditor = Auditor(installed, seed=0, device="cpu", weights=WeightLookup([Path(archive)]))
    found = auditor.audit(file)
    assert (found.verdict, found.reasons) == ("ok", [])


def test_every_learned_model_covers_the_default_suite_with_three_seeds(installed):
    tasks = {f"{name}:classify" for name in installed.suite("default").tasks}
    runs = {
        (record.model.name, record.task.name, record.seed)
        for record in Store(RESULTS).records()
        if isinstance(record, Record) and not record.model.options
    }
    learned = [
        entry.spec
        for entry in installed.models.all()
        if entry.spec.kind == "learned" and not entry.spec.by_name
    ]
    assert {(m.name, t, s) for m in learned for t in tasks for s in (0, 1, 2)} <= runs


@pytest.fixture
def varied(many_records, make_record):
    training = Training(
        steps=1, ended="budget", stage=4, strings=1, seconds=0.1, strings_per_second=1e-7
    )
    answered = make_record("answered")
    entropy = answered.test.cells.metrics["cross-entropy"]
    certain = with_sums(answered, {"certainty": 1}, certainty=(entropy.total, entropy.count))
    odd = make_record("a\n\u202e<b>", options={"x": 1.0, "y": 1, "z": True})
    curve = LearningCurve(
        steps=(200, 400), loss=(0.1, 1e-5), error=(0.5, 0.4648), accuracy=(1.0, 1 / 3)
    )
    return [
        *many_records,
        make_record(status="diverged", seed=7),
        make_record("by-hand", kind="exact", rate=None),
        make_record("timed").model_copy(update={"training": training, "weights": "a" * 64}),
        make_record("drawn").model_copy(
            update={"training": training.model_copy(update={"curve": curve})}
        ),
        with_test(certain, answers=(300,) * 4),
        odd,
        *Store(RESULTS / "exact" / "exact-parity").all(),
    ]


def test_records_come_back_as_they_were(varied, tmp_path):
    file = tmp_path / "snapshot.jsonl"
    text = written(varied)
    file.write_text(text, encoding="ascii")
    back = read_snapshot(file)
    assert back == varied
    assert [one.to_json() for one in back] == [one.to_json() for one in varied]
    assert {type(one) for one in back} == {type(one) for one in varied}
    assert len(text.splitlines()) == len(varied) + 1
    assert text == written(back)


def test_what_the_repository_publishes_comes_back_and_takes_a_third(tmp_path):
    """Rendering on the main branch writes it; a pull request has records that are not in it yet."""
    held = Store(RESULTS).all()
    file = tmp_path / "snapshot.jsonl"
    file.write_text(written(held), encoding="ascii")
    assert read_snapshot(file) == held
    assert file.stat().st_size < sum(len(record.to_json()) for record in held) / 3


def test_the_package_carries_published_records():
    carried = read_snapshot()
    assert len(carried) > 100
    assert carried == read_snapshot(REPOSITORY / SNAPSHOT)


def test_render_rebuilds_it_and_check_compares_it(tmp_path, host, make_runs):
    store = Store(tmp_path / "mine")
    write_all(store, make_runs())
    clone = tmp_path / "clone"
    publish(store.path, clone, host)
    render(clone, host)
    assert len(read_snapshot(clone / SNAPSHOT)) == 6
    (clone / SNAPSHOT).write_bytes(b"")
    assert stale_files(clone, host) == [SNAPSHOT]


def test_its_records_are_checked(varied, tmp_path):
    file = tmp_path / "snapshot.jsonl"
    head, first, *_ = written(varied).splitlines()
    for changed in (
        first.replace("[", "", 1),  # no JSON
        "[99]",  # no such shape
        first[:-1] + ",1]",  # more values
        "[0]",  # fewer
        "{}",
        "[]",
        "[0,77" + first[4:],  # no such shared part
    ):
        file.write_text(f"{head}\n{changed}\n", encoding="ascii")
        with pytest.raises(RequestError, match=r"snapshot\.jsonl: damaged") as caught:
            read_snapshot(file)
        assert "\n" not in str(caught.value)
    forged = json.loads(first)
    forged[-1] = "yesterday"
    file.write_text(f"{head}\n{json.dumps(forged)}\n", encoding="ascii")
    with pytest.raises(RequestError, match=r"snapshot\.jsonl: not a valid record: date"):
        read_snapshot(file)
    file.write_text("")
    with pytest.raises(RequestError, match="damaged"):
        read_snapshot(file)
    assert read_snapshot(tmp_path / "nowhere.jsonl") == []


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "own"))
    return Store(tmp_path / "own")


def test_outside_a_clone_the_snapshot_is_read_and_inside_never(
    own, tmp_path, monkeypatch, make_record
):
    own.write(make_record("own-one"))
    carried = make_record("carried-one")
    monkeypatch.setattr(sources, "read_snapshot", lambda: [carried])
    monkeypatch.chdir(tmp_path)
    runs, verifications, _ = sources.read_with_published()
    assert {record.model.name for record in runs} == {"own-one", "carried-one"}
    assert verifications == []
    (tmp_path / "leaderboard" / "results").mkdir(parents=True)
    published = Store(tmp_path / "leaderboard" / "results" / "default")
    published.write(make_record("published-one"))
    runs, *_ = sources.read_with_published()
    assert {record.model.name for record in runs} == {"own-one", "published-one"}


@pytest.mark.slow
def test_the_command_shows_it_outside_a_clone(own, tmp_path):
    words = [sys.executable, "-m", "formalbench", "leaderboard", "--format", "json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    boards = json.loads(done.stdout)["measured"]
    assert boards
    for board in boards:
        assert "rnn" in {row["model"] for row in board["rows"]}


@pytest.mark.slow
def test_python_compares_with_it_outside_a_clone(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = formalbench.compare("lstm", "rnn", protocols=["standard"])
    assert {"parity", "dyck-2-3"} <= {*frame.task}
    own.path.mkdir()
    with pytest.raises(RequestError, match="lstm"):
        formalbench.compare("lstm", "rnn", results=own.path)


class Videos:
    """A plugin that keeps videos in the repository."""

    def __init__(self, problem=None):
        self.problem = problem

    @hookimpl
    def formalbench_check_repository(self, repository, host):
        if self.problem is not None:
            raise self.problem
        yield f"{repository / 'a.avi'}: no video"
        yield f"{repository / 'b.avi'}: nor this, {len(host.tasks.all())} tasks"


def test_its_lines_are_problems(repository, host):
    host.observe(Videos(), "videos")
    assert check_published(repository, host).problems == [
        "a.avi: no video",
        "b.avi: nor this, 4 tasks",
    ]


@pytest.mark.parametrize("problem", [ValueError("no\nluck"), KeyError("x")])
def test_one_that_fails_is_a_problem_itself(repository, host, problem):
    host.observe(Videos(problem), "videos")
    (line,) = check_published(repository, host).problems
    assert type(problem).__name__ in line


def test_records_of_an_unknown_protocol_are_problems_with_their_files(
    repository, host, make_runs, protocol
):
    results = Store(repository / "leaderboard" / "results")
    write_all(results, make_runs(seeds=1, protocol=protocol | {"name": "elsewhere"}))
    problems = check_published(repository, host).problems
    unknown = [line for line in problems if "unknown protocol 'elsewhere'" in line]
    assert [line.partition(": ")[0].endswith(".json") for line in unknown] == [True, True]
