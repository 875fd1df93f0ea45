"""Pages stay short enough to be read, and say today's sizes."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = {"shortcuts.md"}
"""Written by a program."""


def words(path):
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    if path.name == "records.md":  # its table is compared with the code word by word
        text = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return len(text.split())


def test_no_more_than_twenty_thousand_words():
    pages = {*DOCS.glob("*.md"), *DOCS.glob("*.ipynb")}
    assert sum(words(page) for page in pages if page.name not in GENERATED) <= 20_000


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
BOARD = ["benchmark/formalbench/statistics", "benchmark/formalbench/documents"]
BOARD += ["leaderboard/formalbench_leaderboard"]
ROOMS = {
    "models": ["plugins/formalbench_models"],
    "tasks, texts, papers": ["tasks", "plugins/formalbench_papers"],
    "board: statistics, documents, leaderboard": BOARD,
    "all": ["benchmark/formalbench", "tasks", "plugins", "leaderboard/formalbench_leaderboard"],
}


@pytest.mark.parametrize("room", ROOMS)
def test_sizes_are_right_within_a_tenth(room):
    found = [file for folder in ROOMS[room] for file in (ROOT / folder).rglob("*.py")]
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in found)
    (row,) = re.findall(rf"^\| {room} \|(.*)\|$", PAGE, re.M)
    said = [int(number.replace(",", "")) for number in row.split("|")[2].split(", ")]
    assert said == [pytest.approx(len(found), rel=0.1), pytest.approx(lines, rel=0.1)]


def test_it_has_at_most_1200_words():
    assert len(PAGE.split()) <= 1_200
