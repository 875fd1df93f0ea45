"""The map on the web page and on the repository's front page."""

import base64
import re
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from built_maps import HOSTILE, KNOWN, SVG, large, mapped
from built_records import write_all
from formalbench.statistics.build import View, build_page
from formalbench.store import Store
from formalbench_leaderboard.charts.language_map import language_map, sentences
from formalbench_leaderboard.page.descriptions import definitions
from formalbench_leaderboard.page.page import map_section
from formalbench_leaderboard.page.page import render_page as render_html
from markupsafe import escape


def test_the_page_shows_it_to_every_reader(many_records, host):
    page = build_page(many_records, View("test", ("parity", "first", "tomita-3")))
    shown = language_map(page, KNOWN)
    figure = map_section(shown)
    index = render_html(page, definitions(host, many_records), figure)["index.html"]
    for sentence in sentences(shown):
        assert f"<li>{escape(sentence)}</li>" in index
    assert index.count('<svg xmlns="http://www.w3.org/2000/svg" class="map"') == 2
    ids = re.findall(r' id="([^"]+)"', index)
    assert len(ids) == len(set(ids))
    assert '<a href="#task=tomita-3">' in figure  # from the drawing, by keyboard, too
    assert '<a href="#model=rnn">' in figure
    table = figure[figure.index("<table>") : figure.index("</table>")]
    assert table.count("<td>[60]</td>") == 2  # what the transformer did not learn
    assert "<td>not run</td>" in table
    missing = re.search("<code[^>]*>(.*)</code>", figure)[1]
    assert missing.startswith("formalbench run --model transformer --task first --protocol quick")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_no_harm_on_the_page(make_record, name):
    shown = mapped([make_record("rnn"), make_record("rnn", "first:classify")], "parity", "first")
    [family] = shown.families
    row = replace(family.rows[0], model=name, missing=f"formalbench run --model {name}")
    shown = replace(shown, protocol=name, families=(replace(family, name=name, rows=(row,)),))
    section = map_section(shown)
    assert "<script" not in section
    assert not re.search(r"<[^>]* onmouseover=", section.replace("&#34;", "'"))
    assert "\u202e" not in section
    assert "49" not in re.sub(r'(x|y|width|height|viewBox|d)="[^"]*"|#[0-9a-f]{6}', "", section)


def test_a_page_of_much_has_the_wide_map_alone():
    figure = map_section(large(100, 60))
    assert figure.count("<svg ") == 0
    assert len(figure.encode()) < 300_000
    packed = re.search(' data-packed="([A-Za-z0-9+/=]+)"', figure)[1]
    svg = zlib.decompress(base64.b64decode(packed)).decode()
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert len({a.get("href") for a in root.iter(f"{SVG}a")}) == 160
    assert map_section(mapped([])) is None


def test_the_front_page_shows_the_right_one_of_its_files(invoke, repository, make_runs, tmp_path):
    store = Store(tmp_path / "more")
    write_all(store, make_runs("rnn"))
    assert invoke("publish", "--results", store.path).exit_code == 0
    assert invoke("render").exit_code == 0
    front = (repository / "leaderboard" / "README.md").read_text(encoding="utf-8")
    files = re.findall(r'(?:srcset|src)="(figures/map[^"]*)"', front)
    assert files == [f"figures/{name}.svg" for name in ("map-narrow", "map")]
    for file in files:
        path = repository / "leaderboard" / file
        ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert "In 1 of 1 learned cell every seed learned" in front
    assert "This is the complete part of [the core board](suites/core.md)" in front
    assert invoke("render", "--check").exit_code == 0
    path.write_text(path.read_text(encoding="utf-8").replace("rnn", "mine"))
    assert "figures/map.svg" in invoke("render", "--check").output
