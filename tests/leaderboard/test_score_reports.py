"""Scores of answers from elsewhere: published apart, never ranked."""

import json

import formalbench as fb
import pytest
from formalbench.host import PluginHost
from formalbench.store import Store
from formalbench_leaderboard.publishing.publish import publish
from formalbench_leaderboard.publishing.score_reports import FOLDER, PAGE, reports_problems
from formalbench_leaderboard.renderers.render import render, stale_files


@pytest.fixture
def host() -> PluginHost:
    return PluginHost.load()


@pytest.fixture
def scores(tmp_path):
    """Return a folder with the score of answers that are all right."""
    report = fb.evaluate(lambda ids: ids[:, 0], "first", protocol="quick", name="a | <b>")
    report.save(tmp_path / "scores")
    return tmp_path / "scores"


def test_they_are_published_on_a_page_of_their_own_beside_trained_models(
    cli, repository, scores, host, make_record
):
    done = cli("leaderboard", "publish", "--self-reported", "--results", scores)
    assert done.code == 0, done.err
    assert done.lines[-1] == "published as self-reported, not verified"
    (file,) = (repository / FOLDER).rglob("*.json")
    assert done.lines[0] == file.relative_to(repository).as_posix()
    assert list(reports_problems(repository, host)) == []
    told = json.loads(file.read_text())["test"]["fingerprint"]
    run = make_record("lstm", "first:classify", accuracy=0.75, fingerprint=told)
    Store(repository / "leaderboard" / "results").write(run)
    render(repository, host)
    page = (repository / PAGE).read_text()
    assert "nobody can check" in page
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()]
    assert any("self-reported" in row and "100.0" in row for row in rows)
    assert any(row[1:4] == ["lstm", "trained here", "75.0"] for row in rows)
    assert "<b>" not in page
    front = (repository / "leaderboard" / "README.md").read_text()
    assert "a | " not in front
    assert "[Self-reported, not verified](self-reported.md)" in front
    file.unlink()
    assert PAGE in stale_files(repository, host)
    render(repository, host)
    assert not (repository / PAGE).exists()
    assert "elf-reported" not in (repository / "leaderboard" / "README.md").read_text()


def test_publishing_runs_leaves_them_out(repository, scores, host):
    done = publish(scores, repository, host)
    assert (done.added, done.already) == ({}, 0)
    assert not (repository / FOLDER).exists()


def test_a_board_of_scores_alone_says_that_they_are_not_ranked(cli, repository, scores):
    done = cli("leaderboard", "--results", scores)
    assert done.out == "Scores of `formalbench score` are self-reported and not ranked.\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"evaluated_id": "0" * 16}, "evaluated_id is not that of its contents"),
        ({"task": {"version": 99}}, "its task.version is 99, not "),
        ({"test": {"fingerprint": "0" * 64}}, "evaluated_id is not"),
        ({"test": {"chance_length": 0.1}}, "its test.chance[1] is 0.1, not "),
        ({"protocol": {"steps": 4000}}, "its protocol.steps is 4000, not "),
        ({"test": {"extra": 1}}, "not a valid record"),
    ],
)
def test_what_is_not_of_the_strings_here_is_refused(cli, repository, scores, change, said):
    (file,) = scores.rglob("*.json")
    data = json.loads(file.read_text())
    for key, value in change.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) else value
    file.write_text(json.dumps(data))
    done = cli("leaderboard", "publish", "--self-reported", "--results", scores)
    assert done.code in (1, 2)
    assert said in done.err
    assert not (repository / FOLDER).exists()


def test_a_part_of_the_strings_is_not_the_test(cli, repository, scores):
    (file,) = scores.rglob("*.json")
    data = json.loads(file.read_text())
    cells = data["test"]["cells"]
    data["test"]["cells"] = {
        "length": cells["length"][:1],
        "strings": cells["strings"][:1],
        "correct": cells["correct"][:1],
    }
    file.write_text(json.dumps(data))
    done = cli("leaderboard", "publish", "--self-reported", "--results", scores)
    assert "its test.cells is [(" in done.err
    assert not (repository / FOLDER).exists()


def test_a_stray_file_among_them_is_told(repository, host):
    (repository / FOLDER).mkdir()
    (repository / FOLDER / "note.txt").write_text("x")
    (line,) = reports_problems(repository, host)
    assert line.endswith("note.txt: is no record of an evaluation at its place")
