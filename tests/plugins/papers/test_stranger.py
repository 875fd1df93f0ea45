"""A plugin's reproduction is listed, measured, shown and checked."""

from __future__ import annotations

import json

import pytest
from formalbench.checks import check_plugin
from formalbench.cli.main import run_command_line

TABLE = """
schema_version: 1
tables:
  - key: nobody-2026
    source: Nobody 2026, Table 1
    citation: Nobody (2026), A network
    arxiv: '2601.00001'
    notes: [made up]
    rows:
      - model: Counting
        results:
          parity: {max: 100.0, mean: 50.0}
"""

PLUGIN = """
from pathlib import Path

from formalbench import ReproductionSpec, TableSpec, hookimpl


@hookimpl
def formalbench_tables():
    yield TableSpec("nobody-2026", "a network on PARITY", Path(__file__).with_name("table.yaml"))


@hookimpl
def formalbench_reproductions():
    yield ReproductionSpec(
        "nobody-table-1", "A network on PARITY", "Nobody (2026), Table 1", carry_out,
        about="Accuracy.", figure=False,
    )


def carry_out(bench):
    from formalbench_papers.framework.claims import Claim, Findings

    paper = bench.host.table("nobody-2026").result("Counting", "parity")
    {body}
    claim = Claim("it counts", f"{{paper.max:.1f}}", "100.0", True)
    return Findings([{{"ones": 3}}], [claim], None)
"""

NAME = "nobody-table-1"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    root = tmp_path / "clone"
    (root / "leaderboard" / "results").mkdir(parents=True)
    monkeypatch.chdir(root)
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "mine.py").write_text(PLUGIN.format(body=""))
    return root


def run(capsys, repository, *words):
    code = run_command_line([*words, "--plugin", str(repository.parent / "mine.py")])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_is_listed(repository, capsys):
    code, out, _ = run(capsys, repository, "reproduce", "--json")
    assert code == 0
    assert NAME in [one["reproduction"] for one in json.loads(out)]
    code, out, _ = run(capsys, repository, "list", "reproductions", "--json")
    (one,) = [one for one in json.loads(out) if one["name"] == NAME]
    assert one["plugin"] == "mine.py"


def test_it_is_measured_and_its_files_are_checked(repository, capsys):
    code, out, err = run(capsys, repository, "reproduce", NAME)
    assert code == 0, err
    assert "100.0 100.0 holds" in " ".join(out.split())
    folder = repository / "leaderboard" / "reproductions"
    assert {file.suffix for file in folder.iterdir()} == {".md", ".csv", ".json"}
    _, out, err = run(capsys, repository, "leaderboard", "check")
    assert NAME not in out + err
    page = folder / f"{NAME}.md"
    page.write_text(page.read_text().replace("100.0", "99.0"))
    code, out, err = run(capsys, repository, "leaderboard", "check")
    assert code == 1
    assert f"{NAME}.md: not what {NAME}.json gives" in out + err


def test_its_numbers_are_on_the_board(repository, capsys):
    code, out, err = run(capsys, repository, "leaderboard", "--format", "csv")
    assert code == 0, err
    assert "Nobody 2026, Table 1" in out


def test_an_exception_in_it_is_that_plugins(repository, capsys):
    (repository.parent / "mine.py").write_text(PLUGIN.format(body="1 / 0"))
    code, _, err = run(capsys, repository, "reproduce", NAME)
    assert code == 3
    assert "mine.py" in err
    assert "ZeroDivisionError" in err


def test_what_gives_no_findings_is_told(repository, capsys):
    (repository.parent / "mine.py").write_text(PLUGIN.format(body="return 5"))
    code, _, err = run(capsys, repository, "reproduce", NAME)
    assert code == 3
    assert f"the factory of {NAME} gave a int" in err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max: 100.0", "max: 101.0", "tables.0.rows.0.results.parity.max"),
        ("key: nobody-2026", "key: nobody-2025", "has no table nobody-2026"),
    ],
)
def test_a_bad_table_is_one_line(repository, capsys, old, new, said):
    (repository.parent / "table.yaml").write_text(TABLE.replace(old, new))
    code, _, err = run(capsys, repository, "reproduce", NAME)
    assert code == 2
    (line,) = [line for line in err.splitlines() if "table.yaml" in line]
    assert said in line
    code, out, err = run(capsys, repository, "leaderboard", "--format", "csv")
    assert code == 0
    assert "Nobody" not in out
    assert "table.yaml" in err


def test_a_bad_table_breaks_a_promise(repository):
    file = repository.parent / "table.yaml"
    file.write_text(TABLE.replace("2601.00001", "here"))
    broken = [one for one in check_plugin(repository.parent / "mine.py") if not one.passed]
    (one,) = broken
    assert (one.subject, one.promise) == ("table nobody-2026", "is valid")
    assert "tables.0.arxiv" in one.problem
