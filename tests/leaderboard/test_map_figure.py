"""The drawing of the map: its signs and legend, its themes, its size, and what names do to it."""

import re
from dataclasses import replace
from itertools import pairwise
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from built_maps import HOSTILE, SVG, drawn, large, mapped, told_by, verified
from built_records import write_all
from formalbench.documents.text import harmless
from formalbench.statistics.length_profile import Step
from formalbench.store import Store
from formalbench_leaderboard.charts.language_map import NOTHING, MapCell, sentences
from formalbench_leaderboard.charts.map_chart import (
    LEGEND,
    NARROW,
    WIDE,
    bars,
    parts_of,
    render,
)


def classes(root, tag="path"):
    return [one.get("class") for one in root.iter(f"{SVG}{tag}")]


def tooltips(root):
    return [one for one in root.iter(f"{SVG}rect") if one.find(f"{SVG}title") is not None]


def test_the_drawing_shows_every_cell_and_is_the_same_each_time(many_records):
    shown = mapped(many_records, "parity", "first", "tomita-3", exact=[verified("first")])
    text, root = drawn(shown)
    assert text == render(shown)
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "map-title map-desc")
    names = {element.get("id"): element.text for element in root if element.get("id")}
    assert names["map-desc"] == " ".join(sentences(shown))
    assert names["map-title"]
    told_cells = [tooltip.findtext(f"{SVG}title") for tooltip in tooltips(root)]
    assert len(told_cells) == 9
    missing = "transformer on first: not run: formalbench run --model transformer --task first"
    assert any(line.startswith(missing) for line in told_cells)
    assert told_by(root, "model") == ["regulargpt", "rnn", "transformer"]
    assert told_by(root, "built") == ["10k", "1k"]  # the legend and the construction
    assert "60" in told_by(root, "middle")  # the transformer's validation


@pytest.mark.parametrize("part", LEGEND)
def test_the_legend_explains_what_the_map_shows_and_nothing_else(make_record, part):
    plain = mapped([make_record(accuracy=0.8)], "parity")
    (family,) = plain.families
    example, text = LEGEND[part]
    assert part in parts_of(example)
    if isinstance(example, MapCell):
        row = replace(family.rows[0], cells=(replace(example, task="parity"),))
        family = replace(family, theory=(None,), rows=(row,))
    elif isinstance(example, str):
        family = replace(family, theory=(example,))
    else:
        family = replace(family, theory=(None,), built=(example,))
    texts = told_by(drawn(replace(plain, families=(family,)))[1], "legend")
    expected = [meaning for key, (_, meaning) in LEGEND.items() if key in parts_of(example)]
    assert text in expected
    explained = {meaning for _, meaning in LEGEND.values()} & set(texts)
    assert explained - {LEGEND["learned"][1]} == set(expected) - {LEGEND["learned"][1]}


def test_every_part_has_a_sign_of_its_own():
    cells = [example for example, _ in LEGEND.values() if isinstance(example, MapCell)]
    assert len({tuple(parts_of(cell)) for cell in cells}) == len(cells)


def test_signs_of_weak_evidence_take_the_place_of_the_tick_above_the_bars(make_record):
    records = [make_record("lstm", seed=seed, accuracy=1.0) for seed in range(2)]
    shown = mapped(records, "parity")
    assert "mark" not in classes(drawn(shown)[1])
    ticks = classes(drawn(shown)[1]).count("paper line")
    assert ticks == 2  # the cell and the legend
    ((_, _, cell),) = shown.cells
    (family,) = shown.families
    for change, sign in (({"weak": True}, "mark"), ({"unfinished": 1}, "paper line")):
        row = replace(family.rows[0], cells=(replace(cell, solved_to=None, **change),))
        weak = replace(shown, families=(replace(family, rows=(row,)),))
        kinds = classes(drawn(weak)[1])
        assert kinds.count(sign) == 2
        assert kinds[-1] == sign


def test_a_cell_shows_that_a_run_diverged(make_record):
    records = [make_record("lstm", seed=seed) for seed in range(2)]
    shown = mapped([*records, make_record("lstm", seed=2, not_finite=[3])], "parity")
    ((_, _, cell),) = shown.cells
    assert cell.unfinished == 1
    text, root = drawn(shown)
    assert "a run diverged or did not finish" in " ".join(told_by(root, "legend"))
    assert "1 run diverged or did not finish" in text


def test_each_theme_has_its_colours_and_the_same_shapes(many_records):
    shown = mapped(many_records, "parity", "first", "tomita-3")
    texts = {theme: render(shown, theme) for theme in ("file", "page")}
    paths = [re.findall(r' d="([^"]*)"', text) for text in texts.values()]
    assert paths[0] == paths[1]
    assert "@media (prefers-color-scheme:dark)" in texts["file"]
    assert all(paper in texts["file"] for paper in ("#ffffff", "#0d1117"))
    assert "light-dark(#ffffff,#0d1117)" in texts["page"]
    assert "@media" not in texts["page"]


