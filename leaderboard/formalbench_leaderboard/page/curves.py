"""The charts of the page: frames into which the script draws curves, and score against cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from formalbench.documents.text import count, grouped, percent, shortened
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.result import TaskFacts

from formalbench_leaderboard.board.tables import TRAINING_COST, training_seconds
from formalbench_leaderboard.charts.length_charts import grows_by_factors
from formalbench_leaderboard.page.page_data import DIGITS, PageResult, colours, duration

LEFT, RIGHT, TOP, BOTTOM = 34, 14, 12, 34
"""The margins of a chart, in pixels."""


SIZES = {"small": (340, 210), "large": (660, 300)}


MOST_CHOSEN = 8
"""Maximum number of curves in a chart whose colours differ clearly."""


_FIRST, _FEW = 6, 4


_WORST = 1e4
"""A perplexity of more than this many times the least one leaves the chart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: the values at its ends and their places, its ticks with their texts, its label."""

    ends: tuple[float, float]
    places: tuple[float, float]
    ticks: Sequence[tuple[float, str]]
    label: str
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value, in pixels."""
        scale: Callable[[float], float] = math.log if self.log else float
        first, last = map(scale, self.ends)
        share = (scale(value) - first) / ((last - first) or 1.0)
        return round(self.places[0] + share * (self.places[1] - self.places[0]), 1) + 0.0

    @property
    def data(self) -> str:
        """The axis as the script reads it."""
        return " ".join(f"{one:g}" for one in (self.log, *self.ends, *self.places))


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a chart.

    Attributes:
        number, size: the number of the chart, and the name of its size.
        width, height: in pixels.
        x, y: the axes.
        chance: the line at chance, as the path of an SVG; may be empty.
        unit: the factor of values in texts; None for a perplexity.
        names: the named parts on the horizontal axis.
        label, after: what the chart shows, before and after the models' names.
    """

    number: int
    size: str
    width: int
    height: int
    x: Axis
    y: Axis
    chance: str
    unit: float | None
    names: Sequence[str]
    label: str
    after: str


class Curves:
    """The curves of a page."""

    def __init__(self, page: Page, shown: Sequence[PageResult]) -> None:
        self.boards = page.boards
        self.facts = [
            (place, one) for place, board in enumerate(page.boards) for one in board.facts
        ]
        self.numbers = {(place, one.title): at for at, (place, one) in enumerate(self.facts)}
        self.drawn: dict[int, list[PageResult]] = {}
        for one in shown:
            if one.curve and (at := self.numbers.get((one.place, one.result.task))) is not None:
                self.drawn.setdefault(at, []).append(one)

    def tasks(self, place: int) -> list[str]:
        """Return the tasks of a board with curves, the ranked ones first."""
        board = self.boards[place]
        return [one for one in (*board.tasks, *board.other_tasks) if self._models(place, one)]

    def _models(self, place: int, title: str) -> set[str]:
        """Return the models of a board with a curve on a task."""
        at = self.numbers.get((place, title), -1)
        return {one.row.model for one in self.drawn.get(at, ())}

    def choice(self, place: int, titles: Sequence[str]) -> list[tuple[Row, bool]]:
        """Return the rows with curves on some tasks, and whether each is chosen at first.

        These are rows that together have all tasks, and the first of each rank.
        """
        models = {title: self._models(place, title) for title in titles}
        rows = [r for r in self.boards[place].rows if any(r.model in m for m in models.values())]
        chosen: list[str] = []
        left = [title for title in titles if models[title]]
        while left and len(chosen) < MOST_CHOSEN:
            best = max(rows, key=lambda row: sum(row.model in models[title] for title in left))
            chosen.append(best.model)
            left = [title for title in left if best.model not in models[title]]
        firsts = [row for at, row in enumerate(rows) if not at or row.rank != rows[at - 1].rank]
        if len(firsts) < _FEW and rows:
            firsts = [rows[round(at * (len(rows) - 1) / (_FEW - 1))] for at in range(_FEW)]
        for row in firsts:
            if row.model not in chosen and len(chosen) < _FIRST:
                chosen.append(row.model)
        return [(row, row.model in chosen) for row in rows]

    def chosen(self, place: int, title: str) -> set[str]:
        """Return the models that a task's chart shows at first."""
        return {row.model for row, first in self.choice(place, [title]) if first}

    def frames(self) -> Iterator[Frame]:
        """Yield the frames of all charts, in all sizes."""
        for at, results in self.drawn.items():
            for size in SIZES:
                yield self._frame(at, size, self.facts[at][1], results)

    def _frame(self, at: int, size: str, facts: TaskFacts, results: Sequence[PageResult]) -> Frame:
        width, height = SIZES[size]
        curves = [one.curve for one in results if one.curve]
        names = list(dict.fromkeys(name for curve in curves for name in curve.get("names", ())))
        measure, accuracy = facts.measure, facts.measure.accuracy
        y = _value_axis(facts, curves, height)
        chance = [(n, DIGITS * share) for n, share in facts.informative_lengths] if accuracy else []
        after = ""
        if chance:
            low, high = (
                percent(end(share for _, share in facts.informative_lengths)) for end in (min, max)
            )
            after = f"; chance is {low if low == high else f'{low} to {high}'} percent"
            if low == high:
                chance = [chance[0], chance[-1]]
        label = f"Accuracy in percent against string length on {facts.title}:"
        x = _length_axis(facts, curves, names, width)
        return Frame(
            number=at,
            size=size,
            width=width,
            height=height,
            x=x,
            y=y,
            chance="L".join(f"{x.at(length)},{y.at(value)}" for length, value in chance),
            unit=100 / DIGITS if accuracy else 100 if measure.share else None,
            names=names,
            label=label if accuracy else f"{measure.title}, on {facts.title}:",
            after=after,
        )


