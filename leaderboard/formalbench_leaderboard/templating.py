"""The templates of the leaderboard: ``renderers/templates`` and ``web/templates``."""

from __future__ import annotations

from pathlib import Path

from formalbench.analysis.templating import Templates

_HERE = Path(__file__).parent

render = Templates(_HERE / "renderers" / "templates", _HERE / "web" / "templates").render
"""Return what a template makes of fields (see `formalbench.analysis.templating`)."""
