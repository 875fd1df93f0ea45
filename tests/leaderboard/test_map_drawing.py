"""The drawing of the map: its cells, its themes, its size, and what names do to it."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from built_maps import HOSTILE, SVG, drawn, large, mapped, told_by, verified
from built_records import write_all
from formalbench.documents.text import harmless
from formalbench.store import Store
from formalbench_leaderboard.charts.language_map import NOTHING
from formalbench_leaderboard.charts.map_chart import render_compact
from formalbench_leaderboard.charts.map_drawing import NARROW, WIDE, Addresses, bands
from formalbench_leaderboard.page.page import map_section


def test_nothing_is_drawn_as_a_sentence():
    _, root = drawn(mapped([], "parity"))
    assert told_by(root, "family") == [NOTHING]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_no_harm(make_record, name):
    shown = mapped([make_record("rnn")], "parity", exact=[verified("parity")])
    [family] = shown.families
    row = replace(family.rows[0], model=name)
    column = replace(shown.columns[0], task=name, group=name)
    shown = replace(
        shown,
        protocol=name,
        columns=(column,),
        families=(replace(family, name=name, rows=(row,)),),
    )
    to = Addresses(*([lambda name: "#task=" + quote(harmless(name))] * 2))
    for frame in (WIDE, NARROW):
        text, root = drawn(shown, "page", frame, to)
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "style", "rect", "path", "text", "a"}
        names = {name for element in root.iter() for name in element.attrib}
        assert not any(name.startswith("on") for name in names)
        assert "<script" not in text
        assert "49" not in "".join(told_by(root, "model"))
        assert "\u202e" not in text
        assert len(text) < 60_000


@pytest.mark.parametrize(("frame", "models", "tasks"), [(WIDE, 100, 60), (NARROW, 40, 30)])
def test_a_large_map_stays_small_and_within_its_frame(frame, models, tasks):
    shown = large(models, tasks)
    text, root = drawn(shown, "light", frame)
    assert len(text.encode()) < 800_000
    for band in bands(shown, frame):
        assert all(frame.left <= one.x for one in band.columns)
        assert all(one.x + one.width <= frame.width for one in band.columns)
    assert sum(len(band.columns) for band in bands(shown, frame)) == tasks
    assert not list(root.iter(f"{SVG}a"))


def test_the_command_writes_one_file(invoke, repository, make_runs, tmp_path):
    store = Store(tmp_path / "more")
    write_all(store, [*make_runs("rnn"), *make_runs("lstm", task="first:classify")])
    told = ("--results", store.path, "--format")
    root = ElementTree.fromstring(invoke(*told, "map").stdout)
    assert told_by(root, "model") == ["lstm", "rnn"]
    assert (
        invoke(*told, "map-dark", "--model", "rnn", "--output", tmp_path / "m.svg").exit_code == 0
    )
    text = (tmp_path / "m.svg").read_text(encoding="utf-8")
    assert "#0d1117" in text
    assert told_by(ElementTree.fromstring(text), "model") == ["rnn"]
    root = ElementTree.fromstring(invoke(*told, "map", "--task", "first").stdout)
    assert told_by(root, "task") == ["first"]


@pytest.mark.parametrize("frame", [WIDE, NARROW])
def test_a_compact_map_is_as_tall_as_it_may_be_with_its_legend_on_top(frame):
    shown = large(30, 6)
    whole = float(drawn(shown, "light", frame)[1].get("height"))
    tallest = 0.6 * whole
    root = ElementTree.fromstring(render_compact(shown, "light", frame, tallest))
    assert float(root.get("height")) <= tallest
    kept, every = told_by(root, "model"), told_by(drawn(shown, "light", frame)[1], "model")
    rest = iter(every)
    assert all(name in rest for name in kept)  # in the same order
    assert 0 < len(kept) < len(every)
    tops = {kind: min(at(root, kind)) for kind in ("legend", "group")}
    assert tops["legend"] < tops["group"]
    least = ElementTree.fromstring(render_compact(shown, "light", frame, 0))
    assert 0 < len(told_by(least, "model")) <= len(shown.families) * len(bands(shown, frame))


def at(root, kind):
    return [float(text.get("y")) for text in root.iter(f"{SVG}text") if text.get("class") == kind]


def test_a_run_that_diverged_makes_its_cell_weak_evidence(make_record):
    records = [make_record("lstm", seed=seed) for seed in range(2)]
    whole = mapped(records, "parity")
    _, root = drawn(whole)
    assert "hatch" not in [path.get("class") for path in root.iter(f"{SVG}path")]
    shown = mapped([*records, make_record("lstm", seed=2, not_finite=[3])], "parity")
    ((_, _, cell),) = shown.cells
    assert cell.unfinished == 1
    text, root = drawn(shown)
    kinds = [path.get("class") for path in root.iter(f"{SVG}path")]
    assert kinds.count("hatch") == 2  # the cell and the legend
    assert "s4" in kinds[: kinds.index("hatch")]  # above the bars
    assert "weak evidence: a run diverged or did not finish" in " ".join(told_by(root, "legend"))
    assert "1 run diverged or did not finish" in text


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
    assert files == [
        f"figures/{name}.svg" for name in ("map-narrow-dark", "map-narrow", "map-dark", "map")
    ]
    for file in files:
        path = repository / "leaderboard" / file
        ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert "1 of 1 learned cell stays" in front
    assert "This is the complete part of [the core board](suites/core.md)" in front
    assert invoke("render", "--check").exit_code == 0
    path.write_text(path.read_text(encoding="utf-8").replace("rnn", "mine"))
    assert "figures/map.svg" in invoke("render", "--check").output
