"""Five questions of a new reader, each answered within three clicks on the page."""

from __future__ import annotations

import json
import re

from formalbench.cli.main import run_command_line
from playwright.sync_api import Locator, Page, expect


def rows(page: Page) -> Locator:
    return page.locator(".measured:not([hidden]) table.board tbody tr:visible")


def text_below(page: Page, row: Locator, heading: str) -> str:
    """Return the text of a row of the board below a heading."""
    heads = page.locator(".measured:not([hidden]) table.board thead th")
    names = heads.evaluate_all("all => all.map(head => head.dataset.name)")
    return row.locator("> *").nth(names.index(heading)).inner_text()


def test_which_model_tracks_state_best(opened, quick, quick_results, capsys):
    page = opened(quick)
    page.locator("#query").fill("state tracking")
    page.locator("#hits a").first.click()  # the only click
    expect(page.locator("#found")).to_contain_text("2 of 6 tasks")
    arguments = ["leaderboard", "--results", str(quick_results), "--format", "json"]
    assert run_command_line([*arguments, "--task", "parity,cycle-navigation"]) == 0
    wanted = [row["model"] for row in json.loads(capsys.readouterr().out)["measured"][0]["rows"]]
    assert [text_below(page, row, "model") for row in rows(page).all()] == wanted
    assert text_below(page, rows(page).first, "rank").startswith("1")


def test_does_mamba_learn_parity(opened, published):
    page = opened(published)
    page.locator("#query").fill("mamba parity")
    link = page.locator("#hits").get_by_role("link", name="parity", exact=True)
    link.click()  # the only click
    reproduced = page.locator("#view section", has=page.get_by_role("heading", name="Reproduced"))
    line = reproduced.locator("tr", has_text=re.compile("mamba", re.IGNORECASE)).first
    expect(line).to_be_visible()


def test_which_model_is_best_on_star_free_languages(opened, quick):
    page = opened(quick)
    page.locator("#class").select_option("star-free")  # the only click
    assert text_below(page, rows(page).first, "rank").startswith("1")
    expect(page.locator("#found")).to_contain_text("3 of 6 tasks")
    scores = [float(text_below(page, row, "score")) for row in rows(page).all()[:4]]
    assert scores == sorted(scores, reverse=True)


def test_how_do_lstm_and_regulargpt_differ(opened, quick):
    page = opened(quick)
    form = page.locator("#comparison form")
    assert form.bounding_box()["y"] < 800
    form.get_by_label("A", exact=True).select_option("lstm")
    form.get_by_label("B", exact=True).select_option("regulargpt")
    form.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#view h1")).to_have_text("lstm and regulargpt")
    expect(page.locator("#view table", has_text="A is lstm, B is regulargpt")).to_be_visible()
    expect(page.locator("#view table", has_text="What their runs differ in")).to_be_visible()


def test_how_do_i_add_my_model(opened, quick):
    page = opened(quick)
    page.get_by_text("Add a model", exact=True).click()  # the only click
    commands = page.locator(".actions details[open] code")
    expect(commands.filter(has_text="formalbench new model my-network")).to_be_visible()
    expect(commands.filter(has_text="formalbench leaderboard publish")).to_be_visible()
