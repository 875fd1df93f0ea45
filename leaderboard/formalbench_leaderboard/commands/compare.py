"""The command ``formalbench compare``: two models beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from formalbench.contracts.errors import RequestError
from formalbench.ui.terminal import JsonFlag, console, host_of, lists_of, names_of, print_json

if TYPE_CHECKING:
    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost
    from formalbench.statistics.comparison import Comparison

    from formalbench_leaderboard.board.comparison import Unlike


def compare(
    ctx: typer.Context,
    a: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_A",
            help="A row of the board, its options behind its name: 'transformer[positions=alibi]'.",
            autocompletion=names_of("models"),
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(metavar="MODEL_B", help="Another one.", autocompletion=names_of("models")),
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Folder of records, which stand among the published ones; repeatable. "
            "Default: your own results.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="On the tasks of this suite only. Default: on all that both have.",
            autocompletion=names_of("suites"),
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="T[,T]", help="On these tasks only.", autocompletion=lists_of("tasks")
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="P[,P]",
            help="Under this protocol only; with two, A under the first, B under the second.",
            autocompletion=lists_of("protocols"),
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare two models: how far apart they are on each task, and what they differ in.

    Each difference has a 95 % interval over seeds and test strings: few seeds that agree do
    not say that another one will, so that a single task with three seeds rarely tells models
    apart, and several tasks together often do.

    \b
    formalbench compare regulargpt lstm
    formalbench compare lstm 'transformer[positions=alibi]' --task parity,first
    formalbench compare rnn 'rnn[nonlinearity=relu]' --protocol standard
    """
    from formalbench.statistics.comparison import check_tasks
    from formalbench.statistics.records import model_key

    from formalbench_leaderboard.board.comparison import data_of, print_comparison
    from formalbench_leaderboard.board.sources import (
        check_folders,
        read_published,
        read_with_published,
        suite_view,
    )
    from formalbench_leaderboard.commands.show import names_in, tell_invalid

    if suite is not None and task is not None:
        raise RequestError("--suite and --task both say on which tasks: name one of them")
    check_folders(results or ())
    host = host_of(ctx)
    held = read_published(*results) if results else read_with_published()
    for name in (a, b):
        if name in {model_key(one)[0] for one in held.verifications}:
            raise RequestError(f"{name} is verified, not tested: there is nothing to compare")
    tasks = names_in("task", task) if task is not None else None
    check_tasks(held.records, tasks or ())
    if suite is not None:
        tasks = list(suite_view(host, suite).tasks)
    protocols = names_in("protocol", protocol) if protocol is not None else None
    found = compared(host, held.records, (a, b), tasks, protocols)
    if as_json:
        print_json({"comparisons": [data_of(*one) for one in found]})
    else:
        screen = console()
        for one in found:
            print_comparison(*one, screen)
    if held.invalid:
        tell_invalid(held.invalid)
        raise typer.Exit(1)


def compared(
    host: PluginHost,
    records: Sequence[Record],
    names: tuple[str, str],
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
) -> list[tuple[Comparison, list[Unlike]]]:
    """Compare two models under each protocol that both have, or under those asked for.

    Args:
        host: the plugins.
        records: all that there are.
        names: of the two rows.
        tasks: on which; None for all that both have.
        protocols: one for both, or one for each; None for all that both have.

    Raises:
        RequestError: one line, if there is no such row, task or protocol, or both are the same.
    """
    from formalbench.statistics.comparison import comparisons
    from formalbench.statistics.selection import current_of

    from formalbench_leaderboard.board.comparison import differing, settings_of
    from formalbench_leaderboard.board.plugin_info import defaults_here
    from formalbench_leaderboard.board.theory import shortcut_here

    by_id = {record.test_id: record for record in records}
    defaults = cache(partial(defaults_here, host))
    found = []
    shortcut = cache(partial(shortcut_here, host))
    for comparison in comparisons(records, names, tasks, protocols, current_of(host), shortcut):
        held = [
            [by_id[run.test_id] for result in results for run in result.runs]
            for results in zip(*((on.a, on.b) for on in comparison.tasks), strict=True)
        ]
        settings = differing(*(settings_of(part, defaults) for part in held)) if held else []
        found.append((comparison, settings))
    return found
