"""Fixed strings from files on the command line: every model and part, without displaying words."""

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "dataset" / "shuffled-brackets.yaml"


@pytest.fixture
def run(cli, tiny):
    def call(model, *arguments):
        done = cli(
            *("run", "--model", model, "--task", "shuffled-brackets", "--seeds", "1", "--json"),
            *("--plugin", EXAMPLE, "--plugin", tiny, "--protocol", "tiny", *arguments),
        )
        assert done.code == 0, done.err
        return done.data

    return call


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lstm", "transformer", "regulargpt"])
def test_every_string_of_the_test_is_used_once(run, model):
    [record] = run(model)
    cells = record["test"]["cells"]
    assert record["status"] == "finished"
    found = dict.fromkeys(("short", "long"), 0)
    for group, strings in zip(cells["group"], cells["strings"], strict=True):
        found[group] += strings
    assert found == {"short": 150, "long": 150}
    assert cells["length"] == sorted(cells["length"])
    assert record["task"]["source"]["distribution"] == "shuffled-brackets.yaml"
    assert record["selected"]["strings"] <= 150


def test_no_string_reaches_a_record_or_a_page(cli, run, results):
    [record] = run("rnn")
    longest = (EXAMPLE.parent / "long.tok").read_text().splitlines()[0]
    board = cli("leaderboard", "--results", results, "--format", "json", "--plugin", EXAMPLE)
    assert board.code == 0
    cells = board.data["measured"][0]["rows"][0]["results"][0]["runs"][0]["cells"]
    assert set(cells["group"]) == {"short", "long"}
    arguments = ("--results", results, "--plugin", EXAMPLE, "--format", "html", "--output", "page")
    assert cli("leaderboard", *arguments).code == 0
    page = Path("page/index.html").read_text(encoding="utf-8")
    for part in ("data", "views"):
        packed = re.search(rf'id="{part}">(.*?)</script>', page)[1]
        page += zlib.decompress(base64.b64decode(packed)).decode()
    assert "<dt>objective</dt>" in page  # the view of the task is there, and has no examples
    assert "Examples" not in page
    for text in (json.dumps(record), board.out, page):
        assert longest not in text


def test_the_end_of_a_run_tells_of_each_part(cli, tiny):
    done = cli(
        *("run", "--model", "rnn", "--task", "shuffled-brackets", "--seeds", "1"),
        *("--plugin", EXAMPLE, "--plugin", tiny, "--protocol", "tiny"),
    )
    [line] = [
        line for line in (done.out + done.err).splitlines() if "rnn on" in line and "%" in line
    ]
    assert "To publish" not in done.out
    assert ", long " in line
    assert ", short " in line


def test_what_is_shown_sampled_and_labelled(cli):
    shown = cli("show", "task", "shuffled-brackets", "--plugin", EXAMPLE, "--json").data
    assert (shown["train"], shown["test"], shown["theory"]) == ([2, 20], [8, 40], None)
    rows = cli("sample", "shuffled-brackets", "--length", 8, "--count", 3, "--plugin", EXAMPLE)
    every = {}
    for name in ("train", "validation", "short", "long"):
        texts = (EXAMPLE.parent / f"{name}.tok").read_text().splitlines()
        every |= zip(texts, (EXAMPLE.parent / f"{name}.labels").read_text().split(), strict=True)
    for line in rows.lines:
        row = json.loads(line)
        assert every[" ".join(row["string"])] == ("out", "in")[row["target"]]
    text = "\n".join([*list(every)[:5], "( ( ( ( ( ( ( (", ""])
    told = cli("label", "shuffled-brackets", "--plugin", EXAMPLE, stdin=text)
    assert told.code == 1
    assert told.lines[:5] == [str(int(label == "in")) for label in list(every.values())[:5]]
    assert told.lines[5] == "invalid"
    assert "has labels only for the strings of its data" in told.err
    listed = cli("list", "tasks", "--plugin", EXAMPLE, "--json").data
    [row] = [row for row in listed if row["name"] == "shuffled-brackets"]
    assert (row["train"], row["test"]) == ([2, 20], [8, 40])


def test_its_contract(cli):
    done = cli("check", EXAMPLE)
    assert done.code == 0, done.out
    assert " 0 failed" in done.out + done.err
