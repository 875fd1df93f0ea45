"""What a cell of the board shows behind its number: its seeds, its interval and chance."""

import pytest
from formalbench.documents.text import interval, percent
from formalbench.host import PluginHost
from formalbench.statistics.build import build_page
from formalbench_leaderboard.board.sources import read_all
from formalbench_leaderboard.board.views import suite_view
from playwright.sync_api import expect

CELL = ".measured:not([hidden]) .board tbody td.cell"


@pytest.fixture(scope="module")
def board(quick_results):
    view = suite_view(PluginHost.load(), "default")
    (found,) = build_page(read_all([quick_results]).records, view).boards
    return found


def drawn(page, model, task):
    heads = page.locator(".board thead th").evaluate_all("all => all.map(h => h.dataset.name)")
    row = page.locator(f".board tbody tr[data-model='{model}']")
    return row.locator(f":scope > :nth-child({heads.index(task) + 1})")


def told(result, facts):
    each = [percent(r.accuracy) + ("" if r.learned else " (not learned)") for r in result.runs]
    return (
        f"seeds {', '.join(each)}; 95 % interval of the mean "
        f"{interval(result.low, result.high)}; chance {percent(facts.chance_length)}"
    )


def test_every_cell_has_its_seeds_and_says_them(opened, quick, board):
    page = opened(quick, height=2000)
    measured = [(row, task) for row in board.rows for task in board.tasks if row.on(task)]
    expect(page.locator(f"{CELL} svg.seeds")).to_have_count(len(measured))
    for row in board.rows:
        for task in board.tasks:
            if (row, task) not in measured:
                continue
            result, cell = row.on(task), drawn(page, row.model, task)
            said = told(result, board.facts_of(task))
            assert cell.get_attribute("title") == said
            assert cell.locator("svg.seeds").get_attribute("aria-label") == said
            assert cell.locator("circle").count() == result.seeds
            hollow = sum(not run.learned for run in result.runs)
            assert cell.locator("circle.hollow").count() == hollow
            assert cell.locator(".bar, .chance").count() == 2


def test_dots_lie_where_the_accuracies_are(opened, quick, board):
    page = opened(quick, height=2000)
    row = next(row for row in board.rows if row.model == "rnn")
    result = row.on("cycle-navigation")
    cell = drawn(page, "rnn", "cycle-navigation")
    expect(cell.locator("circle")).to_have_count(result.seeds)
    places = [float(dot.get_attribute("cx")) for dot in cell.locator("circle").all()]
    assert places == pytest.approx([3 + 42 * run.accuracy for run in result.runs], abs=0.06)
    bar = cell.locator(".bar")
    ends = [float(bar.get_attribute(name)) for name in ("x1", "x2")]
    assert ends == pytest.approx([3 + 42 * result.low, 3 + 42 * result.high], abs=0.06)


def test_what_was_not_learned_is_grey(opened, quick, board):
    page = opened(quick, height=2000)
    strokes = "svg => getComputedStyle(svg.querySelector('.bar')).stroke"
    (first, *_) = board.rows
    learned = drawn(page, first.model, "parity").locator(".seeds").evaluate(strokes)
    never = next(row for row in board.rows if row.on("parity").unlearned)
    grey = drawn(page, never.model, "parity").locator(".seeds").evaluate(strokes)
    quiet = page.locator(".found").evaluate("said => getComputedStyle(said).color")
    assert grey == quiet != learned


def test_the_drawing_moves_nothing_and_stays_with_another_measure(opened, quick):
    page = opened(quick, height=300)
    line = page.locator(".measured .board tbody tr").last
    expect(line.locator("svg.seeds")).to_have_count(0)  # it is far below the screen
    before = line.bounding_box()["height"]
    line.scroll_into_view_if_needed()
    expect(line.locator("svg.seeds")).not_to_have_count(0)
    assert line.bounding_box()["height"] == before
    number = line.locator("td.cell").first
    page.locator("#measure").select_option("longest_99")
    expect(number.locator("svg.seeds")).to_have_count(1)
    assert number.inner_text() == "–"


def test_a_board_is_drawn_when_it_is_shown_and_all_of_them_on_paper(opened, two_boards):
    page = opened(two_boards, height=2000)
    hidden = page.locator(".measured[hidden] td.cell svg.seeds")
    expect(page.locator(f"{CELL} svg.seeds").first).to_be_visible()
    assert hidden.count() == 0
    page.locator("#protocol").select_option(label="slow (version 2)")
    expect(page.locator(f"{CELL} svg.seeds").first).to_be_visible()
    page = opened(two_boards, height=300)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("td.cell svg.seeds").count() == page.locator("td.cell[style]").count()


def test_without_a_script_there_is_no_room_left_for_it(opened, quick):
    page = opened(quick, java_script_enabled=False)
    below = "cell => parseFloat(getComputedStyle(cell).paddingBottom)"
    assert page.locator(CELL).first.evaluate(below) < 8
    expect(page.locator(".legend .drawn")).to_be_hidden()
