"""An interval as a small drawing: a scale from 0 to 100 %, a bar, and a dot for the value."""

from __future__ import annotations

from formalbench_leaderboard.web.html import Html, element

WIDTH, HEIGHT, MARGIN = 112, 14, 5


def interval_glyph(value: float, low: float, high: float) -> Html:
    """Return the drawing; numbers beside it say the same, so it is hidden from screen readers."""
    middle = str(HEIGHT // 2)
    left, right = _place(low), _place(high)
    return element(
        "svg",
        _line("scale", _place(0.0), _place(1.0), middle, middle),
        *(_line("tick", _place(at), _place(at), "4", str(HEIGHT - 4)) for at in (0.0, 0.5, 1.0)),
        _line("bar", left, right, middle, middle),
        element("circle", cx=_place(value), cy=middle, r="2.5"),
        class_="interval",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=str(WIDTH),
        height=str(HEIGHT),
        aria_hidden="true",
        focusable="false",
    )


def _line(kind: str, x1: str, x2: str, y1: str, y2: str) -> Html:
    return element("line", class_=kind, x1=x1, x2=x2, y1=y1, y2=y2)


def _place(share: float) -> str:
    """Return where a share is; one below zero (worse than chance) stays at the left end."""
    inside = min(1.0, max(0.0, share))
    return f"{MARGIN + inside * (WIDTH - 2 * MARGIN):.1f}"
