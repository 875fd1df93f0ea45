"""Texts on the page: drawn by perplexity or BLEU, each in its direction, and by no accuracy."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

BAD = "<img src=x onerror=alert(1)>"


def test_a_text_is_drawn_by_its_perplexity(opened, texts):
    page = opened(texts, "#task=words")
    view = page.locator("#view")
    expect(view).to_contain_text("perplexity, less is better")
    expect(view.locator("h3")).to_have_text("Perplexity against length")
    expect(view.locator(".lane")).to_have_count(0)
    expect(view.locator(".chance")).to_have_count(0)
    models = view.locator("tbody th").all_inner_texts()
    assert models == ["gru", "rnn", BAD]  # the least first
    expect(view.locator("tbody tr").first).not_to_contain_text("%")
    chart = view.locator(".chart .plot input")
    label = chart.get_attribute("aria-label")
    assert label.startswith("perplexity, less is better, on words: ")
    assert BAD in label
    assert page.locator("img, iframe, object, [onmouseover], [onerror]").count() == 0
    chart.focus()
    page.keyboard.press("Home")
    said = chart.get_attribute("aria-valuetext")
    assert said.startswith("length 41: ")
    assert "gru 11.00 (10.00 … 12.00)" in said


def test_its_axis_is_logarithmic(opened, texts):
    page = opened(texts, "#task=words")
    grid = page.locator("#view .chart .grid").evaluate_all(
        "all => all.map(line => Number(line.getAttribute('d').match(/,([\\d.]+)H/)[1]))"
    )
    said = page.locator("#view .chart .tick.end").all_text_contents()
    values = [float(text) for text in said if re.fullmatch(r"[\d.]+", text)]
    assert len(values) == len(grid) >= 2
    up = dict(zip(values, grid, strict=True))
    assert up[20] - up[50] == pytest.approx((up[50] - up[100]) * 1.3219, abs=0.5)


def test_a_translation_is_drawn_by_its_bleu_part_by_part(opened, texts):
    page = opened(texts, "#task=pairs")
    view = page.locator("#view")
    expect(view.locator("h3")).to_have_text("BLEU against length")
    assert view.locator("tbody th").all_inner_texts() == [BAD, "rnn", "gru"]  # the most first
    ticks = view.locator(".chart .tick.middle").all_text_contents()
    assert ticks == ["up-to-9", "over-9"]  # the shorter texts first
    chart = view.locator(".chart .plot input")
    chart.focus()
    page.keyboard.press("Home")
    said = chart.get_attribute("aria-valuetext")
    assert said.startswith("up-to-9: ")
    assert "gru 25.0 (25.0 … 25.0)" in said


def test_a_model_has_its_texts_and_nothing_of_accuracy_is_said_of_them(opened, texts):
    page = opened(texts, "#model=rnn")
    assert page.locator("#view .chart .plot").count() == 2
    cells = page.locator("#view table.results tbody tr", has_text="words").last.locator("td")
    assert cells.all_inner_texts()[2:7] == ["–"] * 5


def test_texts_are_not_compared_by_accuracy(opened, texts):
    page = opened(texts, "#compare=rnn,gru")
    expect(page.locator("#view h2").first).to_be_visible()
    expect(page.locator("#view .chart")).to_have_count(0)
    expect(page.locator("#view")).to_contain_text("None of these tasks counts in a score.")


@pytest.mark.parametrize("place", ["#task=words", "#task=pairs", "#model=rnn", "#compare=rnn,gru"])
def test_axe_finds_nothing_grave_of_texts(opened, texts, place):
    found = Axe().run(opened(texts, place)).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
