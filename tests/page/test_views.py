"""The views of a task, a model and a comparison, with the published records."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from formalbench.statistics.board import Board
from formalbench.statistics.build import View, build_page
from formalbench.statistics.comparison import BoardRow, compare
from formalbench_leaderboard.board.sources import read_all
from formalbench_leaderboard.board.summary import verdict_of
from playwright.sync_api import Page, expect

TASKS = ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")


@pytest.fixture(scope="module")
def board(quick_results: Path) -> Board:
    (board,) = build_page(read_all([quick_results]).records, View("default", TASKS)).boards
    return board


def place(board: Board, model: str) -> BoardRow:
    return BoardRow(board, next(row for row in board.rows if row.model == model))


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+\.\d+", text)]


def lines(page: Page) -> dict[str, list[float]]:
    """Return the numbers of each line of the comparison."""
    rows = page.locator("#view .results").first.locator("tbody tr, tfoot tr")
    found = {}
    for row in rows.all():
        cells = row.locator("td").all_inner_texts()
        found[row.locator("th").inner_text()] = numbers(" ".join(cells))
    return found


def test_a_comparison_says_what_the_command_says(opened, quick, board):
    a, b = "regulargpt", "regulargpt-c3"
    found = compare(place(board, a), place(board, b))
    page = opened(quick, f"#compare={a},{b}")
    shown = lines(page)
    assert found.mean
    assert list(shown) == [*TASKS, "mean, scaled"]
    for on in found.tasks:
        *_, difference, low, high = shown[on.task]
        assert difference == pytest.approx(100 * on.accuracy.value, abs=0.051)
        ends = 100 * on.accuracy.low, 100 * on.accuracy.high
        assert (low, high) == pytest.approx(ends, abs=0.051)
    mean = found.mean
    means = shown["mean, scaled"]
    exact = [100 * one for one in (mean.a, mean.b, mean.scaled.value)]
    assert means[:3] == pytest.approx(exact, abs=0.051)
    assert means[3:] == pytest.approx((100 * mean.scaled.low, 100 * mean.scaled.high), abs=0.051)
    name = {"a": a, "b": b}.get(mean.scaled.better)
    said = f"{name} is significantly better." if name else "neither is significantly better."
    expect(page.locator("#view section p").first).to_contain_text(f"On the board's tasks {said}")


def test_a_comparison_by_its_address_and_by_keyboard(opened, quick):
    page = opened(quick, "?m=lstm,regulargpt-c3")
    heading = page.locator("#view h1")
    expect(heading).to_have_text("lstm and regulargpt-c3")
    differs = page.locator("#view table", has_text="What their runs differ in")
    expect(differs).to_contain_text("parameters")
    expect(page.locator("#view .copyable code").first).to_have_text(
        "formalbench compare lstm regulargpt-c3"
    )
    page.locator("#view").get_by_label("B", exact=True).select_option("rnn")
    expect(heading).to_have_text("lstm and regulargpt-c3")  # nothing moves by itself
    page.locator("#view").get_by_label("B", exact=True).press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(heading).to_have_text("lstm and rnn")
    expect(heading).to_be_focused()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("lstm,nobody", "There is no model called nobody here."),
        ("lstm,lstm", "Choose two models."),
        ("lstm", "Choose"),
    ],
)
def test_a_comparison_of_nothing_offers_models_to_choose(opened, quick, names, said):
    page = opened(quick, f"#compare={names}")
    if "," in names:
        expect(page.locator("#view .lead")).to_contain_text(said)
    assert page.locator("#view form select:visible").count() == 2


def test_three_models_are_compared_pair_by_pair(opened, quick, board):
    page = opened(quick, "#compare=lstm,regulargpt")
    form = page.locator("#view form.compare")
    form.get_by_role("button", name="Add another").click()
    form.get_by_label("C", exact=True).select_option("gru")
    form.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#view h1")).to_have_text("lstm, regulargpt and gru")
    results, pairs = page.locator("#view .results").all()[:2]
    for name, model in (("B", "regulargpt"), ("C", "gru")):
        mean = place(board, model).row.on("parity").mean
        column = results.locator("thead th").all_inner_texts().index(name)
        cell = results.locator("tbody tr", has_text="parity").locator("> *").nth(column)
        assert numbers(cell.inner_text()) == pytest.approx([100 * mean], abs=0.051)
    assert pairs.locator("tbody th").all_inner_texts() == ["A − B", "A − C", "B − C"]
    for (a, b), line in zip(
        [("lstm", "regulargpt"), ("lstm", "gru"), ("regulargpt", "gru")],
        pairs.locator("tbody tr").all(),
        strict=True,
    ):
        found = compare(place(board, a), place(board, b)).mean
        assert found
        difference = numbers(line.locator("td").nth(1).inner_text().replace("−", "-"))
        assert difference == pytest.approx([100 * found.scaled.value], abs=0.051)
    expect(page.locator("#view .copyable code").first).to_have_text(
        "formalbench compare lstm regulargpt gru"
    )
    assert page.locator("#view .charts figure").count() == len(TASKS)


def test_models_of_two_protocols_are_not_compared(opened, two_boards):
    page = opened(two_boards, "#compare=rnn,gru")
    expect(page.locator("#view h2")).to_have_text(["Protocol quick (version 2)"])


def test_a_task_asks_three_questions_one_by_one(opened, quick, board):
    page = opened(quick, "#task=parity")
    lanes = page.locator("#view .lane")
    expect(lanes.locator("h2")).to_have_text(["Expressible", "Learned", "Extrapolates"])
    expressible, learned, extrapolates = lanes.all()
    row = expressible.locator("tr", has_text="exact-parity").first
    expect(row).to_contain_text("10,000")
    expect(expressible).to_contain_text("cannot")
    able = {row.model for row in board.rows if not row.on("parity").unlearned}
    never = {row.model for row in board.rows} - able
    assert able
    assert never
    assert set(extrapolates.locator("tbody th").all_inner_texts()) == able
    assert extrapolates.locator("svg.strip").count() == len(able)
    said = "Not learned (validation accuracy in brackets)"
    expect(extrapolates.locator("> div > p")).to_contain_text(said)
    for model in never:
        expect(extrapolates.locator("> div > p")).to_contain_text(model)
    for row in board.rows:
        drawn = learned.locator(f'tr:has(th[data-sort="{row.model}"])')
        assert drawn.locator("circle").count() == row.on("parity").seeds
        hollow = sum(not run.learned for run in row.on("parity").runs)
        assert drawn.locator("circle.hollow").count() == hollow
    said = extrapolates.locator("svg.strip").first.get_attribute("aria-label")
    assert re.search(r"% at length 41, .*% at length 500; chance 50.0 %", said or "")
    expect(page.locator("#view")).to_contain_text("best order-blind baseline")
    reproduced = page.locator("#view section", has=page.get_by_role("heading", name="Reproduced"))
    expect(reproduced).to_contain_text("holds")
    beside = page.locator("#view section.beside")
    row = beside.locator("tbody tr", has_text="RegularGPT (C=2), Chi et al. 2023, Table 1")
    expect(row).to_contain_text("100.0")
    expect(row).to_contain_text("steps: 100,000, here 840")
    apart = page.locator("#view section", has=page.get_by_text("Published, not measured here"))
    expect(apart).to_contain_text("Tape-RNN")
    expect(apart).not_to_contain_text("RegularGPT (C=2)")


def test_what_learned_and_has_no_test_is_not_said_to_extrapolate(opened, untested):
    page = opened(untested, "#task=first")
    extrapolates = page.locator("#view .lane").last
    cut = extrapolates.locator("p.cut")
    expect(cut).to_have_text(re.compile("no run that learned finished its test: gru"))
    expect(extrapolates.locator("tbody th", has_text=re.compile("^gru$"))).to_have_count(0)
    page = opened(untested, "#model=gru")
    reach = page.locator("#view table", has=page.locator("svg.strip")).first
    expect(reach.locator("tbody tr", has_text="first")).to_contain_text("0 of 3 finished")


def test_a_model_says_what_it_learned_and_leads_to_its_records(opened, quick, board):
    page = opened(quick, "#model=regulargpt")
    row = place(board, "regulargpt").row
    expect(page.locator("#view .verdict")).to_have_text(verdict_of(board, row))
    assert page.locator("#view svg.strip").count() == len(TASKS)
    records = page.locator("#view a[aria-label*='record of seed']")
    assert records.count() == sum(len(result.runs) for result in row.results)
    for link in records.all():
        address = link.get_attribute("href")
        assert (quick.parent / address).resolve().is_file()
    expect(page.locator("#view")).to_contain_text("All options have their defaults.")


def test_weights_by_hand_have_a_verdict_too(opened, quick):
    page = opened(quick, "#model=flawed-first")
    said = page.locator("#view .verdict")
    expect(said).to_have_text(re.compile("^Verified, not trained: wrong on first "))


def test_what_a_model_sets_stands_beside_its_default(opened, quick):
    page = opened(quick, "#model=transformer%5Bcausal%3Dfalse%2C%20positions%3Dalibi%5D")
    expect(page.locator("#view")).to_contain_text("positions=alibi (default sinusoidal)")


def test_a_command_is_copied_by_keyboard(opened, quick):
    page = opened(quick, "#model=lstm", permissions=["clipboard-read", "clipboard-write"])
    line = page.locator("#view .commands .copyable").first
    line.get_by_role("button", name="Copy the command").focus()
    page.keyboard.press("Enter")
    expect(line.get_by_role("status")).to_have_text("copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == line.locator("code").inner_text()
    assert copied.startswith("formalbench run --model lstm --task ")


def test_a_badge_is_a_drawing_of_its_own(opened, quick, board):
    page = opened(quick, "#model=lstm")
    address = page.locator("#view a[download]").get_attribute("href")
    source = page.evaluate(
        "href => fetch ? decodeURIComponent(href.split(',').slice(1).join(',')) : ''", address
    )
    drawing = ElementTree.fromstring(source)
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    score = f"{100 * place(board, 'lstm').row.score:.1f}"
    assert score in "".join(drawing.itertext())
    assert "href" not in source
    markdown = page.locator("#view .copyable code", has_text="![formalbench").inner_text()
    assert markdown.endswith("(formalbench-lstm.svg)")


@pytest.mark.parametrize(
    "place", ["#task=parity", "#model=regulargpt", "#compare=lstm,transformer[positions=alibi]"]
)
def test_no_view_is_wider_than_a_phone(opened, published, place):
    page = opened(published, place, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize(
    ("address", "cells"),
    [
        ("#task=parity", {"rnn": "0.25", "gru": "–"}),
        ("#model=rnn", {"parity": "0.25"}),
        ("#model=gru", None),
    ],
)
def test_a_metric_of_a_plugin_is_a_column(opened, added, address, cells):
    table = opened(added, address).locator("#view table.results", has_text="each seed")
    heads = [head.strip() for head in table.locator("thead th").all_inner_texts()]
    assert (heads[-1] == "f1") == (cells is not None)
    if cells is not None:
        rows = table.locator("tbody tr").all()
        last = {one.locator("th").inner_text(): one.locator("td").last for one in rows}
        assert {name: cell.inner_text() for name, cell in last.items()} == cells
