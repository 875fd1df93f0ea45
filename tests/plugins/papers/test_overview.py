"""The list of every result of the papers: generated from the pages, and checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from announced import SPECS
from formalbench.cli.main import run_command_line
from formalbench.host import PluginHost
from formalbench.store import REPRODUCTIONS
from formalbench_papers import index
from formalbench_papers.framework.checks import reproductions_problems
from formalbench_papers.framework.report import RESULTS, overview

PUBLISHED = Path(__file__).parents[3] / REPRODUCTIONS
PAPERS = yaml.safe_load(RESULTS.read_text(encoding="utf-8"))
NAME = "huang-crasp"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper["paper"])
def test_every_result_has_a_page_that_is_announced_or_a_state(paper):
    for one in paper["results"]:
        assert set(one) <= {"result", "says", "here", "page", "state"}
        assert one["result"]
        assert one["says"]
        assert ("page" in one) != ("state" in one)
        assert one.get("page", NAME) in SPECS


def test_every_reproduction_of_the_four_papers_is_in_the_list():
    listed = {one.get("page") for paper in PAPERS for one in paper["results"]}
    four = ("chi-", "chiang-cholak-", "steffen-", "yao-")
    assert {name for name in SPECS if name.startswith(four)} <= listed


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / REPRODUCTIONS
    folder.mkdir(parents=True)
    for file in PUBLISHED.glob("chiang-cholak-fig2.*"):
        shutil.copy(file, folder)
    return folder


def test_a_state_is_what_a_page_says(folder):
    text = overview(folder)
    (line,) = [line for line in text.splitlines() if line.startswith("| Figure 2 ")]
    assert "[chiang-cholak-fig2](chiang-cholak-fig2.md)" in line
    assert "scale " in line
    assert "claims: 1" in line
    (line,) = [line for line in text.splitlines() if "Figures 4b, 4c" in line]
    assert line.split("|")[4].strip() == "not run"


def test_the_list_is_rendered_with_every_page_and_checked(folder):
    (folder / "README.md").write_text("")
    words = ["reproduce", "chiang-cholak-fig2", "--from-records", "--output", str(folder)]
    assert run_command_line(words) in (0, 1)
    assert (folder / "README.md").read_text() == overview(folder)
    root = folder.parents[1]
    assert reproductions_problems(root, PluginHost.load()) == []
    (folder / "README.md").write_text(overview(folder).replace("scale", "SCALE"))
    (line,) = reproductions_problems(root, PluginHost.load())
    assert "README.md: not what the pages give" in line


def test_the_index_is_up_to_date():
    assert json.loads(index.INDEX.read_text(encoding="utf-8")) == index.index()
