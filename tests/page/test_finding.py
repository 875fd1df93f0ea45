"""Search, filters and sorting; the address says what is shown, and Back takes a step back."""

import json
from urllib.parse import unquote, urlsplit

import pytest
from formalbench.cli.main import run_command_line
from playwright.sync_api import Page, expect

ROWS = ".measured:not([hidden]) table.board tbody tr:visible"
TASKS = ".measured:not([hidden]) table.board thead th:visible > a"
SUITE = ["parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3"]


def models(page: Page) -> list[str]:
    return [name.replace("\n", "") for name in page.locator(f"{ROWS} th").all_inner_texts()]


def tasks(page: Page) -> list[str]:
    return [name.replace("\n", "") for name in page.locator(TASKS).all_inner_texts()]


def query(page: Page) -> str:
    return unquote(urlsplit(page.url).query)


def search(page: Page, text: str) -> None:
    page.locator("#query").fill(text)


def test_what_people_call_a_task_finds_it_and_narrows_the_board(opened, quick):
    page = opened(quick)
    everything = models(page)
    search(page, "State-Tracking")
    assert tasks(page) == ["parity", "cycle-navigation"]
    assert models(page) == everything
    hits = page.locator("#hits")
    expect(hits.get_by_role("link", name="cycle-navigation")).to_be_visible()
    expect(hits).to_contain_text("formalbench show task flip-flop")
    expect(hits).to_contain_text("formalbench show suite state-tracking")
    expect(page.locator("#found")).to_contain_text("2 of 6 tasks")


def test_a_suite_by_its_name_has_its_tasks(opened, quick):
    page = opened(quick, "?q=Chomsky")
    assert {"parity", "even-pairs", "cycle-navigation"} <= set(tasks(page)) < set(SUITE)
    page.locator("#query").focus()
    expect(page.locator("#hits")).to_contain_text("formalbench show suite chomsky")


def test_what_was_not_measured_is_found_with_its_command(opened, quick):
    page = opened(quick)
    everything = models(page)
    search(page, "mamba")
    expect(page.locator("#hits")).to_contain_text("formalbench run --model mamba")
    assert models(page) == everything
    expect(page.locator("#found")).to_contain_text("the board has nothing of this name")
    search(page, "no such thing at all")
    expect(page.locator("#hits")).to_contain_text("No model, task, suite or class matches.")


def test_a_link_with_everything_in_it_shows_the_same(opened, quick):
    page = opened(quick)
    search(page, "transformer")
    page.locator("#query").blur()
    page.locator("#measure").select_option("max")
    page.locator(".board th[data-name='first'] button").click()
    page.locator("#class").select_option(index=1)
    shown = models(page), tasks(page), page.locator(f"{ROWS} td").all_inner_texts()
    assert len(shown[0]) >= 4
    assert all("transformer" in name for name in shown[0])
    other = opened(quick, f"?{urlsplit(page.url).query}")
    assert (models(other), tasks(other), other.locator(f"{ROWS} td").all_inner_texts()) == shown
    assert other.locator("#query").input_value() == "transformer"
    assert other.locator("#measure").input_value() == "max"


def test_back_takes_each_step_back(opened, quick):
    page = opened(quick)
    start = models(page)
    page.locator(".board th[data-name='tomita-3'] button").click()
    by_task = models(page)
    assert by_task != start
    assert query(page) == "sort=-tomita-3"
    page.locator("#measure").select_option("longest_99")
    assert query(page) == "show=longest_99&sort=-tomita-3"
    page.go_back()
    assert page.locator("#measure").input_value() == ""
    assert models(page) == by_task
    page.go_back()
    assert query(page) == ""
    assert models(page) == start
    expect(page.locator(".board th[data-name='rank']")).to_have_attribute("aria-sort", "ascending")
    page.go_forward()
    assert models(page) == by_task


def test_letters_typed_are_no_steps_and_a_view_keeps_what_was_asked(opened, quick):
    page = opened(quick)
    before = page.evaluate("history.length")
    page.locator("#query").press_sequentially("lstm")
    assert page.evaluate("history.length") == before
    assert models(page) == ["lstm"]
    page.locator(f"{ROWS} th a").click()
    expect(page.locator("#view h1")).to_have_text("lstm")
    assert query(page) == "q=lstm"
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()
    assert models(page) == ["lstm"]
    page.locator("#clear").click()
    assert len(models(page)) >= 10
    assert query(page) == ""


def test_search_by_keys_alone(opened, quick):
    page = opened(quick)
    page.locator("#query").focus()
    page.keyboard.type("parity")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hits a").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#view h1")).to_have_text("parity")
    expect(page.locator("#hits")).to_be_hidden()


