"""The public facade: exports are documented on one page and imported on first use."""

import re
from pathlib import Path

import formalbench
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


def told() -> list[str]:
    """Return the names in the first column of the page's table."""
    text = PAGE.read_text("utf-8")
    table = text.partition("## What formalbench exports")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_the_page_and_the_facade_agree():
    names = told()
    assert len(names) == len(set(names)), "a name stands twice"
    assert set(names) == set(formalbench.__all__) - {"__version__"}


@pytest.mark.parametrize("name", sorted(formalbench.__all__))
def test_every_name_is_there(name):
    assert getattr(formalbench, name) is not None
    assert name in dir(formalbench)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Networks'"):
        formalbench.Networks  # noqa: B018
