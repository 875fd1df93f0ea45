"""The map on the page's first screen: what it says, the drawing, and the same as a table."""

from __future__ import annotations

from functools import partial

from formalbench.analysis.map import LanguageMap
from formalbench.analysis.map_sentences import brief, sentences
from formalbench.analysis.text import printable
from markupsafe import Markup

from formalbench_leaderboard.renderers.map_drawing import Addresses
from formalbench_leaderboard.renderers.map_figure import FEW, render
from formalbench_leaderboard.renderers.map_layout import NARROW, WIDE
from formalbench_leaderboard.templating import render as from_template
from formalbench_leaderboard.web.contents import packed_text
from formalbench_leaderboard.web.tables import address, link


def map_section(shown: LanguageMap) -> Markup | None:
    """Return the map for the first screen; None of one without columns."""
    if not shown.columns:
        return None
    to = Addresses(partial(address, "model"), partial(address, "task"))
    few = len(shown.cells) <= FEW
    frames = {"wide": WIDE, "narrow": NARROW} if few else {"wide": WIDE}
    drawn = {
        name: Markup(render(shown, "page", frame, to, f"map-{name}"))  # noqa: S704 - escaped there
        for name, frame in frames.items()
    }
    rows = [row for family in shown.families for row in family.rows]
    section = from_template(
        "map.html.j2",
        sentences=sentences(shown),
        drawn=drawn if few else {},
        packed=None if few else packed_text(drawn["wide"]),
        shown=shown,
        rows=rows,
        brief=brief,
        link=link,
        missing=[printable(row.missing) for row in rows if row.missing],
    )
    return Markup(section)  # noqa: S704 - a template of ours, which escapes
