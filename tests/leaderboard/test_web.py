"""The web page without a browser: what is in it, that it is safe, that it is always the same."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import pytest
from built_records import write_all
from formalbench.documents.text import harmless
from formalbench.statistics.build import View, build_page
from formalbench.store import Store
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.page import page as page_page
from formalbench_leaderboard.page import page_data
from formalbench_leaderboard.page.descriptions import Definitions, definitions
from formalbench_leaderboard.page.html_tables import breakable, marked
from formalbench_leaderboard.page.page_data import contents, curve_points, detail_of, packed

NOTHING = Definitions({}, {})
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "end": "</script><script>alert(1)</script>",
    "comment": "<!--<script>",
    "image": "<img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)',
    "quote": "' onfocus='alert(1)",
    "pipe": "a|b",
    "newline": "a\n# heading\r\n| x |",
    "rtl": "abc\u202egpj.exe\u2066\u200f",
    "separator": "a\u2028b\u2029c",
    "template": "$title ${data} $$",
    "entity": "&lt;b&gt; &amp;",
}


class Seen(HTMLParser):
    """The elements of a page, with their attributes and the text inside."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        self.texts.append((self.inside, data))

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


def render(records, known=NOTHING, **view):
    page = build_page(records, View("test", ("parity",), **view))
    return page_page.render_page(page, known)["index.html"]


def data_of(text):
    return json.loads(unpacked(text, "data"))


def views_of(text):
    return unpacked(text, "views")


def unpacked(text, name):
    block = re.search(rf'<script type="application/octet-stream" id="{name}">(.*?)</script>', text)
    return zlib.decompress(base64.b64decode(block[1])).decode()


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_names_change_no_element(make_record, name):
    record = make_record(name, command=f"run {name}", hardware=name)
    plain = Seen(render([make_record("plain", command="run plain", hardware="plain")]))
    text = render([record])
    seen = Seen(text)
    assert [tag for tag, _ in seen.elements if tag not in ("wbr", "span")] == [
        tag for tag, _ in plain.elements if tag not in ("wbr", "span")
    ]
    handlers = [key for _, given in seen.elements for key in given if key.startswith("on")]
    assert handlers == []
    assert harmless(name) in {value for _, given in seen.elements for value in given.values()}
    assert data_of(text)["boards"][0]["rows"][0]["model"] == harmless(name)
    views, plain_views = Seen(views_of(text)), Seen(views_of(render([make_record("plain")])))
    # A long name has no room in a chart, so it has no text there.
    assert [tag for tag, _ in views.elements if tag not in ("wbr", "span", "text")] == [
        tag for tag, _ in plain_views.elements if tag not in ("wbr", "span", "text")
    ]
    assert not [key for _, given in views.elements for key in given if key.startswith("on")]


def test_the_data_block_holds_no_sign_of_html(make_record):
    records = [make_record(name) for name in HOSTILE.values()]
    page = build_page(records, View("<&>\u2028", ("parity",)))
    data = contents(page, NOTHING, curve_points(page, detail_of(page)))
    assert not set(json.dumps(data, ensure_ascii=False)) & set("\u2028\u2029\u202e")
    assert re.fullmatch("[A-Za-z0-9+/=]+", packed(data))


