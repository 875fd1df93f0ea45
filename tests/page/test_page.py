"""The page of the published records, clicked through."""

import re

import pytest
from playwright.sync_api import Page, expect

BOARD = ".measured:not([hidden]) table.board"


def models(page: Page) -> list[str]:
    return page.locator(f"{BOARD} tbody tr:visible th").all_inner_texts()


def column(page: Page, name: str) -> list[float]:
    heads = page.locator(f"{BOARD} thead th").evaluate_all("all => all.map(h => h.dataset.name)")
    index = heads.index(name)
    cells = page.locator(f"{BOARD} tbody tr:visible > :nth-child({index + 1})").all()
    return [float(cell.get_attribute("data-sort") or "") for cell in cells]


def head(page: Page, name: str):
    one = page.locator(f"{BOARD} thead th[data-name='{name}']")
    return one.get_by_role("button"), one


def wait_for_sort(page: Page, name: str, direction: str) -> None:
    expect(head(page, name)[1]).to_have_attribute("aria-sort", direction)


def tab_to(page: Page, selector: str, most: int = 200) -> None:
    """Move on by Tab until what has the focus is what a selector means."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab never came to {selector}")


def test_sorting_changes_the_order_and_says_so(opened, quick):
    page = opened(quick)
    before = models(page)
    assert len(before) >= 10
    button, _ = head(page, "cycle-navigation")
    button.click()
    wait_for_sort(page, "cycle-navigation", "descending")
    values = column(page, "cycle-navigation")
    assert values == sorted(values, reverse=True)
    assert models(page) != before
    button.press("Enter")
    wait_for_sort(page, "cycle-navigation", "ascending")
    assert column(page, "cycle-navigation") == values[::-1]


def test_a_first_click_on_names_begins_with_the_first(opened, quick):
    page = opened(quick)
    head(page, "model")[0].click()
    wait_for_sort(page, "model", "ascending")
    names = [name.replace("\n", "") for name in models(page)]
    assert names[0] == min(names)
    assert page.locator(f"{BOARD} [aria-sort]").count() == 1


def test_filter_keeps_the_rows_that_match(opened, quick):
    page = opened(quick)
    everything = models(page)
    page.get_by_role("searchbox").fill("TRANSFORMER alibi")
    assert [name.replace("\n", "") for name in models(page)] == [
        "transformer[causal=false, positions=alibi]"
    ]
    expect(page.locator("#found")).to_have_text(f"1 of {len(everything)} models, 6 tasks")
    page.locator("#query").fill("")
    assert models(page) == everything


def test_cells_show_another_measure(opened, quick):
    page = opened(quick)
    page.locator("#measure").select_option("longest_99")
    row = page.locator(f"{BOARD} tbody tr", has_text="lstm").first
    assert row.locator("td.cell").first.inner_text() == "500"
    page.locator("#measure").select_option("mean accuracy")
    assert row.locator("td.cell").first.inner_text() == "100.0"


def test_chosen_models_have_curves(opened, quick):
    page = opened(quick)
    chart = page.locator("#charts .plot").first
    lines = chart.locator(".curve .line")
    before = lines.count()
    assert before >= 3
    box = page.locator("#chooser input:not(:checked)").first
    name = box.get_attribute("value")
    box.check()
    assert lines.count() == before + 1
    assert name in chart.locator("input").get_attribute("aria-label")
    page.locator("#chooser input:checked").first.uncheck()
    assert lines.count() == before


def test_what_was_not_learned_is_dashed_and_named_so(opened, quick):
    page = opened(quick, "#task=parity")
    view = page.locator("#view")
    for model in ("lstm", "transformer[causal=false]"):
        view.get_by_label(model, exact=True).set_checked(True)
    assert view.locator(".curve[data-model='transformer[causal=false]'].dashed").count() == 1
    assert view.locator(".curve[data-model='lstm']:not(.dashed)").count() == 1
    chart = view.locator(".chart .plot input")
    chart.focus()
    page.keyboard.press("Home")
    said = chart.get_attribute("aria-valuetext")
    assert "transformer[causal=false] (not learned) " in said
    assert "lstm 100.0 (" in said


def test_no_more_models_are_chosen_than_there_are_colours(opened, quick):
    page = opened(quick)
    while page.locator("#chooser input:checked").count() < 8:
        page.locator("#chooser input:not(:checked)").first.check()
    assert page.locator("#chooser input:not(:checked):enabled").count() == 0
    expect(page.locator("#chooser")).to_contain_text("8 at a time")


def test_a_model_and_a_task_by_keyboard_alone_and_back(opened, quick):
    page = opened(quick)
    tab_to(page, "a[href='#model=lstm']")
    page.keyboard.press("Enter")
    expect(page.locator("#view h1")).to_have_text("lstm")
    expect(page.locator("#view h1")).to_be_focused()
    expect(page.locator("#overview")).to_be_hidden()
    assert page.locator("#view .chart .plot svg").count() >= 6
    expect(page.locator("#view .commands")).to_contain_text("formalbench run --model lstm")
    tab_to(page, "#view a[href='#task=cycle-navigation']")
    page.keyboard.press("Enter")
    expect(page.locator("#view h1")).to_have_text("cycle-navigation")
    assert "cycle-navigation" in page.title()
    page.go_back()
    expect(page.locator("#view h1")).to_have_text("lstm")
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()
    expect(page.locator("#view")).to_be_hidden()


def test_a_task_tells_what_it_is(opened, quick):
    page = opened(quick, "#task=tomita-3")
    view = page.locator("#view")
    expect(view).to_contain_text(
        "no run of 1s of odd length directly followed by a run of 0s of odd length"
    )
    assert view.locator(".automaton .state").count() == 5
    assert view.locator(".automaton .accepting").count() == 3
    assert view.locator(".examples tbody tr").count() == 8
    beside = view.locator("section.beside")
    expect(beside).to_contain_text("Published numbers and ours")
    for model in ("RNN", "RegularGPT (C=2)", "RegularGPT (C=3)"):
        expect(beside).to_contain_text(f"{model}, Chi et al. 2023, Table 1")
    view.get_by_label("regulargpt", exact=True).check()
    assert "regulargpt" in view.locator(".chart .plot input").get_attribute("aria-label")


def test_the_scatter_shows_either_cost(opened, quick):
    page = opened(quick)
    dots = page.locator("#cost-chart svg:visible a circle")
    assert dots.count() >= 10
    before = page.locator("#cost-chart svg:visible").inner_html()
    page.locator("#cost-controls").get_by_label("parameters", exact=True).check()
    assert dots.count() >= 10
    assert page.locator("#cost-chart svg:visible").inner_html() != before


THEME_OF_THE_FIRST_BODY = """
new MutationObserver((_, observer) => {
  if (!document.body) return;
  window.firstTheme = document.documentElement.dataset.theme;
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
"""Note which theme was set when there was first something to paint."""


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_toggled(opened, quick, scheme):
    page = opened(quick, color_scheme=scheme)
    before = background(page)
    assert (sum(map(int, before[4:-1].split(","))) < 300) == (scheme == "dark")
    page.locator("#theme").click()
    assert background(page) != before
    kept = page.evaluate("localStorage.getItem('formalbench-theme')")
    assert kept == {"light": "dark", "dark": "light"}[scheme]
    # Chromium writes in the background: a reload at once, once in a hundred, reads what was before.
    page.add_init_script(f"localStorage.setItem('formalbench-theme', '{kept}')")
    page.add_init_script(THEME_OF_THE_FIRST_BODY)
    page.reload()
    assert page.evaluate("firstTheme") == kept
    assert background(page) != before


@pytest.mark.parametrize("place", ["", "#model=transformer", "#task=even-pairs", "#task=nowhere"])
def test_nothing_is_wider_than_a_phone(opened, published, place):
    page = opened(published, place, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    if not place:
        inside = page.locator(".measured .scroll").first
        assert inside.evaluate("box => box.scrollWidth > box.clientWidth")
        name = page.locator(f"{BOARD} tbody th").first
        inside.evaluate("box => { box.scrollLeft = 400 }")
        assert name.bounding_box()["x"] >= 0  # it stays while the numbers scroll


def test_boards_are_shown_one_at_a_time(opened, two_boards):
    page = opened(two_boards)
    assert set(models(page)) == {"gru", "rnn"}
    assert page.locator("#cost-controls input:checked").get_attribute("value") == "seconds"
    page.locator("#protocol").select_option(label="slow (version 2)")
    assert models(page) == ["gru"]
    assert page.locator("#chooser input").count() == 1
    expect(page.locator("#found")).to_have_text("1 model, 6 tasks")
    page.locator(f"{BOARD} tbody th a").click()
    both = ["Protocol quick (version 2)", "Protocol slow (version 2)"]
    expect(page.locator("#view h2")).to_have_text(["Compare with another model", *both])
    page.go_back()
    assert models(page) == ["gru"]


def test_the_published_board_with_ranks_that_learned_most_comes_first(opened, published):
    page = opened(published)
    shown = page.locator("#protocol option").all_inner_texts()
    standard = {"standard (version 4)", "standard (version 3)"}
    longer = "standard-long (version 1)"  # on a task outside the suite
    assert set(shown) == {*standard, "quick (version 2)", longer}
    first, second = shown[0], "standard (version 3)"
    assert first != second
    of_first = models(page)
    assert of_first
    page.locator("#protocol").select_option(label=second)
    of_second = models(page)
    assert "transformer[causal=false]" in of_second
    assert of_second != of_first
    head(page, "first")[0].click()
    wait_for_sort(page, "first", "descending")
    page.locator("#protocol").select_option(label=first)
    wait_for_sort(page, "first", "descending")
    page.locator(f"{BOARD} tbody th a", has_text=re.compile("^lstm$")).click()
    expect(page.locator("#view h2", has_text="Protocol").first).to_have_text(f"Protocol {first}")
    heads = page.locator("#view h2").all_inner_texts()
    assert {f"Protocol {name}" for name in shown} <= set(heads)


def test_it_reads_without_a_script(opened, published):
    page = opened(published, java_script_enabled=False)
    assert len(models(page)) >= 10
    expect(page.locator("#exact table").first).to_be_visible()
    expect(page.locator("#published table").first).to_be_visible()
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator("#search")).to_be_hidden()
    expect(page.get_by_role("link", name="CSV")).to_be_visible()


@pytest.mark.parametrize(
    ("place", "form"), [("", "#comparison form"), ("#model=lstm", "#view form.compare")]
)
def test_two_models_can_be_compared_from_the_first_screen(opened, published, place, form):
    page = opened(published, place)
    form = page.locator(form)
    assert form.bounding_box()["y"] < 800
    form.get_by_label("A", exact=True).select_option("lstm")
    form.get_by_label("B", exact=True).select_option("gru")
    form.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#view h1")).to_have_text("lstm and gru")


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_the_whole_board_is_seen_on_a_desktop(opened, published, width):
    page = opened(published, width=width, height=900)
    box = page.locator(".measured:not([hidden]) .scroll").first
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    last = page.locator(".measured:not([hidden]) table.board thead th").last.bounding_box()
    assert last["x"] + last["width"] <= width
