"""The command ``formalbench compare``: two models or more, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from formalbench.contracts.errors import RequestError
from formalbench.ui.terminal import (
    JsonFlag,
    console,
    host_of,
    lists_of,
    names_of,
    print_json,
    results_folder,
)

if TYPE_CHECKING:
    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost
    from formalbench.statistics.comparison import Comparison

    from formalbench_leaderboard.board.comparison import SettingDifference


def compare(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Two or more rows of the board. Options follow the name: "
            "'transformer[positions=alibi]'.",
            autocompletion=names_of("models"),
        ),
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            parser=results_folder,
            help="Folder of records, added to the published ones; repeatable. Default: your own "
            "results.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="Compare on the tasks of this suite. Default: all tasks that both models have.",
            autocompletion=names_of("suites"),
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="T[,T]", help="Compare on these tasks.", autocompletion=lists_of("tasks")
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="P[,P]",
            help="Compare under this protocol. With two protocols, the first model under the first "
            "and the second under the second.",
            autocompletion=lists_of("protocols"),
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare models on each task, and list differing settings.

    More than two models are compared pair by pair.

    Each difference has a 95 % interval over seeds and test strings. With three seeds, one task
    rarely separates two models, because another seed may differ; several tasks often do.

    \b
    formalbench compare regulargpt lstm
    formalbench compare regulargpt lstm gru
    formalbench compare lstm 'transformer[positions=alibi]' --task parity,first
    formalbench compare rnn 'rnn[nonlinearity=relu]' --protocol standard
    """
    from formalbench.statistics.comparison import check_tasks
    from formalbench.statistics.records import model_key

    from formalbench_leaderboard.board.comparison import data_of, legend, print_comparison
    from formalbench_leaderboard.board.sources import (
        check_folders,
        read_published,
        read_with_published,
    )
    from formalbench_leaderboard.board.views import suite_view
    from formalbench_leaderboard.commands.show import exit_on_invalid, names_in

    if suite is not None and task is not None:
        raise RequestError("--suite and --task both choose the tasks: use only one of them")
    protocols = names_in("protocol", protocol) if protocol is not None else None
    if len(models) < 2:
        raise RequestError(f"compare {models[0]}: name two models or more")
    if len(models) > 2 and protocols is not None and len(protocols) > 1:
        raise RequestError("two protocols need exactly two models")
    check_folders(results or ())
    host = host_of(ctx)
    stored = read_published(*results) if results else read_with_published()
    for name in models:
        if name in {model_key(one)[0] for one in stored.verifications}:
            raise RequestError(f"{name} was verified but never tested, so it cannot be compared")
    tasks = names_in("task", task) if task is not None else None
    check_tasks(stored.records, tasks or ())
    if suite is not None:
        tasks = list(suite_view(host, suite).tasks)
    pairs = [
        one
        for pair in combinations(models, 2)
        for one in compared(host, stored.records, pair, tasks, protocols)
    ]
    if as_json:
        print_json({"comparisons": [data_of(*one) for one in pairs]})
    else:
        screen = console()
        for one in pairs:
            print_comparison(*one, screen)
        if any(comparison.tasks for comparison, _ in pairs):
            screen.print(legend())
    exit_on_invalid(stored.invalid)


def compared(
    host: PluginHost,
    records: Sequence[Record],
    names: tuple[str, str],
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
) -> list[tuple[Comparison, list[SettingDifference]]]:
    """Return the comparisons of two models under all shared, or the given, protocols.

    Of two protocols, the first is for the first model.

    Raises:
        RequestError: one line, if a row, task or protocol does not exist, or both are the same.
    """
    from formalbench.statistics.comparison import comparisons
    from formalbench.statistics.selection import current_of

    from formalbench_leaderboard.board.comparison import differing, settings_of
    from formalbench_leaderboard.board.plugin_info import defaults_here
    from formalbench_leaderboard.board.sources import shortcut_here

    by_id = {record.test_id: record for record in records}
    defaults = cache(partial(defaults_here, host))
    pairs = []
    shortcut = cache(partial(shortcut_here, host))
    for comparison in comparisons(records, names, tasks, protocols, current_of(host), shortcut):
        groups = [
            [by_id[run.test_id] for result in results for run in result.runs]
            for results in zip(*((task.a, task.b) for task in comparison.tasks), strict=True)
        ]
        settings = differing(*(settings_of(part, defaults) for part in groups)) if groups else []
        pairs.append((comparison, settings))
    return pairs
