"""The templates of the leaderboard: ``renderers/templates`` and ``page/templates``."""

from __future__ import annotations

from pathlib import Path

from formalbench.documents.templates import Templates

_HERE = Path(__file__).parent

render = Templates(_HERE / "renderers" / "templates", _HERE / "page" / "templates").render
"""Return the text of a template with the given fields (see `formalbench.documents.templates`)."""
