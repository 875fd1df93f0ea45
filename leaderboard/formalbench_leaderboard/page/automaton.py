"""Drawings of automata, made with the page: Graphviz computes the layout, a template draws it.

Graphviz receives sizes and no text, so that a plugin's symbols cannot be interpreted as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formalbench_leaderboard.templating import render

RADIUS = 16.0


MARGIN = 4.0


START = 26.0


LETTER = 7.3
"""Width of a letter of the labels, in points."""


MOST_STATES = 40


MOST_EDGES = 160
"""Maximum number of edges that are drawn; larger automata are hard to read as a drawing."""


_INCH = 72.0


_ROOM = '<<TABLE BORDER="0" FIXEDSIZE="TRUE" WIDTH="{:.0f}" HEIGHT="16"><TR><TD></TD></TR></TABLE>>'


Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DrawnAutomaton:
    """A small automaton.

    Attributes:
        transitions: for each state, the next state for each symbol.
        classes: the class of each state.
        start: the first state.
    """

    transitions: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class _State:
    place: Point
    text: str
    accepting: bool


@dataclass(frozen=True, slots=True)
class _Edge:
    path: str
    head: str
    text: str = ""
    label: Point = (0.0, 0.0)


def drawing(machine: DrawnAutomaton, alphabet: Sequence[str], classes: int, name: str) -> str:
    """Return an automaton as SVG, in the colours of the page around it.

    Args:
        machine: the automaton.
        alphabet: the symbols; those that lead from one state to another share an edge.
        classes: number of classes of the language; if there are two, class 1 is a double circle.
        name: name of the language.

    Returns:
        An empty text if Graphviz is not installed (the extra ``figures``), or if the drawing would
        be hard to read.
    """
    texts = _labels(machine, alphabet)
    if len(machine.classes) > MOST_STATES or len(texts) > MOST_EDGES:
        return ""
    try:
        from pygraphviz import AGraph
    except ImportError:
        return ""
    graph = AGraph(directed=True, rankdir="LR", ranksep="0.45", nodesep="0.35")
    graph.node_attr.update(shape="circle", label="", width=2 * RADIUS / _INCH, fixedsize=True)
    for state in range(len(machine.classes)):
        graph.add_node(state)
    for (first, last), text in texts.items():
        graph.add_edge(first, last, label=_ROOM.format(LETTER * len(text) + 6))
    graph.layout(prog="dot")
    *_, width, height = map(float, graph.graph_attr["bb"].split(","))
    states = [
        _State(
            _point(graph.get_node(state).attr["pos"], height),
            str(state) if classes == 2 else str(kind),
            classes == 2 and kind == 1,
        )
        for state, kind in enumerate(machine.classes)
    ]
    edges = [_edge(graph.get_edge(*ends).attr, text, height) for ends, text in texts.items()]
    return render(
        "automaton.svg.j2",
        name=name,
        description=_description(machine, classes),
        states=states,
        edges=[_start_arrow(states[machine.start].place), *edges],
        box=(-START - MARGIN, -MARGIN, width + START + 2 * MARGIN, height + 2 * MARGIN),
        radius=RADIUS,
    )


def _labels(machine: DrawnAutomaton, alphabet: Sequence[str]) -> dict[tuple[int, int], str]:
    """Return the symbols on each edge, as one text."""
    by_edge: dict[tuple[int, int], list[str]] = {}
    for first, row in enumerate(machine.transitions):
        for symbol, last in zip(alphabet, row, strict=True):
            by_edge.setdefault((first, last), []).append(symbol)
    total = len(alphabet) if len(alphabet) > 3 else 0
    return {
        ends: "any" if len(symbols) == total else ", ".join(symbols)
        for ends, symbols in by_edge.items()
    }


def _description(machine: DrawnAutomaton, classes: int) -> str:
    count = f"{len(machine.classes)} states, state {machine.start} first"
    if classes != 2:
        return f"{count}; the number in a state is the class"
    accepting = [str(state) for state, kind in enumerate(machine.classes) if kind == 1]
    return f"{count}; accepting: {', '.join(accepting) or 'none'}"


def _start_arrow(place: Point) -> _Edge:
    """Return the arrow to the first state."""
    end, y = place[0] - RADIUS, place[1]
    return _Edge(f"M{end - START:.1f},{y:.1f} H{end - 8:.1f}", _head((end - 10, y), (end, y)))


def _edge(attributes: Mapping[str, str], text: str, height: float) -> _Edge:
    """Return an edge from Graphviz's output: the arrow's tip, and the points of its splines."""
    end, *points = attributes["pos"].replace("\\\n", "").removeprefix("e,").split()
    path = [_point(point, height) for point in points]
    first, *others = (f"{x:.1f},{y:.1f}" for x, y in path)
    head = _head(path[-1], _point(end, height))
    return _Edge(f"M{first} C{' '.join(others)}", head, text, _point(attributes["lp"], height))


def _head(base: Point, tip: Point) -> str:
    """Return the corners of an arrow's head."""
    offset = ((tip[0] - base[0]) * 0.35, (tip[1] - base[1]) * 0.35)
    corners = (
        tip,
        (base[0] - offset[1], base[1] + offset[0]),
        (base[0] + offset[1], base[1] - offset[0]),
    )
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _point(text: str, height: float) -> Point:
    x, y = map(float, text.split(","))
    return x, height - y
