"""What a map says, in three sentences: what can be, what was learned, what nobody knows.

Each has its numbers and what must not be read into them.
"""

from __future__ import annotations

from formalbench.analysis.columns import CAPPED, DOUBTFUL, SOME
from formalbench.analysis.learned import LEARNED
from formalbench.analysis.map import LanguageMap, MapCell, MapColumn
from formalbench.analysis.text import grouped, percent, plural

NOTHING = "No model has been measured on a language yet, so nothing is known of any."

Placed = tuple[MapColumn, MapCell]

_THRESHOLD = f"{100 * LEARNED:.0f} %"

_SAID = (
    ("this network can express the language", "can", "this instance"),
    ("a larger one of its family can", "can", "a larger one of its family"),
    ("one of its family can, of a size that is not stated,", "can", "unknown"),
    ("none can", "cannot", ""),
)
"""What a theorem says of a cell, its verdict and the instance that it speaks of."""


def sentences(shown: LanguageMap) -> tuple[str, ...]:
    """Return the sentences above a map; one if nothing was measured."""
    cells = [(column, cell) for column, _, cell in shown.cells]
    measured = [(column, cell) for column, cell in cells if cell.state != "not run"]
    if not measured:
        return (_nothing(shown),)
    return _expressible(measured), _extrapolates(measured), _unknown(cells)


def _nothing(shown: LanguageMap) -> str:
    built = sum(one is not None for family in shown.families for one in family.built)
    if not built:
        return NOTHING
    return (
        f"Nothing has been trained yet, so nothing is known of what is learned; "
        f"{plural(built, 'construction')} by hand {_were(built)} verified, which says what can be."
    )


def _expressible(measured: list[Placed]) -> str:
    said = [cell for _, cell in measured if _is_theorem(cell)]
    if not said:
        return (
            f"No theorem known here decides any of the {plural(len(measured), 'measured cell')}, "
            "so whether a model failed to learn or cannot do it is open."
        )
    parts = [
        f"{what} in {len(cells)} ({sum(cell.solved > 0 for cell in cells)} solved)"
        for what, verdict, instance in _SAID
        if (cells := [cell for cell in said if _says(cell) == (verdict, instance)])
    ]
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return (
        f"What theory says of {plural(len(measured), 'measured cell')}: {listed}. A cell is solved "
        f"if a seed is right on {_THRESHOLD} of the strings at every tested length; theorems are "
        "about weights that exist, not about what training finds."
    )


def _extrapolates(measured: list[Placed]) -> str:
    learned = [(column, cell) for column, cell in measured if cell.state == "learned"]
    if not learned:
        return "No cell was learned, so nothing is known of how far any model extrapolates."
    far = [column for column, cell in learned if _to_the_end(column, cell)]
    if not far:
        return (
            f"None of the {plural(len(learned), 'learned cell')} stays right on {_THRESHOLD} of "
            "the strings up to the longest tested length, on average over its seeds; each strip "
            "shows where it falls."
        )
    return (
        f"Of the {plural(len(learned), 'learned cell')}, {len(far)} {_stay(len(far))} right on "
        f"{_THRESHOLD} of the strings at every tested length{_times(far)}, on average over the "
        "seeds, all of which learned; between and beyond these lengths nothing was tested."
    )


def _unknown(cells: list[Placed]) -> str:
    unlearned = [cell for _, cell in cells if cell.state == "unlearned"]
    failed = sum(cell.state == "failed" for _, cell in cells)
    missing = sum(cell.state == "not run" for _, cell in cells)
    others = [f"{failed} did not finish{_learned_first(cells)}"] if failed else []
    others += [f"{missing} {_were(missing)} not run"] if missing else []
    rest = f"; {' and '.join(others)}" if others else ""
    if not unlearned:
        partly = sum(cell.state == "learned" and cell.learned < cell.seeds for _, cell in cells)
        some = f", {partly} of them not by every seed" if partly else ""
        return f"Every cell that finished was learned{some}{rest}."
    budget = steps(max(cell.budget for cell in unlearned))
    these = "these" if len(unlearned) > 1 else "it"
    return (
        f"{plural(len(unlearned), 'cell')} {_were(len(unlearned))} not learned within at most "
        f"{budget}, so nothing is known of {these} on longer strings, and more steps might "
        f"do{rest}."
    )