def standing(page: Page) -> dict[str, list[str]]:
    """Return rank, score and interval of each row, by its model."""
    heads = page.locator(".measured:not([hidden]) table.board thead th")
    names = heads.evaluate_all("all => all.map(head => head.dataset.name)")
    wanted = [names.index(name) for name in ("rank", "score", "interval")]
    rows = page.locator(ROWS).evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    return {row[names.index("model")]: [row[place] for place in wanted] for row in rows}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("star-free", ["--class", "star-free"]),
        ("state tracking", ["--task", "parity,cycle-navigation"]),
    ],
)
def test_rank_and_score_of_a_class_are_those_of_the_command(
    opened, quick, quick_results, capsys, name, words
):
    page = opened(quick)
    whole, order = standing(page), models(page)
    page.locator("#class").select_option(name)
    arguments = ["leaderboard", "--results", str(quick_results), *words]
    assert run_command_line([*arguments, "--format", "json"]) == 0
    board = json.loads(capsys.readouterr().out)["measured"][0]
    wanted = {row["model"]: row for row in board["rows"]}
    assert tasks(page) == board["tasks"]
    shown = standing(page)
    assert shown.keys() == wanted.keys()
    for model, (rank, score, interval) in shown.items():
        row = wanted[model]
        ends = dict.fromkeys(str(row[key]) for key in ("rank_low", "rank_high"))
        assert rank == "–".join(ends)
        assert score == f"{100 * row['score']:.1f}"
        assert interval == f"{100 * row['low']:.1f} … {100 * row['high']:.1f}"
    assert models(page) == [row["model"] for row in board["rows"]]
    assert shown != whole
    page.locator("#class").select_option("")
    assert (standing(page), models(page)) == (whole, order)


def test_columns_are_hidden_and_the_address_says_which(opened, quick):
    page = opened(quick)
    page.locator(".columns summary").click()
    page.locator(".columns").get_by_label("interval", exact=True).uncheck()
    page.locator(".columns").get_by_label("parity", exact=True).uncheck()
    assert tasks(page) == SUITE[1:]
    heads = page.locator(".measured:not([hidden]) table.board thead")
    expect(heads.locator("th[data-name='interval']")).to_be_hidden()
    expect(heads.locator("th[data-name='score']")).to_be_visible()
    other = opened(quick, f"?{urlsplit(page.url).query}")
    assert tasks(other) == SUITE[1:]
    expect(other.locator(".columns input[value='interval']")).not_to_be_checked()
    page.go_back()
    assert tasks(page) == SUITE
    page.locator("#clear").click()
    expect(heads.locator("th[data-name='interval']")).to_be_visible()
    assert query(page) == ""


@pytest.mark.parametrize(
    ("text", "hits", "rows", "columns"),
    [
        ("transfomer", ["transformer"], "transformer", SUITE),
        ("rwkv7", ["formalbench run --model rwkv-7"], "", SUITE),
        ("star-free", ["Classes of languages", "star-free: rank by its tasks on this board"], "",
         ["first", "even-pairs", "dyck-2-3"]),
        ("state tracking", ["show suite state-tracking", "state tracking: rank by its tasks"], "",
         ["parity", "cycle-navigation"]),
        ("mamba parity", ["formalbench run --model mamba", "parity"], "", ["parity"]),
        ("lstm parity", ["lstm", "parity"], "lstm", ["parity"]),
    ],
)  # fmt: skip
def test_several_words_typos_and_classes_find_what_is_meant(
    opened, quick, text, hits, rows, columns
):
    page = opened(quick)
    search(page, text)
    for hit in hits:
        expect(page.locator("#hits")).to_contain_text(hit)
    assert tasks(page) == columns
    assert models(page)
    assert all(rows in name for name in models(page))


def test_a_versus_b_opens_the_comparison(opened, quick):
    page = opened(quick)
    search(page, "LSTM vs regulargpt")
    assert sorted(models(page)) == ["lstm", "regulargpt"]
    page.locator("#query").press("Enter")
    expect(page.locator("#view h1")).to_have_text("lstm and regulargpt")


def test_a_class_that_was_found_is_shown_by_its_link(opened, quick):
    page = opened(quick)
    search(page, "star free")
    page.locator("#query").press("Enter")
    assert query(page) == "class=star-free"
    assert page.locator("#class").input_value() == "star-free"
    assert page.locator("#query").input_value() == ""


@pytest.mark.parametrize(
    "place", ["?sort=nothing", "?show=constructor", "?protocol=x&kind=y&class=z", "?q=%", "?%%%="]
)
def test_an_address_of_nonsense_is_a_page(opened, quick, place):
    page = opened(quick, place)
    expect(page.locator(".board thead").first).to_be_visible()
    expect(page.locator(".board th[data-name='rank']")).to_have_attribute("aria-sort", "ascending")


def test_cite_add_and_download_are_on_the_first_screen(opened, published):
    page = opened(published)
    for name in ("CSV", "JSON"):
        box = page.get_by_role("link", name=name, exact=True).bounding_box()
        assert box["y"] + box["height"] <= 800
    page.get_by_text("Cite", exact=True).click()
    expect(page.locator("pre")).to_contain_text("@software{formalbench,")
    expect(page.locator("pre")).to_contain_text("eprint        = {2305.03796}")
    page.get_by_text("Add a model", exact=True).click()
    for command in (
        "formalbench new model my-network",
        "--plugin my_network.py --protocol standard",
        "formalbench leaderboard publish",
    ):
        expect(page.locator(".actions")).to_contain_text(command)
    expect(page.locator("pre")).to_be_hidden()
