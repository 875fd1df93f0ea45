"""What a publication changed on the boards: rows that are new, ranks that moved."""

from __future__ import annotations

from formalbench.analysis.board import Page


def board_changes(before: Page, after: Page) -> list[str]:
    """Say which rows are new and which have another rank, board by board: one line each."""
    ranks = {
        (board.protocol, board.version): {row.model: row.rank for row in board.rows}
        for board in before.boards
    }
    lines = []
    for board in after.boards:
        was = ranks.get((board.protocol, board.version), {})
        for row in board.rows:
            if row.model not in was:
                lines.append(f"{board.protocol}: new row {row.model}, {_rank(row.rank)}")
            elif was[row.model] != row.rank:
                moved = f"{_rank(was[row.model])} -> {row.rank or 'no rank'}"
                lines.append(f"{board.protocol}: {row.model}, {moved}")
    return lines


def _rank(rank: int | None) -> str:
    return "no rank" if rank is None else f"rank {rank}"
