"""``formalbench run --dry-run``: what a request means, and how long it would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formalbench.ui.output import console, print_json, print_table

if TYPE_CHECKING:
    from formalbench.running.estimate import Estimate

AT_ONCE = (1, 2, 16, 64, 512)
"""Numbers of units at a time that are told of, unless ``--jobs`` names one."""

HOUR = 3600


def print_estimate(found: Estimate, jobs: int | None, *, as_json: bool) -> None:
    """Print how many runs and units there are, what is known of their times, and the hours."""
    from formalbench.running.estimate import SOURCES

    counts = (jobs,) if jobs else AT_ONCE
    unknown = found.sources["nothing"]  # of a part nobody wants to know how long it takes
    hours = {} if unknown else {count: found.at_once(count) / HOUR for count in counts}
    if as_json:
        print_json(
            {
                "runs": found.runs,
                "finished": found.finished,
                "units": len(found.units),
                "records": found.records,
                "known_from": {name.replace(" ", "_"): found.sources[name] for name in SOURCES},
                "longest_unit_seconds": round(max(found.units, default=0.0), 3),
                "hours": [{"at_once": n, "hours": round(h, 4)} for n, h in hours.items()],
            }
        )
        return
    left = sum(found.sources.values())
    screen = console()
    screen.print(
        f"{found.runs:,} runs: {found.finished:,} finished, {left:,} left in "
        f"{len(found.units):,} unit{'s' * (len(found.units) != 1)}"
    )
    if not left:
        return
    if unknown:
        screen.print("no record tells how long such runs take, on such a device and protocol")
        return
    known = ", ".join(f"{found.sources[s]:,} from {s}" for s in SOURCES if found.sources[s])
    screen.print(f"times from the store ({found.records:,} finished runs): {known}")
    screen.print(f"longest unit: {max(found.units) / HOUR:.2f} h")
    print_table(("units at once", "hours"), [(f"{n:,}", f"{h:,.2f}") for n, h in hours.items()])