def _value_axis(facts: TaskFacts, curves: Sequence[dict[str, list[float]]], height: int) -> Axis:
    """Return the axis of values; for texts as far as they reach, logarithmic without shares."""
    if facts.measure.accuracy:
        ticks = [(DIGITS * part / 4, str(25 * part)) for part in range(5)]
        return Axis((0, DIGITS), (height - BOTTOM, TOP), ticks, "")
    places = (height - BOTTOM, TOP + 12)
    most = max(max(curve["high"]) for curve in curves)
    if facts.measure.share:
        ends = (0.0, most or 1.0)
        return Axis(ends, places, _ticks(_round_ticks(ends, 4)), facts.measure.title)
    least = min(min(curve["low"]) for curve in curves)
    ends = (least / 1.05, min(most, _WORST * least) * 1.05)
    values = _log_ticks(ends)
    values = values if len(values) > 2 else _round_ticks(ends, 4)
    return Axis(ends, places, _ticks(values), f"{facts.measure.title} (log)", log=True)


def _length_axis(
    facts: TaskFacts, curves: Sequence[dict[str, list[float]]], names: Sequence[str], width: int
) -> Axis:
    """Return the axis of lengths, or of the named parts of a test."""
    places = (LEFT, width - RIGHT)
    if names:
        room = max(1, int(width / len(names) / 6) - 1)
        texts = [shortened(name, room + 1) for name in names]
        ticks = [(float(at), text) for at, text in enumerate(texts)]
        return Axis((-0.5, len(names) - 0.5), places, ticks, "part of the test")
    lengths = sorted({length for curve in curves for length in curve["length"]})
    ends = (float(facts.first), float(facts.last))
    if not facts.measure.accuracy and grows_by_factors(lengths):
        return Axis(ends, places, _ticks(lengths), "length", log=True)
    return Axis(ends, places, _ticks(_round_ticks(ends, 5)), "length")


def _ticks(values: Sequence[float]) -> list[tuple[float, str]]:
    return [(v, f"{v:.4g}" if v < 1e4 else f"{v:.0e}".replace("+0", "")) for v in values]


def _round_ticks(ends: tuple[float, float], number: int) -> list[float]:
    """Return about that many round numbers between two."""
    rough = (ends[1] - ends[0]) / number or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [n * step for n in range(math.ceil(ends[0] / step), math.floor(ends[1] / step) + 1)]


