"""Whether everybody can use the page: axe's rules, borders, keys, paper, and a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

PLACES = [
    *("", "?q=state%20tracking&sort=-parity", "#task=tomita-3", "#model=transformer"),
    *(
        "#compare=lstm,transformer",
        "?m=lstm,regulargpt-c3",
        "#compare=lstm,lstm",
        "#compare=lstm,no",
        "#compare=lstm,gru,regulargpt",
    ),
]

CONTRASTS = """
(selector) => {
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => channel(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(selector)].map((element) => {
    const line = light(getComputedStyle(element).borderTopColor);
    return (Math.max(line, paper) + 0.05) / (Math.min(line, paper) + 0.05);
  });
}
"""


def grave(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing_grave(opened, published, place, scheme):
    page = opened(published, place, color_scheme=scheme)
    if place.startswith("?q"):
        page.locator("#query").focus()
        expect(page.locator("#hits")).to_be_visible()
    for summary in page.locator("details summary:visible").all():
        summary.click()
    assert grave(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["", "#compare=gru,rnn"])
def test_axe_finds_nothing_grave_on_a_phone(opened, two_boards, place, scheme):
    page = opened(two_boards, place, color_scheme=scheme, width=390, height=844)
    assert grave(page) == []


def test_axe_would_find_something_grave(opened, published):
    page = opened(published)
    page.locator("#query").evaluate("box => box.removeAttribute('aria-label')")
    page.locator("#query").evaluate("box => box.removeAttribute('placeholder')")
    assert any(line.startswith("label:") for line in grave(page))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_borders_of_what_can_be_used_stand_out(opened, published, scheme):
    page = opened(published, color_scheme=scheme)
    ratios = page.evaluate(CONTRASTS, "#query, #controls select, .chip, .chip input, #theme")
    assert len(ratios) > 10
    assert min(ratios) >= 3.0


def test_a_chart_is_read_by_keys(opened, quick):
    page = opened(quick)
    chart = page.locator("#charts .plot input").first
    told = page.locator("#charts .readout").first
    chart.focus()
    last = chart.get_attribute("aria-valuetext")
    assert last.startswith("length 500: gru 100.0 (")
    page.keyboard.press("Home")
    assert chart.get_attribute("aria-valuetext").startswith("length 41: ")
    expect(told).to_contain_text("at 41")
    page.keyboard.press("ArrowRight")
    assert not chart.get_attribute("aria-valuetext").startswith("length 41: ")
    page.keyboard.press("End")
    assert chart.get_attribute("aria-valuetext") == last


def test_every_model_of_the_scatter_is_reached_by_keys(opened, quick):
    page = opened(quick)
    links = page.locator("#cost-chart svg:visible a")
    ranks = page.locator(".board tbody tr td:first-child").all_text_contents()
    assert links.count() == sum(rank[:1].isdecimal() for rank in ranks) > 0
    for link in links.all():
        link.focus()
        name = link.get_attribute("aria-label")
        assert "score" in name
        assert "training time" in name
    page.keyboard.press("Enter")
    expect(page.locator("#view h1")).to_have_text(name.partition(":")[0])


def test_on_paper_colours_keep_their_keys(opened, published):
    page = opened(published)
    page.emulate_media(media="print")
    expect(page.locator("#charts .readout i.dot").first).to_be_visible()
    expect(page.locator(".legend .ramp")).to_be_visible()
    checked = page.locator("#chooser .chip:has(:checked)")
    assert checked.count() >= 3
    expect(checked.first).to_be_visible()
    expect(page.locator("#chooser .chip:not(:has(:checked))").first).to_be_hidden()
    adjusted = "element => getComputedStyle(element).printColorAdjust"
    for coloured in ("#charts .readout i.dot", ".legend .ramp", ".board td.cell"):
        assert page.locator(coloured).first.evaluate(adjusted) == "exact"
    expect(page.locator("#search")).to_be_hidden()


def test_on_a_phone_the_first_row_is_on_the_first_screen(opened, published):
    page = opened(published, width=390, height=844)
    row = page.locator(".board tbody tr").first.bounding_box()
    assert row["y"] + row["height"] <= 844
    title = page.locator("h1").first.bounding_box()
    assert title["y"] < row["y"]
