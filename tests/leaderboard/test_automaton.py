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


def test_a_drawing_has_every_state_and_every_edge():
    svg = drawing(EVEN, ("a", "b"), 2, "even-b")
    assert texts(svg, "symbol") == ["a", "a", "b", "b"]
    assert texts(svg, None) == ["0", "1"]
    root = ElementTree.fromstring(svg)
    assert root.find(f"{SVG}title").text == "The minimal automaton of even-b"
    assert root.find(f"{SVG}desc").text == "2 states, state 0 first; accepting: 0"
    states = [one for one in root.iter(f"{SVG}g") if "state" in one.get("class").split()]
    assert [len(one.findall(f"{SVG}circle")) for one in states] == [2, 1]


def test_everything_lies_within_the_drawing():
    root = ElementTree.fromstring(drawing(EVEN, ("a", "b"), 2, "even-b"))
    left, top, width, height = map(float, root.get("viewBox").split())
    places = [text for text in root.iter(f"{SVG}text") if text.get("x")]
    assert len(places) == 4
    for text in places:
        assert left <= float(text.get("x")) <= left + width
        assert top <= float(text.get("y")) <= top + height


def test_symbols_between_two_states_share_an_edge():
    machine = DrawnAutomaton(((1, 1, 0, 0, 0), (1, 1, 1, 1, 1)), (0, 1), 0)
    assert texts(drawing(machine, tuple("abcde"), 2, "x"), "symbol") == ["a, b", "any", "c, d, e"]


def test_of_several_classes_each_state_shows_its_own():
    machine = DrawnAutomaton(((1,), (2,), (0,)), (0, 2, 1), 0)
    assert texts(drawing(machine, ("a",), 3, "x"), None) == ["0", "1", "2"]


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
