"""The page of a reproduction: the figure, the cells, every claim with its verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from formalbench.analysis.columns import Column, Sheet
from formalbench.analysis.markdown import Markdown
from formalbench.analysis.reproduced import (
    CellTold,
    ClaimTold,
    Document,
    Scale,
    Verdict,
    count_verdicts,
)
from formalbench.analysis.templating import Templates

T = TypeVar("T", CellTold, ClaimTold)

RECORDS = ".records.jsonl"
"""Ends the name of the file of records beside a page."""

MEASURED = ".measured.jsonl"
"""Ends the name of the file of what was measured without training."""

NOT_RUN: Verdict = "not run at this scale"

_TEMPLATES = Templates(Path(__file__).parent / "templates")


def as_markdown(one: Document) -> str:
    """Return the page of a document."""
    told = {cell.verdict for cell in one.cells} | {claim.verdict for claim in one.claims}
    return _TEMPLATES.render(
        "reproduction.md.j2",
        one=one,
        name=Markdown(one.reproduction),
        command=Markdown(one.command),
        RECORDS=Markdown(RECORDS),
        MEASURED=Markdown(MEASURED),
        hours=hours_note(one.core_hours),
        scale=scale_note(one.scale, one.reduced),
        nothing_run=told == {NOT_RUN},
        counted=count_verdicts(cell.verdict for cell in one.cells),
        held=_held(one),
        cells=Sheet([_column(name) for name in ("row", "column", *_BESIDE)], one.cells),
        claims=Sheet([_column(name) for name in ("claim", *_BESIDE)], one.claims),
        emphasised=_emphasised,
    )


def scale_note(scale: Scale, reduced: str) -> str:
    """Say the scale, and what was reduced at it."""
    return f"Scale: {scale}.{f' Reduced: {reduced}' if reduced else ''}"


def hours_note(core_hours: tuple[float | None, float | None]) -> str:
    """Say how long both scales take one CPU core; empty if neither is known."""
    known = [
        f"about {hours:,.2g} at {scale}" if hours < 100 else f"about {hours:,.0f} at {scale}"
        for scale, hours in zip(("quick", "paper"), core_hours, strict=True)
        if hours is not None
    ]
    return f"CPU core hours: {', '.join(known)}." if known else ""


_BESIDE = ("paper", "ours", "verdict")


def _column(name: str) -> Column[T]:
    return Column(name, "", lambda part: getattr(part, name), form="words")


def _held(one: Document) -> str:
    if all(claim.verdict == NOT_RUN for claim in one.claims):
        return "none was run"
    held = sum(claim.verdict == "holds" for claim in one.claims)
    return f"{held} of {len(one.claims)} hold"


def _emphasised(part: CellTold | ClaimTold) -> str:
    return Markdown(f"**{part.verdict}**") if part.verdict == "differs" else part.verdict
