"""The command ``formalbench leaderboard fill``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.contracts.errors import RequestError
from formalbench.documents.text import harmless, plural
from formalbench.ui.terminal import (
    DeviceOption,
    ExecutorOption,
    JobsOption,
    JsonFlag,
    ResultsOption,
    host_of,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from formalbench_leaderboard.fill import MissingEntry


def fill(
    ctx: typer.Context,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The plan. Default: leaderboard/plan.yaml of the current clone."
        ),
    ] = None,
    hours: Annotated[
        float | None,
        typer.Option(metavar="H", help="Stop after this many hours; the same command continues."),
    ] = None,
    jobs: JobsOption = None,
    device: DeviceOption = "auto",
    executor: ExecutorOption = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="executor.KEY=VALUE", help="Set an option of the executor; repeatable."
        ),
    ] = None,
    results: ResultsOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the missing runs and the estimated core hours, then exit."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train the missing runs of the leaderboard's plan, in order.

    A run is complete if its record is among the published ones or in --results. An interrupted
    run continues from its last checkpoint, at most a minute old. At the end the command prints
    what is still missing and the core hours it is estimated to take. Exit code 1 if a run failed.
    A run that diverged or reached its time limit has a result.

    \b
    formalbench leaderboard fill --dry-run
    formalbench leaderboard fill --hours 2.5 --jobs 2
    formalbench leaderboard fill --device cuda --results runs
    formalbench leaderboard fill --executor slurm --set executor.gpus=1 --results /shared/runs
    """
    from formalbench.host.options import parse_settings
    from formalbench.running.plan import RunOptions
    from formalbench.running.session import on_devices, with_config
    from formalbench.running.units import clean_cache
    from formalbench.store import Store, default_results, repository_above

    from formalbench_leaderboard import fill as filling
    from formalbench_leaderboard.plan import find_plan, read_plan

    if hours is not None and not 0 < hours <= 10_000:
        raise RequestError(f"--hours {hours:g}: must be more than 0 and at most 10,000")
    host = host_of(ctx)
    chosen = parse_settings(settings or (), ("executor",))
    if bare := [one for one in chosen if not one.scope]:
        raise RequestError(f"{bare[0]}: write executor.{bare[0].key}")
    options = RunOptions(device=device, jobs=jobs, executor=executor, quiet=as_json)
    options = with_config(host, options, chosen)
    contents = read_plan(find_plan(plan), host)
    place = filling.ResultFolders(results or default_results(), repository_above(Path.cwd()))
    kind = on_devices(host, options).devices[0]
    missing = filling.missing(host, contents, place, kind)
    failed: Sequence[str] = ()
    if not dry_run:
        clean_cache()
    if not dry_run and any(one.count for one in missing):
        Store(place.results).check_writable()
        try:
            failed = filling.fill(host, missing, place, options, hours)
        finally:  # also after Ctrl-C
            missing = filling.missing(host, contents, place, kind)
            _print(missing, as_json)
    else:
        _print(missing, as_json)
    for line in failed:
        print(f"formalbench: {line}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _print(missing: Sequence[MissingEntry], as_json: bool) -> None:
    """Print the missing runs of a plan."""
    count = sum(one.count for one in missing)
    hours = [one.core_hours for one in missing if one.core_hours is not None]
    if as_json:
        print_json(
            {
                "missing": count,
                "core_hours": round(sum(hours), 4),
                "entries": [_facts(one) for one in missing],
            }
        )
        return
    rows = [
        (
            str(one.entry.number),
            harmless(one.entry.title),
            f"{one.count:,}",
            "unknown" if one.core_hours is None else f"{one.core_hours:,.1f}",
        )
        for one in missing
    ]
    print_table(("entry", "title", "missing", "core hours"), rows)
    some = ", without the unknown entries" if len(hours) < len(missing) else ""
    typer.echo(f"{plural(count, 'run')} missing: {sum(hours):,.1f} core hours{some}")


def _facts(one: MissingEntry) -> dict[str, Any]:
    """Return the missing part of an entry as data, for ``--json``."""
    return {
        "entry": one.entry.number,
        "title": one.entry.title,
        "missing": one.count,
        "core_hours": None if one.core_hours is None else round(one.core_hours, 4),
    }
