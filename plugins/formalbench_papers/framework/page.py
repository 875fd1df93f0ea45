"""The page of a reproduction: the figure, the cells, every claim with its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench.analysis.markdown import bullets, table
from formalbench.analysis.reproduced import (
    CellTold,
    ClaimTold,
    Document,
    Scale,
    Verdict,
    count_verdicts,
)
from formalbench.analysis.text import markdown, plural

RECORDS = ".records.jsonl"
"""Ends the name of the file of records beside a page."""

NOT_RUN: Verdict = "not run at this scale"

BEFORE = "none: measured before records were kept"


def as_markdown(one: Document) -> str:
    """Return the page of a document."""
    name = one.reproduction
    parts = [
        f"# {markdown(one.title)}",
        f"Source: {markdown(one.source)}.",
        markdown(one.about),
        markdown(scale_note(one.scale, one.reduced)),
    ]
    told = [*(cell.verdict for cell in one.cells), *(claim.verdict for claim in one.claims)]
    if told and set(told) == {NOT_RUN}:
        parts.append("**Nothing of it has been run yet.** This page shows what would be measured.")
    if one.notes:
        parts += ["## Since this was measured", bullets(one.notes)]
    figures = ""
    if one.figure:
        parts.append(f"![{markdown(one.title)}]({name}.svg)")
        figures = f"; figure: [PNG]({name}.png), [SVG]({name}.svg)"
    if one.cells:
        counted = count_verdicts(cell.verdict for cell in one.cells)
        parts += [f"## Cell by cell: {counted}", _cells(one.cells)]
    if one.claims:
        held = sum(claim.verdict == "holds" for claim in one.claims)
        run = any(claim.verdict != NOT_RUN for claim in one.claims)
        heading = f"{held} of {len(one.claims)} hold" if run else "none was run"
        parts += [f"## Claims: {heading}", _claims(one.claims)]
    if one.remarks:
        parts += ["## How this differs from the paper", bullets(one.remarks)]
    facts = [
        f"- Command: `{one.command}`",
        f"- Data: [CSV]({name}.csv), [JSON]({name}.json){figures}",
        *_on_records(one),
        f"- Date: {one.date}; {one.took}",
        *(f"- Environment: {markdown(line)}" for line in one.environments),
    ]
    return "\n\n".join([*parts, "## Again", "\n".join(facts)]) + "\n"


def scale_note(scale: Scale, reduced: str) -> str:
    """Say the scale, and what was reduced at it."""
    return f"Scale: {scale}.{f' Reduced: {reduced}' if reduced else ''}"


def _on_records(one: Document) -> list[str]:
    if one.records is None:
        return [f"- Records: {BEFORE}"]
    if one.records == 0:
        return []
    return [f"- Records: [{plural(one.records, 'run')}]({one.reproduction}{RECORDS})"]


def _cells(cells: Sequence[CellTold]) -> str:
    heads = ["row", "column", "paper", "ours", "verdict"]
    rows = [
        [*map(markdown, (cell.row, cell.column, cell.paper, cell.ours)), _emphasised(cell.verdict)]
        for cell in cells
    ]
    return table(heads, rows, heads)


def _claims(claims: Sequence[ClaimTold]) -> str:
    heads = ["claim", "paper", "ours", "verdict"]
    rows = [
        [*map(markdown, (claim.claim, claim.paper, claim.ours)), _emphasised(claim.verdict)]
        for claim in claims
    ]
    return table(heads, rows, heads)


def _emphasised(verdict: Verdict) -> str:
    return f"**{verdict}**" if verdict == "differs" else verdict
