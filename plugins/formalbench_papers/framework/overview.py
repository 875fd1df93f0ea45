"""The page that lists every result of the papers, with its state: README.md beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formalbench.analysis.columns import Column, Sheet
from formalbench.analysis.markdown import Markdown
from formalbench.analysis.reproduced import count_verdicts, read_document
from formalbench.analysis.templating import Templates
from formalbench.store import write_atomically

OVERVIEW = "README.md"

RESULTS = Path(__file__).parents[1] / "results.yaml"

_TEMPLATES = Templates(Path(__file__).parent / "templates")

Result = Mapping[str, str]


def overview(folder: Path) -> str:
    """Return the page, by the documents in a folder."""
    papers: Sequence[Mapping[str, Any]] = _read(RESULTS)
    columns: list[Column[Result]] = [
        Column("result", "", lambda one: one["result"], form="words"),
        Column("what it says", "", lambda one: one["says"], form="words"),
        Column("here", "", lambda one: _here(folder, one), form="words"),
        Column("state", "", lambda one: _state(folder, one), form="words"),
    ]
    return _TEMPLATES.render(
        "overview.md.j2",
        papers=[(one["paper"], Sheet(columns, one["results"])) for one in papers],
    )


def write_overview(folder: Path) -> None:
    """Write the page again, if the folder has one."""
    if (folder / OVERVIEW).exists():
        write_atomically(folder / OVERVIEW, overview(folder))


def _read(file: Path) -> Any:
    import yaml

    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _here(folder: Path, one: Result) -> str:
    page = one.get("page")
    if page is None:
        return one.get("here", "")
    return Markdown(f"[{page}]({page}.md)") if (folder / f"{page}.md").exists() else page


def _state(folder: Path, one: Result) -> str:
    """Say what a page found, or what there is to say without one."""
    page = one.get("page")
    if page is None:
        return one["state"]
    file = folder / f"{page}.json"
    if not file.exists():
        return "not run"
    told = read_document(file)
    claims = count_verdicts(claim.verdict for claim in told.claims)
    cells = count_verdicts(cell.verdict for cell in told.cells)
    parts = [f"scale {told.scale}", f"claims: {claims}" if claims else ""]
    parts += [f"cells: {cells}" if cells else "", "stale" if told.notes else ""]
    return "; ".join(filter(None, parts))
