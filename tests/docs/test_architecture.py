"""The page on the architecture has today's sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
