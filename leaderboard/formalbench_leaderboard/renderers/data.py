"""The board as JSON, for programs: measured and published under keys of their own."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from formalbench.analysis.board import Board, Page
from formalbench.analysis.constructions import SHOWN_LENGTHS, ExactModels
from formalbench.analysis.statistics import wilson_each

# Inside JSON these occur in strings only; written as escapes they do no harm in a web page.
_FOR_WEB_PAGES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


# An array of numbers over several lines. No string can look like one: it has no line breaks.
_NUMBERS = re.compile(r"\[\n([-+.\deE,\s]+)\]")


def render(page: Page) -> str:
    """Return the page as JSON; shares are fractions of one, rounded to six digits."""
    data = {
        "schema_version": 1,
        "title": page.title,
        "measured": [_rounded(_measured(board)) for board in page.boards],
        "exact": _exact(page.exact),
        "published": [table.model_dump(mode="json") for table in page.published],
        "environments": list(page.environments),
    }
    text = json.dumps(data, ensure_ascii=True, indent=2, allow_nan=False)
    text = _NUMBERS.sub(lambda match: f"[{' '.join(match[1].split())}]", text)
    return text.translate(_FOR_WEB_PAGES) + "\n"


def _measured(board: Board) -> dict[str, Any]:
    """Return a board, with the Wilson interval of every run at every length."""
    data = asdict(board)
    runs = [run for row in data["rows"] for result in row["results"] for run in result["runs"]]
    for run in runs:
        if metrics := dict(run.pop("metrics")):
            run["metrics"] = metrics
    for cells in (run["cells"] for run in runs if run["cells"] is not None):
        low, high = wilson_each(cells["correct"], cells["strings"])
        cells.update(wilson_low=low.tolist(), wilson_high=high.tolist())
    return data


def _exact(exact: ExactModels) -> dict[str, Any]:
    # Not rounded: a margin can be as small as 10^-10.
    rows = [
        {**asdict(row), "bits": dict(zip(map(str, SHOWN_LENGTHS), row.bits, strict=True))}
        for row in exact.rows
    ]
    return {"rows": rows, "notes": list(exact.notes)}


def _rounded(value: Any, key: str = "") -> Any:
    # A learning rate is an input, not a result: it stays as it was given.
    if isinstance(value, float) and key != "learning_rate":
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {name: _rounded(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
