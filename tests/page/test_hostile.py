"""Hostile names in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from formalbench.documents.text import harmless
from playwright.sync_api import expect


def test_hostile_names_are_text(opened, hostile: Path, hostile_names):
    page = opened(hostile)
    scripts = page.locator("script").count()
    assert page.locator("img, iframe, object, [onmouseover], [onerror]").count() == 0
    rows = page.locator(".board tbody th")
    shown = {name.replace("\n", "") for name in rows.all_inner_texts()}
    assert shown == {harmless(name) for name in hostile_names}
    for index in range(rows.count()):
        name = rows.nth(index).inner_text()
        rows.nth(index).locator("a").click()
        expect(page.locator("#view h1")).to_have_text(name)
        assert page.locator("#view table").count() >= 1
        page.go_back()
    page.locator(".measured ul a[href^='#task=']").last.click()
    assert page.locator("#view h1").count() == 1
    assert page.locator("script").count() == scripts
    assert page.locator("img, iframe, object, [onmouseover], [onerror]").count() == 0


@pytest.mark.parametrize(
    ("place", "name"), [("<b>nobody</b>", "<b>nobody</b>"), ("%", "%"), ("constructor.name", None)]
)
def test_an_address_of_nothing_is_told_plainly(opened, hostile: Path, place, name):
    page = opened(hostile, f"#model={place}")
    expect(page.locator("#view h1")).to_have_text(name or place)
    expect(page.locator("#view")).to_contain_text("There is no model of this name here.")
