"""The command `formalbench run`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from formalbench.contracts.errors import RequestError
from formalbench.device import check_threads
from formalbench.ui.terminal import (
    DeviceOption,
    ExecutorOption,
    JobsOption,
    ResultsOption,
    console,
    host_of,
    lists_of,
    names_of,
    plugins_print_to_stderr,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from formalbench.running.estimate import Estimate


AT_ONCE = (1, 2, 16, 64, 512)
"""Numbers of parallel jobs in the estimate of `--dry-run`, unless ``--jobs`` is given."""


HOUR = 3600


def print_estimate(found: Estimate, jobs: int | None, *, as_json: bool) -> None:
    """Print the number of runs and units, known times, and the estimated hours."""
    from formalbench.running.estimate import SOURCES

    counts = (jobs,) if jobs else AT_ONCE
    unknown = found.sources["nothing"]  # no estimate for a part of the runs
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
    remaining = sum(found.sources.values())
    screen = console()
    screen.print(
        f"{found.runs:,} runs: {found.finished:,} finished, {remaining:,} left in "
        f"{len(found.units):,} unit{'s' * (len(found.units) != 1)}"
    )
    if not remaining:
        return
    if unknown:
        screen.print("no time estimate: the store has no finished run on this device and protocol")
        return
    sources = ", ".join(f"{found.sources[s]:,} from {s}" for s in SOURCES if found.sources[s])
    screen.print(f"times estimated from {found.records:,} finished runs in the store: {sources}")
    screen.print(f"longest unit: {max(found.units) / HOUR:.2f} h")
    print_table(("parallel jobs", "hours"), [(f"{n:,}", f"{h:,.2f}") for n, h in hours.items()])


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def run(
        ctx: typer.Context,
        model: Annotated[
            str,
            typer.Option(
                metavar="M[,M]|all",
                help="Models to train (`formalbench list models`), or a class: mine.py:Mine.",
                autocompletion=lists_of("models"),
            ),
        ],
        task: Annotated[
            str | None,
            typer.Option(
                metavar="T[,T]",
                help="Tasks to train on, for example parity or parity:tag.",
                autocompletion=lists_of("tasks"),
            ),
        ] = None,
        suite: Annotated[
            str | None,
            typer.Option(
                metavar="S",
                help="Train on all tasks of this suite. Default: `default`.",
                autocompletion=names_of("suites"),
            ),
        ] = None,
        protocol: Annotated[
            str | None,
            typer.Option(
                metavar="P",
                help="How to train and test. Default: `quick`, which takes minutes on a CPU. The "
                "leaderboard ranks `standard`.",
                autocompletion=names_of("protocols"),
            ),
        ] = None,
        seeds: Annotated[
            str | None,
            typer.Option(
                metavar="N|A,B,…",
                help="The first N seeds (0 to N-1), or the seeds listed. Default: the protocol's.",
            ),
        ] = None,
        device: DeviceOption = "auto",
        settings: Annotated[
            list[str] | None,
            typer.Option(
                "--set",
                metavar="KEY=VALUE[,VALUE]",
                help="Set an option: model.chunk=3, task.p=0.3, protocol.steps=100. Several "
                "values give a run for each.",
            ),
        ] = None,
        results: ResultsOption = None,
        jobs: JobsOption = None,
        threads: Annotated[
            int,
            typer.Option(
                metavar="N",
                help="CPU threads per process. More than one changes the rounding of results.",
            ),
        ] = 1,
        executor: ExecutorOption = "",
        tracker: Annotated[
            str | None,
            typer.Option(
                metavar="T[,T]",
                help="Also send curves and results to these, as wandb[project=mine] "
                "(`formalbench list trackers`).",
                autocompletion=lists_of("trackers"),
            ),
        ] = None,
        fail_fast: Annotated[
            bool, typer.Option("--fail-fast", help="Stop at the first run that fails.")
        ] = False,
        dry_run: Annotated[
            bool,
            typer.Option(
                "--dry-run",
                help="Print the number of runs and the estimated time, then exit. It builds no "
                "network, so a run can still be refused.",
            ),
        ] = False,
        quiet: Annotated[
            bool,
            typer.Option("--quiet", "-q", help="Print only failed runs: no progress, no board."),
        ] = False,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the records as JSON, and nothing else.")
        ] = False,
    ) -> None:
        """Train and test models on tasks, then print the leaderboard.

        To resume, repeat the command: finished runs are skipped and failed ones are repeated. A
        finished run is tested with its stored weights, not trained again.

        \b
        formalbench run --model regulargpt
        formalbench run --model regulargpt --protocol standard
        formalbench run --model lstm,rnn --task parity,tomita-3:next-symbols --seeds 1
        formalbench run --model regulargpt --set chunk=3
        formalbench run --model 'lstm[width=32],rnn' --task 'parity[p=0.3]' --seeds 3,7,11
        formalbench run --model lstm --set width=16,32 --set protocol.steps=400
        formalbench run --model lstm --task parity --tracker tensorboard
        formalbench run --model all --suite chomsky --dry-run
        formalbench run --model 'mine.py:Mine[width=32]' --task parity

        Exit code 1 if a run failed. Its record contains the error.
        """
        from formalbench.host.options import parse_settings
        from formalbench.running.plan import RunOptions, RunRequest, parse_seeds
        from formalbench.running.session import estimate_session, execute, run_session
        from formalbench.store import Store, default_results
        from formalbench.ui.live import execute_live, summary

        check_threads(threads)
        models = split_names("--model", model)
        with plugins_print_to_stderr():
            models = host_of(ctx).models_named(models)
        request = RunRequest(
            models=models,
            tasks=split_names("--task", task) if task is not None else (),
            suite=suite or "",
            protocol=protocol or "",
            seeds=parse_seeds(seeds) if seeds is not None else None,
            settings=parse_settings(settings or ()),
        )
        options = RunOptions(
            *(device, jobs, threads, executor, fail_fast, quiet or as_json),
            trackers=split_names("--tracker", tracker) if tracker is not None else (),
        )
        store = Store(results or default_results())
        if dry_run:
            estimate = estimate_session(host_of(ctx), request, store, options)
            print_estimate(estimate, jobs, as_json=as_json)
            return
        carry_out = execute if quiet else execute_live
        records = run_session(host_of(ctx), request, store, options, carry_out)
        if as_json:
            print(json.dumps([json.loads(record.to_json()) for record in records], indent=2))
        failed = [record for record in records if record.status != "finished"]
        for record in failed if quiet else ():
            print(f"formalbench: {summary(record)}", file=sys.stderr)
        if failed:
            raise typer.Exit(1)


def split_names(option: str, text: str) -> tuple[str, ...]:
    """Split a comma list of names, which may have options in brackets."""
    from formalbench.host.options import split_list

    names = tuple(split_list(text))
    if "" in names:
        raise RequestError(f"{option} {text!r}: an empty name in the list")
    return names
