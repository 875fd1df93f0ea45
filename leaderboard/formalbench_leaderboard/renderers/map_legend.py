"""The legend of the map: what every sign on it means, of those that are on it."""

from __future__ import annotations

from collections.abc import Iterator

from formalbench.analysis.map import LanguageMap, Said, Verdict
from formalbench.analysis.strips import Step

from formalbench_leaderboard.renderers import map_ink as ink
from formalbench_leaderboard.renderers.map_drawing import Canvas, Entry, Sign, flow
from formalbench_leaderboard.renderers.map_layout import CELL_HEIGHT, GROUP_GAP, SMALL, shortened

_BOX = 30.0

_VERDICTS: dict[Verdict, str] = {
    "can": "can",
    "cannot": "cannot",
    "some": "not the same, or not known, of all its models",
}


def add_legend(sheet: Canvas, shown: LanguageMap) -> None:
    """Write the legend where the sheet is filled to: below a map, or above it."""
    sheet.y += GROUP_GAP / 2
    flow(sheet, list(_entries(shown)))


def _entries(shown: LanguageMap) -> Iterator[Entry]:
    cells = [cell for _, _, cell in shown.cells]
    states = {cell.state for cell in cells}
    if "learned" in states:
        told = f"learned; its accuracy on longer strings{_lengths(shown)}, from chance to perfect"
        yield 60.0, told, _ramp
    if any(ink.solved(cell) and not cell.weak for cell in cells):
        yield _BOX, "99 % or more at every tested length, on average over the seeds", _solved
    if any(cell.weak for cell in cells):
        told = "weak evidence: a predictor that is wrong on some test strings has over 95 %, too"
        yield _BOX, told, _weak
    if any(cell.state == "learned" and cell.learned < cell.seeds for cell in cells):
        yield (
            4.0,
            "not every seed learned",
            lambda sheet, x: sheet.shapes.append(ink.ring(x + 2, sheet.y + 8)),
        )
    if "unlearned" in states:
        told = "not learned within the budget, so not known: validation accuracy in %"
        yield _BOX, told, lambda sheet, x: _grey(sheet, x, "58")
    if "failed" in states:
        yield _BOX, "no run finished", lambda sheet, x: _grey(sheet, x, "!")
    if "not run" in states:
        yield 6.0, "not run", lambda sheet, x: sheet.shapes.append(ink.dot(x + 3, sheet.y + 8))
    yield from _heads(shown)
    if shown.protocol:
        yield -6.0, f"Protocol {shortened(shown.protocol, 300, SMALL)}.", lambda sheet, x: None


def _heads(shown: LanguageMap) -> Iterator[Entry]:
    said = {one for family in shown.families for one in family.theory if one is not None}
    for verdict, text in _VERDICTS.items():
        for proved in (True, False):
            if (one := Said(verdict, proved)) in said:
                how = "theory" if proved else "experiments"
                yield 8.0 if proved else 16.0, f"{how}: {text}", _verdict(one)
    if any(one for family in shown.families for one in family.built):
        yield 8.0, "built by hand and verified to this length", _built


def _lengths(shown: LanguageMap) -> str:
    ranges = {(one.first, one.last) for one in shown.columns if one.first and one.last}
    if not ranges or len(ranges) > 3:
        return ""
    listed = " or ".join(f"{first}–{last}" for first, last in sorted(ranges, key=lambda r: -r[1]))
    return f" ({listed} symbols, left to right)"


def _ramp(sheet: Canvas, x: float) -> None:
    shares = [0.0, 0.3, 0.6, 0.85, 1.0]
    strip = tuple(Step(place, place, share) for place, share in enumerate(shares))
    sheet.shapes.append(ink.Shape("track", ink.rectangle(x, sheet.y, 60, CELL_HEIGHT)))
    sheet.shapes += ink.bars(strip, x, sheet.y, 60)


def _solved(sheet: Canvas, x: float) -> None:
    sheet.shapes += ink.bars((Step(0, 0, 1.0),), x, sheet.y, _BOX)
    sheet.shapes.append(ink.tick(x + _BOX / 2, sheet.y + CELL_HEIGHT / 2))


def _weak(sheet: Canvas, x: float) -> None:
    sheet.shapes += ink.bars((Step(0, 0, 1.0),), x, sheet.y, _BOX)
    sheet.shapes.append(ink.wave(x + _BOX / 2, sheet.y + CELL_HEIGHT / 2))


def _grey(sheet: Canvas, x: float, text: str) -> None:
    sheet.shapes.append(ink.Shape("grey", ink.rectangle(x, sheet.y, _BOX, CELL_HEIGHT)))
    sheet.write(x + _BOX / 2, text, "value")


def _verdict(said: Said) -> Sign:
    def sign(sheet: Canvas, x: float) -> None:
        sheet.shapes += ink.verdict(said, x + (4 if said.proved else 8), sheet.y + 8)

    return sign


def _built(sheet: Canvas, x: float) -> None:
    sheet.shapes.append(ink.Shape("built", ink.tick(x + 4, sheet.y + 8).path))
