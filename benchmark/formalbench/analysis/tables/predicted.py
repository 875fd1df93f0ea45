"""The table of theory's predictions beside the measurement, and the one of how often they agree."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench.analysis.columns import Column, Sheet, number, percentage, share, words
from formalbench.analysis.predictions import FOUND, Agreement, Foretold, Found, counts
from formalbench.analysis.results import SOLVED, Result
from formalbench.analysis.text import MISSING, percent

CELLS: tuple[Column[Foretold], ...] = (
    Column(
        "protocol",
        "how it was trained and tested",
        lambda cell: cell.board.name,
        {"protocol": lambda cell: cell.board.protocol, "version": lambda cell: cell.board.version},
        "words",
    ),
    words("model", "with the options set", lambda cell: cell.row.model, form="name"),
    words("task", "what was asked", lambda cell: cell.result.task),
    words(
        "class",
        "the smallest class that the language is known to be in",
        lambda cell: cell.language_class,
        "language_class",
    ),
    words(
        "prediction",
        "this instance can, a larger one can: the theorem states a size that suffices, and this "
        "network is as large, or not; can: it states none; cannot: at no size; extrapolates, does "
        "not: what training was seen to find",
        lambda cell: cell.kind,
        more={
            "evidence": lambda cell: cell.prediction.evidence if cell.prediction else None,
            "instance": lambda cell: cell.prediction.instance if cell.prediction else None,
        },
    ),
    words(
        "by",
        "the theorem or experiment",
        lambda cell: cell.prediction.theorem if cell.prediction else None,
        "theorem",
        more={
            "conditions": lambda cell: cell.theorem.conditions if cell.theorem else None,
            "source": lambda cell: cell.theorem.source if cell.theorem else None,
        },
    ),
    words("found", "how the measurement agrees with it", lambda cell: cell.found),
    Column(
        "learned",
        "how many seeds learned the training lengths",
        lambda cell: f"{cell.result.learned} of {cell.result.seeds}",
        {"learned": lambda cell: cell.result.learned, "seeds": lambda cell: cell.result.seeds},
    ),
    percentage(
        "validation",
        "accuracy on the training lengths, the mean over the seeds",
        lambda cell: cell.result.validation,
    ),
    Column(
        "test",
        "accuracy on longer strings, the mean over the seeds, and the best seed's; a run that did "
        "not finish is at chance",
        lambda cell: _test(cell.result),
        {"mean": lambda cell: share(cell.result.mean), "max": lambda cell: share(cell.result.max)},
    ),
)
"""What is said of a prediction."""


def _test(result: Result) -> str:
    if result.finished == 0:
        return ", ".join(f"{times} {status}" for status, times in result.failures)
    return f"{percent(result.mean)} ({percent(result.max)})"


def predicted_table(cells: Sequence[Foretold]) -> Sheet[Foretold]:
    """Return every prediction beside the measurement."""
    return Sheet(CELLS, cells)


def agreement_table(cells: Sequence[Foretold]) -> Sheet[Agreement]:
    """Return how often each kind of predictions was found to hold."""
    protocol: Column[Agreement] = words(
        "protocol", "how it was trained and tested", lambda count: count.board.name
    )
    kind: Column[Agreement] = words(
        "prediction", "what is predicted", lambda count: count.kind, form="name"
    )
    return Sheet([protocol, kind, *map(_times, (*FOUND, "no prediction"))], counts(cells))


def _times(found: Found) -> Column[Agreement]:
    return number(
        found, MEANINGS[found], lambda count: count.times[found], told=lambda n: str(n or MISSING)
    )


MEANINGS: dict[Found, str] = {
    "as predicted": "the measurement is what is predicted; a seed solves a test if it has "
    f"{100 * SOLVED:.0f} % right at every tested length",
    "not beyond": "a theorem says that such a network can; what was trained learned its training "
    "lengths and not the longer ones",
    "against": "the measurement contradicts the prediction",
    "not learned": "no run learned its training lengths within the budget: nothing was asked of "
    "the prediction",
    "no prediction": "neither a theorem nor an experiment decides",
}
"""What each finding means."""
