"""Automata as drawings: what is in them, what is left to the table, and text that stays text."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import pytest
from formalbench_leaderboard.page.automaton import MOST_STATES, DrawnAutomaton, drawing

SVG = "{http://www.w3.org/2000/svg}"
EVEN = DrawnAutomaton(((0, 1), (1, 0)), (1, 0), 0)


def texts(svg, kind):
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return sorted(text.text for text in found if text.get("class") == kind)


@pytest.mark.parametrize(
    "symbol", ["<b>", "<<TABLE>>", "\\N", "a\nb", '"', "&lt;", "]]>", "x" * 10_000]
)
def test_a_symbol_is_text_and_nothing_else(symbol):
    from formalbench.documents.text import harmless

    svg = drawing(EVEN, (symbol, "b"), 2, symbol)
    assert harmless(symbol) in texts(svg, "symbol")
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert tags == {"svg", "title", "desc", "path", "polygon", "text", "g", "circle"}


def test_what_nobody_could_read_is_not_drawn():
    count = MOST_STATES + 1
    ring = DrawnAutomaton(tuple(((n + 1) % count,) for n in range(count)), (0,) * count, 0)
    assert drawing(ring, ("a",), 2, "ring") == ""


def test_without_graphviz_there_is_no_drawing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert drawing(EVEN, ("a", "b"), 2, "even-b") == ""
