"""``formalbench sample`` and ``formalbench label``: strings and their correct answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from formalbench.contracts.errors import RequestError
from formalbench.ui.terminal import JsonFlag, host_of, names_of, plugins_print_to_stderr, print_json

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
