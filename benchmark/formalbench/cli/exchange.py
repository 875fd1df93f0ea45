"""``formalbench export`` and ``formalbench score``: strings out, answers in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from formalbench.cli.data import SetOption, TaskName
from formalbench.contracts.errors import RequestError
from formalbench.ui.terminal import (
    JsonFlag,
    host_of,
    names_of,
    plugins_print_to_stderr,
    print_json,
    print_table,
)


class ExportFormat(StrEnum):
    """What the strings are written as."""

    jsonl = "jsonl"
    hf = "hf"
    lm_eval = "lm-eval"


class ExportSplit(StrEnum):
    """Whose strings are written."""

    test = "test"
    validation = "validation"
    train = "train"


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def export(
        ctx: typer.Context,
        output: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into.")],
        task: Annotated[
            str | None, typer.Argument(help="A task.", autocompletion=names_of("tasks"))
        ] = None,
        suite: Annotated[
            str | None,
            typer.Option(
                metavar="S", help="All tasks of a suite.", autocompletion=names_of("suites")
            ),
        ] = None,
        format_: Annotated[
            ExportFormat, typer.Option("--format", help="What to write.")
        ] = ExportFormat.jsonl,
        split: Annotated[ExportSplit, typer.Option(help="Whose strings.")] = ExportSplit.test,
        with_targets: Annotated[
            bool, typer.Option("--with-targets", help="Write the right answers, too.")
        ] = False,
        protocol: Annotated[
            str,
            typer.Option(metavar="P", help="Whose strings.", autocompletion=names_of("protocols")),
        ] = "standard",
    ) -> None:
        """Write the strings that the leaderboard tests, for any code, language model or person.

        jsonl: a line for each string, to be answered and scored with `formalbench score`; hf: the
        same as a data set for the library datasets; lm-eval: tasks for lm-evaluation-harness, with
        their answers.

        \b
        formalbench export parity --output strings
        formalbench export --suite default --format lm-eval --output harness
        """
        from formalbench.scoring.export import export_tasks
        from formalbench.task_handle import TaskHandle

        if (task is None) == (suite is None):
            raise RequestError("name a task or --suite, one of them")
        host = host_of(ctx)
        names = [task] if task is not None else list(host.suite(suite or "").tasks)
        with plugins_print_to_stderr():
            handles = [TaskHandle(host, name, (), protocol) for name in names]
            files = export_tasks(handles, output, format_.value, split.value, targets=with_targets)
        for file in files:
            print(file)

    @app.command()
    def score(
        ctx: typer.Context,
        task: TaskName,
        answers: Annotated[
            Path, typer.Argument(metavar="ANSWERS.jsonl", help='Lines {"id": …, "answer": …}.')
        ],
        settings: SetOption = None,
        protocol: Annotated[
            str,
            typer.Option(metavar="P", help="Whose strings.", autocompletion=names_of("protocols")),
        ] = "standard",
        results: Annotated[
            Path | None,
            typer.Option("--results", metavar="DIR", help="Keep the score as a record here."),
        ] = None,
        as_json: JsonFlag = False,
    ) -> None:
        """Score answers to the test strings of a task, whoever gave them.

        `formalbench export` writes the strings. An answer is what `formalbench sample` shows as
        the target, or what `formalbench label` prints. The file's name is the name of who answered.

        \b
        formalbench score parity my-model.jsonl
        """
        from formalbench.scoring.answers import score_file
        from formalbench.task_handle import TaskHandle

        with plugins_print_to_stderr():
            handle = TaskHandle(host_of(ctx), task, settings or (), protocol)
            report = score_file(handle, answers)
        if results is not None:
            report.save(results)
        if as_json:
            print_json(report.to_data())
            return
        print(report)
        columns = ("length", "strings", "correct", "accuracy", "low", "high", "chance")
        rows = [
            [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row]
            for row in report.frame[list(columns)].itertuples(index=False)
        ]
        print_table(columns, rows)