def test_nothing_is_fetched(many_records, host):
    seen = Seen(render(many_records, published=suite_view(host, "default").published))
    assert seen.count("link") == seen.count("img") == seen.count("iframe") == 0
    assert [given for tag, given in seen.elements if tag == "script" and "src" in given] == []
    addresses = {(tag, given.get("href") or "") for tag, given in seen.elements if "href" in given}
    beside = {("a", "results.csv"), ("a", "results.json")}
    assert beside <= addresses
    outside = {pair for pair in addresses - beside if not pair[1].startswith("#")}
    assert all(tag == "a" and link.startswith("https://arxiv.org/") for tag, link in outside)
    assert outside
    style = (page_page.HERE / "style.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_names_every_script_and_no_other(many_records):
    text = render(many_records)
    policies = [
        given["content"]
        for tag, given in Seen(text).elements
        if given.get("http-equiv") == "Content-Security-Policy"
    ]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    assert len(policies) == 1
    assert set(re.findall(r"'sha256-(.*?)'", policies[0])) == hashes
    assert len(hashes) == 2
    rules = dict(part.strip().split(" ", 1) for part in policies[0].split(";"))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert text.index("Content-Security-Policy") < text.index("<script")


def test_every_script_is_in_the_page():
    files = {path.stem for path in (page_page.HERE / "script").glob("*.js")}
    assert files == {*page_page.SCRIPTS, page_page.FIRST}
    assert all("innerHTML" not in page_page._file("script", f"{name}.js") for name in files)


def test_the_same_records_give_the_same_bytes(many_records, host):
    def page(records):
        built = build_page(records, suite_view(host, "default"))
        return page_page.render_page(built, definitions(host, records))

    assert page(many_records) == page(many_records[::-1])


def test_a_run_that_did_not_finish_is_marked(make_record):
    text = render([make_record(), make_record(seed=1, status="diverged")])
    marks = [given for tag, given in Seen(text).elements if tag == "abbr"]
    assert [given["title"] for given in marks] == ["1 of 2 finished (1 diverged)"]


def test_curves_hold_the_mean_and_the_wilson_intervals_of_all_seeds(make_record):
    records = [
        make_record(accuracy=[100, 90, 80, 50]),
        make_record(accuracy=[100, 70, 60, 50], seed=1),
    ]
    (curve,) = data_of(render(records))["curves"]
    assert curve["length"] == [41, 51, 61, 71]
    assert curve["mean"] == [1000, 800, 700, 500]
    assert curve["seeds"] == [[1000, 900, 800, 500], [1000, 700, 600, 500]]
    assert curve["high"][0] == 1000
    assert curve["low"][1] < 700 < 900 < curve["high"][1]
    assert (curve["low"][3], curve["high"][3]) == (404, 596)  # Wilson (1927), 50 of 100


def test_many_lengths_are_averaged_and_the_page_says_so(make_record, monkeypatch):
    monkeypatch.setattr(page_data, "MOST_POINTS", 2)
    monkeypatch.setattr(page_data, "MOST_SEED_POINTS", 1)
    text = render([make_record(accuracy=[100, 90, 80, 50]), make_record(seed=1)])
    (curve,) = data_of(text)["curves"]
    assert "single seeds are left out" in views_of(text)
    assert curve["length"] == [46, 66]
    assert curve["mean"] == [975, 825]
    assert "seeds" not in curve
    assert "2 neighbouring test lengths make one point" in text


def test_a_page_without_records_is_a_page():
    text = render([])
    assert "No results yet." in text
    assert data_of(text)["boards"] == []


def test_definitions_come_from_the_plugins_and_the_unknown_is_left_out(make_record, host):
    records = [make_record(), make_record("nobody", "nothing:classify", fingerprint="0" * 64)]
    known = definitions(host, records)
    assert list(known.tasks) == ["parity"]
    assert list(known.models) == ["regulargpt"]
    task = known.tasks["parity"]
    assert (task.name, task.alphabet, task.train) == ("parity:classify", ("0", "1"), (1, 40))
    assert len(task.examples) == 8
    assert all(string[0] == answer for string, answer in task.examples)
    assert task.automaton is None


def test_a_small_automaton_is_told_and_a_large_one_is_not(make_record):
    from formalbench.host import PluginHost

    real = PluginHost.load()
    names = ("tomita-3:classify", "d12:classify", "modular-arithmetic:classify")
    known = definitions(real, [make_record(task=name, fingerprint="0" * 64) for name in names])
    machine = known.tasks["tomita-3"].automaton
    assert machine is not None
    assert (len(machine.transitions), machine.start) == (5, 0)
    assert known.tasks["d12"].automaton is not None
    assert known.tasks["d12"].drawing.count('class="state ') == 14
    assert {task.members for task in known.tasks.values()} == {""}
    assert known.tasks["modular-arithmetic"].automaton is None
    assert known.tasks["modular-arithmetic"].drawing == ""


def test_a_language_with_one_member_a_length_is_said_to_be_one(make_record):
    from formalbench.host import PluginHost

    record = make_record(task="tomita-1:classify", fingerprint="0" * 64)
    known = definitions(PluginHost.load(), [record])
    assert known.tasks["tomita-1"].members.startswith("at most one member per length")
    assert f"<dt>members</dt><dd>{known.tasks['tomita-1'].members}" in views_of(
        render([record], known)
    )


def test_prose_escapes_what_is_no_html():
    assert marked("**a<b** is `c&d`, no more.") == (
        "<strong>a&lt;b</strong> is <code>c&amp;d</code>, no more."
    )
    assert breakable("tomita-3<b>") == 'tomita<span class="keep">-3</span>&lt;b&gt;'
    assert breakable("a[b=<i>, c=2]") == (
        'a<wbr><span class="options">[b=<wbr>&lt;i&gt;, <wbr>c=<wbr>2]</span>'
    )


def test_the_command_writes_the_folder(invoke, tmp_path, many_records):
    store = Store(tmp_path / "mine")
    write_all(store, many_records)
    folder = tmp_path / "a" / "page"
    arguments = ("--results", store.path, "--format", "html", "--output", folder)
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    assert done.output == f"open {folder / 'index.html'}\n"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"index.html", "results.csv", "results.json"}
    assert str(tmp_path).encode() not in before["index.html"]
    assert invoke(*arguments).exit_code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_page_needs_a_folder(invoke, tmp_path):
    from formalbench.contracts.errors import RequestError

    error = invoke("--results", tmp_path, "--format", "html").exception
    assert isinstance(error, RequestError)
    assert error.exit_code == 2
    assert "--output" in str(error)
    file = tmp_path / "file"
    file.write_text("")
    error = invoke("--results", tmp_path, "--format", "html", "--output", file).exception
    assert isinstance(error, RequestError)
    assert str(file) in str(error)


def test_a_page_of_many_models_lacks_the_differences_of_each_two(make_record, monkeypatch):
    records = [make_record(name) for name in ("rnn", "gru")]
    assert len(data_of(render(records))["boards"][0]["pairs"]) == 1
    monkeypatch.setattr(page_data, "MOST_PAIRED", 1)
    assert data_of(render(records))["boards"][0]["pairs"] is None
