"""Strings of tasks and their correct answers, and models outside formalbench.

``formalbench sample``, ``label``, ``export`` and ``score``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from formalbench.contracts.errors import RequestError
from formalbench.ui.terminal import (
    JsonFlag,
    host_of,
    names_of,
    plugins_print_to_stderr,
    print_json,
    print_table,
)

TaskName = Annotated[
    str,
    typer.Argument(
        help="A task: parity, parity:tag or 'parity[p=0.3]'.", autocompletion=names_of("tasks")
    ),
]

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set an option: task.p=0.3."),
]

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
    def sample(
        ctx: typer.Context,
        task: TaskName,
        length: Annotated[int, typer.Option(help="Symbols per string.")],
        count: Annotated[int, typer.Option(help="Number of strings.")] = 1,
        seed: Annotated[int, typer.Option(help="Seed of the random strings.")] = 0,
        settings: SetOption = None,
    ) -> None:
        """Print random strings with correct answers as JSON lines.

        The same seed gives the same output on every machine.

        \b
        formalbench sample parity --length 8 --count 3
        """
        from formalbench.task_handle import TaskHandle

        with plugins_print_to_stderr():
            handle = TaskHandle(host_of(ctx), task, settings or ())
            rows = handle.rows(length, count, seed, "--")
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))

    @app.command()
    def label(
        ctx: typer.Context,
        task: TaskName,
        file: Annotated[str, typer.Argument(help="One string per line; - reads stdin.")] = "-",
        settings: SetOption = None,
        as_json: JsonFlag = False,
    ) -> None:
        """Print the correct answer for each line of a file.

        Symbols of one character may be written without spaces (0110). Longer symbols are
        separated by spaces. An empty line is the empty string. A line that is not a string of
        the task gives `invalid` (null in JSON) and exit code 1.

        \b
        echo 0110 | formalbench label parity
        """
        from formalbench.task_handle import TaskHandle

        handle = TaskHandle(host_of(ctx), task, settings or ())
        rows: list[dict[str, str | None]] = []
        failed = False
        for line in _lines(file):
            with plugins_print_to_stderr():
                answer = handle.show(line)
            failed = failed or answer is None
            if as_json:
                rows.append({"string": line, "answer": answer})
            else:
                print("invalid" if answer is None else answer)
        if as_json:
            print_json(rows)
        if failed:
            from formalbench.evaluation.cells import has_fixed_test

            if has_fixed_test(handle.task):
                line = f"{handle.name} has labels only for the strings of its data"
                print(f"formalbench: {line}", file=sys.stderr)
            raise typer.Exit(1)

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


def _lines(file: str) -> Iterator[str]:
    if file == "-":
        if sys.stdin is None:
            raise RequestError("standard input is closed: name a file")
        for line in sys.stdin:
            yield line.rstrip("\r\n").removeprefix("\ufeff")  # a byte order mark
        return
    try:
        with Path(file).open(encoding="utf-8-sig") as stream:
            for line in stream:
                yield line.rstrip("\r\n")
    except OSError as error:
        raise RequestError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RequestError(f"{file}: not UTF-8 text") from None