def test_shade_and_height_both_tell_the_accuracy(make_record):
    shown = mapped([make_record("lstm", accuracy=[100, 85, 70, 50])], "parity")
    _, root = drawn(shown)
    (cell,) = tooltips(root)
    left, width = int(cell.get("x")), int(cell.get("width"))
    (row,) = root.findall(f"{SVG}g[@transform='translate(0 {cell.get('y')})']")
    paths = {path.get("class"): path.get("d") for path in row.findall(f"{SVG}path")}
    assert paths.pop("track") == f"M{left} 0h{width}v16h-{width}"
    assert list(paths) == ["shade0", "shade1", "shade2", "shade4"]
    shapes = [re.fullmatch(r"M(\d+) 16V([0-9.]+)h(\d+)V16", path) for path in paths.values()]
    # Chance, 0.4, 0.7 and all of sixteen pixels.
    assert [16 - float(bar[2]) for bar in shapes] == [1, 6.5, 11, 16]
    assert [int(bar[1]) - left for bar in shapes] == [round(width * n / 4) for n in (3, 2, 1, 0)]
    assert sum(int(bar[3]) for bar in shapes) == width


def test_bars_side_by_side_of_one_shade_are_one_shape():
    strip = [Step(place, place, share) for place, share in enumerate((1.0, 1.0, 0.7, 1.0))]
    shapes = list(bars(strip, 5, 40))
    assert shapes == [
        ("shade4", "M5 16V0h10V0h10V16"),
        ("shade2", "M25 16V5h10V16"),
        ("shade4", "M35 16V0h10V16"),
    ]


def test_nothing_is_drawn_as_a_sentence():
    _, root = drawn(mapped([], "parity"))
    assert told_by(root, "family") == [NOTHING]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_no_harm(make_record, name):
    shown = mapped([make_record("rnn")], "parity", exact=[verified("parity")])
    [family] = shown.families
    row = replace(family.rows[0], model=name)
    column = replace(shown.columns[0], task=name, group=name)
    families = (replace(family, name=name, rows=(row,)),)
    shown = replace(shown, protocol=name, columns=(column,), families=families)
    for width in (WIDE, NARROW):
        address = lambda kind, name: f"#{kind}=" + quote(harmless(name))  # noqa: E731
        text, root = drawn(shown, "page", width, address)
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "style", "rect", "path", "text", "a", "g"}
        names = {name for element in root.iter() for name in element.attrib}
        assert not any(name.startswith("on") for name in names)
        assert "<script" not in text
        assert "49" not in "".join(told_by(root, "model"))
        assert "\u202e" not in text
        assert len(text) < 60_000


@pytest.mark.parametrize(
    ("width", "tasks", "cell"), [(WIDE, 3, 116), (WIDE, 60, 34), (NARROW, 3, 101), (NARROW, 60, 34)]
)
def test_cells_are_as_wide_as_fits_and_many_columns_make_the_map_wider(width, tasks, cell):
    _, root = drawn(large(20, tasks), "file", width)
    whole = float(root.get("width"))
    assert (whole > width) == (tasks == 60)
    row = tooltips(root)[-tasks:]
    assert {int(one.get("width")) for one in row} == {cell}
    lefts = [int(one.get("x")) for one in row]
    assert all(right - left >= cell + 4 for left, right in pairwise(lefts))
    assert lefts[-1] + cell <= whole


def test_a_large_map_stays_small():
    text, root = drawn(large(100, 60))
    assert len(text.encode()) < 800_000
    assert not list(root.iter(f"{SVG}a"))


def test_the_command_writes_one_file(invoke, repository, make_runs, tmp_path):
    store = Store(tmp_path / "more")
    write_all(store, [*make_runs("rnn"), *make_runs("lstm", task="first:classify")])
    told = ("--results", store.path, "--format")
    root = ElementTree.fromstring(invoke(*told, "map").stdout)
    assert told_by(root, "model") == ["lstm", "rnn"]
    file = tmp_path / "m.svg"
    assert invoke(*told, "map", "--model", "rnn", "--output", file).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert told_by(ElementTree.fromstring(text), "model") == ["rnn"]
    root = ElementTree.fromstring(invoke(*told, "map", "--task", "first").stdout)
    assert told_by(root, "task") == ["first"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_map_leaves_out_models_until_it_is_as_low_as_asked(width):
    shown = large(30, 6)
    _, root = drawn(shown, "file", width)
    tallest = 0.6 * float(root.get("height"))
    low = ElementTree.fromstring(render(shown, width=width, tallest=tallest))
    assert tallest - 20 < float(low.get("height")) <= tallest
    kept, every = told_by(low, "model"), told_by(root, "model")
    rest = iter(every)
    assert all(name in rest for name in kept)  # in the same order
    assert 0 < len(kept) < len(every)
    least = ElementTree.fromstring(render(shown, width=width, tallest=0))
    assert len(told_by(least, "model")) == len(shown.families)


def test_the_lowest_rows_are_left_out_first_and_families_without_rows_before_them():
    shown = large(30, 6)
    (first, *_) = shown.families
    names = ("gru", "rnn[nonlinearity=relu]", "lstm")
    rows = tuple(replace(first.rows[0], model=name) for name in names)
    families = (replace(first, rows=rows), replace(first, name="other", rows=(), built=(10,) * 6))
    shown = replace(shown, families=families)
    _, root = drawn(shown)
    assert "other" in "".join(root.itertext())
    height = float(root.get("height"))
    models = []
    for tallest in (height - 1, height - 60, height - 80):
        low = ElementTree.fromstring(render(shown, tallest=tallest))
        assert "other" not in "".join(low.itertext())
        models.append(told_by(low, "model"))
    assert models == [
        ["gru", "rnn[nonlinearity=relu]", "lstm"],
        ["gru", "rnn[nonlinearity=relu]"],
        ["gru"],
    ]
