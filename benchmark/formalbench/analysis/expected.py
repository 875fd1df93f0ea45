"""What was to be learned: the results where a theorem or a published study says that it can be.

A theorem that a network can express a language leaves open whether training finds it, and a paper's
setting is never quite ours. One whose proof takes a larger network says nothing of this one. So a
result that was to be learned and was not is no contradiction: it is where more steps, another rate
or a fault of ours must be looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formalbench.analysis.beside import Beside
from formalbench.analysis.board import Board, Row
from formalbench.analysis.keys import grouped_by
from formalbench.analysis.learned import LEARNED
from formalbench.analysis.predictions import Foretold
from formalbench.analysis.results import Result


@dataclass(frozen=True, slots=True)
class Expected:
    """A result on training lengths that were to be learned.

    Attributes:
        board, row, result: which.
        said_by: the theorems, experiments and papers that say so.
    """

    board: Board
    row: Row
    result: Result
    said_by: tuple[str, ...]

    @property
    def taught(self) -> bool:
        """Whether two thirds of the seeds, or more, learned the training lengths."""
        return 3 * self.result.learned >= 2 * self.result.seeds


@dataclass(frozen=True, slots=True)
class Taught:
    """How much of what was to be learned was learned, under one protocol.

    Attributes:
        board: the protocol's.
        cells: the results that were to be learned.
    """

    board: Board
    cells: Sequence[Expected]

    @property
    def taught(self) -> int:
        """The number of them that two thirds of the seeds learned."""
        return sum(cell.taught for cell in self.cells)

    @property
    def partly(self) -> int:
        """The number of them that fewer seeds learned, but one at least."""
        return sum(not cell.taught and cell.result.learned > 0 for cell in self.cells)

    @property
    def untaught(self) -> int:
        """The number of them that no seed learned."""
        return len(self.cells) - self.taught - self.partly


def expected(predictions: Iterable[Foretold], papers: Iterable[Beside]) -> list[Expected]:
    """Return every result that a theorem, an experiment or a paper says can be learned.

    Of a paper a number says so that is at least 99 %, the mean or the best: what is right on longer
    strings was learned on shorter ones.
    """
    said: list[tuple[Board, Row, Result, str]] = [
        (cell.board, cell.row, cell.result, cell.prediction.theorem)
        for cell in predictions
        if cell.prediction is not None
        and cell.prediction.verdict == "can"
        and cell.prediction.instance != "a larger one of its family"
    ]
    said += [
        (one.board, one.row, one.result, one.paper.source) for one in papers if _learned_there(one)
    ]
    cells = grouped_by(lambda one: (one[0].name, one[1].key, one[2].task), said)
    return [
        Expected(*held[0][:3], tuple(dict.fromkeys(by for *_, by in held)))
        for held in cells.values()
    ]


def by_protocol(cells: Iterable[Expected]) -> list[Taught]:
    """Count what was learned, protocol by protocol, that with the most cells first."""
    held = grouped_by(lambda cell: cell.board.name, cells).values()
    return sorted((Taught(part[0].board, part) for part in held), key=lambda one: -len(one.cells))


def _learned_there(one: Beside) -> bool:
    reached = [of for of in (one.published.mean, one.published.max) if of is not None]
    return max(reached, default=0.0) >= 100.0 * LEARNED
