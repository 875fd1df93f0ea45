"""Scores of the published board, worked out again from the raw records.

Nothing of formalbench is imported, so that no mistake can be made twice: only json and arithmetic.
"""

import json
import re
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

LEADERBOARD = Path(__file__).parents[2] / "leaderboard"
TASKS = ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")


def protocol():
    """Return the name and the version of the protocol that the front page ranks by."""
    text = (LEADERBOARD / "README.md").read_text(encoding="utf-8")
    (name, version), *others = re.findall(
        r"^## Suite default, protocol (\S+) \(version (\d+)\)", text, re.M
    )
    assert not others
    return name, int(version)


def records(folder):
    found = defaultdict(list)
    for file in sorted((LEADERBOARD / "results" / "default" / folder).rglob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        if (data["protocol"]["name"], data["protocol"]["version"]) != protocol():
            continue
        found[data["task"]["name"].removesuffix(":classify")].append(data)
    return found


def validation(runs):
    """Return what a learning rate is chosen by: the mean accuracy, then the lesser entropy."""
    right = [Fraction(run["selected"]["correct"], run["selected"]["strings"]) for run in runs]
    entropies = [run["selected"]["metrics"]["cross-entropy"] for run in runs]
    bits = [Fraction(one["total"]) / one["count"] for one in entropies]
    return -sum(right) / len(right), sum(bits) / len(bits)


def accuracy(run):
    cells = run["test"]["cells"]
    shares = [Fraction(c, n) for c, n in zip(cells["correct"], cells["strings"], strict=True)]
    return sum(shares) / len(shares)


def scaled(runs):
    by_rate = defaultdict(list)
    for run in runs:
        by_rate[run["learning_rate"]].append(run)
    assert len({tuple(sorted(run["seed"] for run in part)) for part in by_rate.values()}) == 1
    chosen = min(by_rate.values(), key=validation)
    mean = sum(map(accuracy, chosen)) / len(chosen)
    chance = Fraction(chosen[0]["test"]["chance_length"])
    return (mean - chance) / (1 - chance), mean


def plain(cell):
    """Return the text of a cell: without its link, its escapes and its places to break."""
    text = re.sub(r"^\[(.*)\]\(.*\)$", r"\1", cell.strip()).replace("<wbr>", "")
    return text.replace("&#91;", "[").replace("&#93;", "]")


def shown():
    """Return the rows of the first board of the front page, by the model's name.

    A board has more than one table if it has more columns than fit.
    """
    text = (LEADERBOARD / "README.md").read_text(encoding="utf-8")
    board = text[text.index("\n## Suite default") :].split("\n## ")[1]
    rows, header = defaultdict(dict), []
    for line in board.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|   rank |"):
            header = [plain(cell) for cell in cells]
        elif line.startswith("|") and not line.startswith("|--"):
            named = dict(zip(header, cells, strict=True))
            rows[plain(named["model"])] |= named
    return rows


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_a_score_is_that_of_the_raw_records(model):
    folder = model.replace("[", "-").replace("]", "")
    found = records(folder)
    assert set(found) == set(TASKS)
    parts = {task: scaled(found[task]) for task in TASKS}
    row = shown()[model]
    score = sum(part for part, _ in parts.values()) / len(TASKS)
    assert row["score"] == f"{float(100 * score):.1f}"
    means = [task for task in TASKS if not row[task].startswith("[")]
    assert means
    for task in means:
        assert row[task].split()[0] == f"{float(100 * parts[task][1]):.1f}", task