def _learned_first(cells: list[Placed]) -> str:
    """Return how many of the cells that did not finish were learned all the same."""
    failed = [cell for _, cell in cells if cell.state == "failed"]
    learned = sum(cell.learned > 0 for cell in failed)
    if learned == len(failed):
        return " (but learned)"
    return f" ({learned} of them learned)" if learned else ""


def _is_theorem(cell: MapCell) -> bool:
    return cell.prediction is not None and cell.prediction.evidence == "theorem"


def _says(cell: MapCell) -> tuple[str, str]:
    """Return what a theorem says of a cell, and of which networks."""
    said = cell.prediction
    assert said is not None
    return said.verdict, "" if said.verdict == "cannot" else said.instance


def _to_the_end(column: MapColumn, cell: MapCell) -> bool:
    return cell.solved_to is not None and cell.solved_to == column.last_telling


def _times(columns: list[MapColumn]) -> str:
    """Return how many times the training length the longest tested ones are, if known of all."""
    times = {
        column.last / column.trained_to for column in columns if column.last and column.trained_to
    }
    if not times or any(not column.trained_to for column in columns):
        return ""
    low, high = (f"{one:.3g}" for one in (min(times), max(times)))
    shown = low if low == high else f"{low} to {high}"
    return f", {shown} times the longest of training"


def _were(times: int) -> str:
    return "was" if times == 1 else "were"


def _stay(times: int) -> str:
    return "stays" if times == 1 else "stay"


def told(cell: MapCell) -> str:
    """Return what a cell says, in words; of one that was not run the command that runs it."""
    if cell.state == "not run":
        return f"not run: {cell.command}"
    if cell.state == "failed":
        if not cell.learned:
            return f"none of {plural(cell.seeds, 'run')} finished"
        learned = f"learned by {cell.learned} of {plural(cell.seeds, 'seed')}"
        return f"{learned}, none of which finished its test"
    if cell.state == "unlearned":
        capped = f", {cell.capped} of {plural(cell.seeds, 'run')} capped" if cell.capped else ""
        return (
            f"not learned within {steps(cell.budget)}{capped}: "
            f"validation accuracy {percent(cell.validation)} %"
        )
    said = f"learned by {cell.learned} of {plural(cell.seeds, 'seed')}"
    said += " (weak evidence)" if cell.weak else ""
    if not cell.strip:
        return said
    if cell.solved_to is not None:
        return f"{said}, right on {_THRESHOLD} of the strings up to length {cell.solved_to}"
    first, last = cell.strip[0], cell.strip[-1]
    return (
        f"{said}, from chance (0) to perfect (100) {100 * first.share:.0f} at length "
        f"{first.first}, {100 * last.share:.0f} at {last.last}"
    )


def brief(cell: MapCell) -> str:
    """Return what a cell says, in a few signs: for a table beside the map."""
    if cell.state != "learned":
        if cell.state != "unlearned":
            return cell.state
        return f"[{percent(cell.validation, 0)}]{CAPPED if cell.capped else ''}"
    if not cell.strip:
        return "learned"
    first, last = cell.strip[0], cell.strip[-1]
    part = f"{'' if cell.learned == cell.seeds else SOME}{DOUBTFUL if cell.weak else ''}"
    if cell.solved_to == last.last:
        return f"✓ {last.last}{part}"
    return f"{100 * first.share:.0f} → {100 * last.share:.0f}{part}"


def steps(budget: int) -> str:
    """Return a budget as it is told."""
    return f"{grouped(budget)} step{'' if budget == 1 else 's'}"
