"""``formalbench sample`` and ``formalbench label``: strings and their right answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formalbench.contracts.errors import RequestError
from formalbench.host.validate import LONGEST
from formalbench.ui.completion import names_of
from formalbench.ui.flags import JsonFlag
from formalbench.ui.output import plugins_print_to_stderr, print_json
from formalbench.ui.state import host_of

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host import PluginHost

TaskName = Annotated[
    str,
    typer.Argument(
        help="A task, as parity, parity:tag or 'parity[p=0.3]'.", autocompletion=names_of("tasks")
    ),
]

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set an option, as task.p=0.3."),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def sample(
        ctx: typer.Context,
        task: TaskName,
        length: Annotated[int, typer.Option(help="Symbols per string.")],
        count: Annotated[int, typer.Option(help="How many strings.")] = 1,
        seed: Annotated[int, typer.Option(help="Another seed, other strings.")] = 0,
        settings: SetOption = None,
    ) -> None:
        """Draw strings with their right answers, as JSON lines.

        The same seed prints the same bytes on any machine.
        """
        if not 0 <= length <= LONGEST:
            raise RequestError(f"--length {length}: must be at least 0 and at most {LONGEST}")
        if count < 1:
            raise RequestError(f"--count {count}: must be at least 1")
        if count * max(length, 1) > LONGEST:
            most = LONGEST // max(length, 1)
            line = f"--count {count}: at most {most} of length {length}; another --seed gives more"
            raise RequestError(line)
        host = host_of(ctx)
        with host.blaming(host.task_entry(task)[0].plugin), plugins_print_to_stderr():
            built = build_task(host, task, settings or ())
            rows = draw(built, length, count, seed)
        if (used := built.source.round_length(length)) != length:
            line = f"{built.name} has no string of length {length}: these are of length {used}"
            print(f"formalbench: {line}", file=sys.stderr)
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
        """Print the right answer for each line of a file.

        Symbols of one character may be written without spaces (0110), others are separated
        by spaces; an empty line is the empty string. What is no string of the task is
        `invalid` (in JSON null), and then the exit code is 1.
        """
        host = host_of(ctx)
        plugin = host.task_entry(task)[0].plugin
        built = build_task(host, task, settings or ())
        rows: list[dict[str, str | None]] = []
        failed = False
        for line in _lines(file):
            with host.blaming(plugin), plugins_print_to_stderr():
                answer = label_line(built, line)
            failed = failed or answer is None
            if as_json:
                rows.append({"string": line, "answer": answer})
            else:
                print("invalid" if answer is None else answer)
        if as_json:
            print_json(rows)
        if failed:
            from formalbench.evaluation.cells import has_fixed_test

            if has_fixed_test(built):
                line = f"{built.name} has labels for the strings of its data, and for no others"
                print(f"formalbench: {line}", file=sys.stderr)
            raise typer.Exit(1)


def build_task(host: PluginHost, name: str, settings: Sequence[str]) -> Task:
    """Return the task a user named, with the options set."""
    from formalbench.host.options import check_settings, option_facts, parse_settings
    from formalbench.running.used import task_used

    parsed = parse_settings(settings, ("task",))
    check_settings(parsed, [], [option_facts(host.task_entry(name)[0].spec)])
    used = task_used(host, name, parsed)
    return host.task(used.name, used.options)


def draw(task: Task, length: int, count: int, seed: int) -> list[dict[str, Any]]:
    """Return rows of plain symbols and their targets."""
    source = task.source
    used = source.round_length(length)
    if not task.lengths(used, used):
        around = (near for far in range(1, 100) for near in (length - far, length + far))
        close = next((near for near in around if near >= 0 and task.lengths(near, near)), None)
        hint = "" if close is None else f": the nearest that it has is {close}"
        raise RequestError(f"task {task.name} has no string of length {length}{hint}")
    stream = task.stream("sample", seed, used)
    strings = task.strings(stream, used, count)
    answers = task.plain(task.examples(strings, stream))
    return [
        {"string": [source.alphabet[symbol] for symbol in string], "target": answer}
        for string, answer in zip(strings, answers, strict=True)
    ]


def label_line(task: Task, line: str) -> str | None:
    """Return the answer for one line, or None if it is no string of the task."""
    import numpy as np

    ids = parse_string(task.source.alphabet, line)
    if ids is None:
        return None
    string = np.array(ids, dtype=np.int64)
    if not task.source.in_domain(string[None, :])[0]:
        return None
    return task.objective.show(task.source, string)


def parse_string(alphabet: Sequence[str], line: str) -> list[int] | None:
    """Return the symbol ids of a line, or None if a symbol is unknown.

    Example:
        >>> parse_string(("0", "1"), "0 11")
        [0, 1, 1]
    """
    index = {symbol: number for number, symbol in enumerate(alphabet)}
    ids: list[int] = []
    short = all(len(symbol) == 1 for symbol in alphabet)
    words = list(line) if short and " " in index else line.split()
    for word in words:
        symbols = [word] if word in index or not short else list(word)
        if any(symbol not in index for symbol in symbols):
            return None
        ids += [index[symbol] for symbol in symbols]
    return ids


def _lines(file: str) -> Iterator[str]:
    if file == "-":
        for line in sys.stdin:
            yield line.rstrip("\r\n")
        return
    try:
        with Path(file).open(encoding="utf-8") as stream:
            for line in stream:
                yield line.rstrip("\r\n")
    except OSError as error:
        raise RequestError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RequestError(f"{file}: not UTF-8 text") from None
