"""An interval as a small drawing: a scale from 0 to 100 %, a bar, and a dot for the value."""

from __future__ import annotations

from markupsafe import Markup

WIDTH, HEIGHT, MARGIN = 84, 14, 5
MIDDLE = HEIGHT // 2

_DRAWING = Markup(
    '<svg class="interval" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    'aria-hidden="true" focusable="false">'
    '<path class="scale" d="M{first} {middle}H{last}M{first} 4v6M{half} 4v6M{last} 4v6"/>'
    '<path class="bar" d="M{low} {middle}H{high}"/>'
    '<circle cx="{value}" cy="{middle}" r="2.5"/></svg>'
)


def interval_glyph(value: float, low: float, high: float) -> Markup:
    """Return the drawing; numbers beside it say the same, so it is hidden from screen readers."""
    places = {"value": value, "low": low, "high": high, "first": 0.0, "half": 0.5, "last": 1.0}
    return _DRAWING.format(
        width=WIDTH,
        height=HEIGHT,
        middle=MIDDLE,
        **{name: _place(share) for name, share in places.items()},
    )


def _place(share: float) -> str:
    """Return where a share is; one below zero (worse than chance) stays at the left end."""
    inside = min(1.0, max(0.0, share))
    return f"{MARGIN + inside * (WIDTH - 2 * MARGIN):.1f}"