def _log_ticks(ends: tuple[float, float]) -> list[float]:
    """Return powers of ten between two numbers, and twos and fives if these are few."""

    def between(*factors: int) -> list[float]:
        candidates = (factor * 10.0**power for power, factor in product(range(-3, 21), factors))
        return [value for value in candidates if ends[0] <= value <= ends[1]]

    return powers if len(powers := between(1)) > 2 else between(1, 2, 5)


@dataclass(frozen=True, slots=True)
class Point:
    """A model in a chart of cost: its place, what it says, and where its name has room."""

    model: str
    colour: str
    x: float
    y: float
    low: float
    high: float
    text: str
    name: tuple[float, float, bool] | None


@dataclass(frozen=True, slots=True)
class CostChart:
    """A chart of score against cost; without points nothing is known of the cost."""

    key: str
    text: str
    size: str
    width: int
    height: int
    x: Axis
    y: Axis
    points: Sequence[Point]


_COSTS: tuple[tuple[str, str, str, Callable[[Row, Board], float | None]], ...] = (
    ("seconds", "training time", f"{TRAINING_COST} (log)", training_seconds),
    (
        "parameters",
        "parameters",
        "parameters, the most over the tasks (log)",
        lambda row, board: row.parameters[1],
    ),
)


def cost_charts(board: Board) -> list[CostChart]:
    """Return score against each cost, for wide and for narrow screens."""
    return [
        _cost_chart(board, cost, size, width)
        for cost in _COSTS
        for size, width in (("wide", 920), ("narrow", 340))
    ]


def _cost_chart(
    board: Board,
    cost: tuple[str, str, str, Callable[[Row, Board], float | None]],
    size: str,
    width: int,
) -> CostChart:
    key, text, label, value_of = cost
    height = 440
    rows = [
        (row, value, [100 * (part or 0.0) for part in (row.score, row.low, row.high)])
        for row in board.rows
        if row.score is not None and (value := value_of(row, board))
    ]
    values = [value for _, value, _ in rows] or [1.0]
    ends = (min(values) / 1.15, max(values) * 1.15)
    least = min([0.0, *(low for _, _, (_, low, _) in rows)])
    ticks = [(tick, count(round(tick), round(tick))) for tick in _log_ticks(ends)]
    x = Axis(ends, (LEFT, width - RIGHT), ticks, label, log=True)
    marks = [(25.0 * part, str(25 * part)) for part in range(5)]
    y = Axis((least, 100.0), (height - BOTTOM, TOP + 12), marks, "score")
    points = []
    for row, value, (score, low, high) in rows:
        cost_text = duration(value) if key == "seconds" else grouped(round(value))
        name = f"{row.model}: score {score:.1f} ({low:.1f} … {high:.1f}), {text} {cost_text}"
        at = (x.at(value), y.at(score), y.at(low), y.at(high))
        points.append(Point(row.model, colours(row.model), *at, name, None))
    return CostChart(key, text, size, width, height, x, y, _with_names(points, width))


_Box = tuple[float, float, float, float]


def _with_names(points: Sequence[Point], width: int) -> list[Point]:
    """Give each point a name that covers no other name and no other mark, where there is room."""
    marks = {
        id(one): (one.x - 4, min(one.high, one.y - 4), 8.0, max(8.0, one.low - one.high))
        for one in points
    }
    boxes: list[_Box] = []
    result = []
    for one in sorted(points, key=lambda one: one.y):
        others = [box for key, box in marks.items() if key != id(one)]
        name = None
        for move, before in product((0, -9, 9, -18, 18), (False, True)):
            long = 6.1 * len(one.model)
            box = (one.x + (-9 - long if before else 9), one.y + move - 6, long, 12.0)
            fits = box[0] > LEFT and box[0] + long < width
            if fits and not any(_overlap(box, other) for other in (*boxes, *others)):
                boxes.append(box)
                name = (one.x + (-9 if before else 9), one.y + move, before)
                break
        result.append(replace(one, name=name))
    return result


def _overlap(a: _Box, b: _Box) -> bool:
    horizontal = a[0] < b[0] + b[2] and b[0] < a[0] + a[2]
    return horizontal and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]
