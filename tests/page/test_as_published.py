"""Every view of the published page: nothing that its script draws is empty or says ``undefined``.

What Python renders of the same records is in `tests/leaderboard/test_as_published.py`.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Page

NO_NUMBER = re.compile(r"(?<![\w-])(None(?! of )|nan|NaN|Infinity|undefined|null)(?![\w-])")

EVERY_VIEW = """async () => {
  const all = (place, selector) => [...place.querySelectorAll(selector)];
  const view = document.querySelector("#view");
  const linked = (kind) => {
    const links = all(document, `#board a[href^="#${kind}="]`);
    return [...new Set(links.map((one) => one.getAttribute("href")))];
  };
  const [first, ...others] = linked("model");
  const pairs = others.map((other) => `#compare=${first.slice(7)},${other.slice(7)}`);
  const title = (chart) => chart.closest("section").querySelector("h2").textContent;
  const shown = (name, place) => {
    const charts = all(place, "figure.chart");
    return {
      name,
      texts: all(place, ":not(:has(*))").map((one) => one.textContent),
      charts: charts.length,
      empty: charts.filter((chart) => !chart.querySelector(".curve .line")).map(title),
      colours: all(place, ".curve").map((one) => [one.dataset.model, one.getAttribute("style")]),
    };
  };
  const seen = [shown("overview", document.querySelector("#overview"))];
  for (const name of [...linked("task"), first, ...others, ...pairs]) {
    const before = view.firstChild;
    location.hash = name;
    while (view.firstChild === before) await new Promise((go) => setTimeout(go, 5));
    seen.push(shown(name, view));
  }
  return seen;
}"""


@pytest.fixture(scope="session")
def views() -> dict[str, Any]:
    return {}


@pytest.fixture
def seen(opened, published, views) -> list[dict[str, Any]]:
    """Return what every view of the published page shows; it is opened once."""
    if not views:
        page: Page = opened(published)
        views["seen"] = page.evaluate(EVERY_VIEW)
    return views["seen"]


def test_no_view_says_what_is_no_value(seen):
    kinds = {view["name"].partition("=")[0] for view in seen}
    assert kinds == {"overview", "#task", "#model", "#compare"}
    assert len(seen) > 60
    odd = [
        (view["name"], text) for view in seen for text in view["texts"] if NO_NUMBER.search(text)
    ]
    assert odd == []


def test_no_chart_is_empty(seen):
    assert seen[0]["charts"] > 5
    assert [(view["name"], view["empty"]) for view in seen if view["empty"]] == []


def test_a_model_has_one_colour_in_every_view(seen):
    colours: dict[str, set[str]] = {}
    for view in seen:
        for model, style in view["colours"]:
            colours.setdefault(model, set()).add(style)
    assert len(colours) > 20
    assert {model: styles for model, styles in colours.items() if len(styles) > 1} == {}
