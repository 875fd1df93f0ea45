"""``formalbench export`` and ``formalbench score``: test models outside formalbench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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

ExportFormat = Literal["jsonl", "hf", "lm-eval"]
ExportSplit = Literal["test", "validation", "train"]
StringsProtocol = Annotated[
    str,
    typer.Option(
        metavar="P",
        help="The protocol that defines the strings.",
        autocompletion=names_of("protocols"),
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def export(
        ctx: typer.Context,
        output: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into.")],
        task: Annotated[
            str | None, typer.Argument(help="The task.", autocompletion=names_of("tasks"))
        ] = None,
        suite: Annotated[
            str | None,
            typer.Option(
                metavar="S", help="Export all tasks of a suite.", autocompletion=names_of("suites")
            ),
        ] = None,
        format_: Annotated[
            ExportFormat, typer.Option("--format", help="The format of the files.")
        ] = "jsonl",
        split: Annotated[ExportSplit, typer.Option(help="The split to export.")] = "test",
        with_targets: Annotated[
            bool, typer.Option("--with-targets", help="Include the correct answers.")
        ] = False,
        protocol: StringsProtocol = "standard",
    ) -> None:
        """Write test strings to files for models outside formalbench.

        jsonl: one line per string; score the answers with `formalbench score`. hf: a data set for
        the library datasets. lm-eval: tasks with answers for lm-evaluation-harness.

        \b
        formalbench export parity --output strings
        formalbench export --suite default --format lm-eval --output harness
        """
        from formalbench.scoring.export import export_tasks
        from formalbench.task_handle import TaskHandle

        if (task is None) == (suite is None):
            raise RequestError("name either a task or --suite")
        host = host_of(ctx)
        names = [task] if task is not None else list(host.suite(suite or "").tasks)
        with plugins_print_to_stderr():
            handles = [TaskHandle(host, name, (), protocol) for name in names]
            files = export_tasks(handles, output, format_, split, targets=with_targets)
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
        protocol: StringsProtocol = "standard",
        results: Annotated[
            Path | None,
            typer.Option("--results", metavar="DIR", help="Save the score as a record here."),
        ] = None,
        as_json: JsonFlag = False,
    ) -> None:
        """Score a file of answers to the test strings of a task.

        `formalbench export` writes the strings. An answer has the form of a target that
        `formalbench sample` prints, or of a line that `formalbench label` prints. The report
        uses the file's name as the model's name.

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
