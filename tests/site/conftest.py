"""The site that `make docs` has built."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

SITE = Path(__file__).parents[2] / "build" / "docs"


@pytest.fixture(scope="session")
def pages():
    """Return every page, parsed, by its path."""
    paths = set(SITE.rglob("*.html")) - {SITE / "leaderboard" / "index.html"}  # tested by itself
    found = {path: BeautifulSoup(path.read_text("utf-8"), "lxml") for path in paths}
    assert found, "make docs builds the site"
    return found


@pytest.fixture
def page(pages):
    return lambda name: pages[SITE / f"{name}.html"]
