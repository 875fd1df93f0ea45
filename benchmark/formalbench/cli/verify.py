"""The command `formalbench verify`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import LONGEST
from formalbench.ui.terminal import (
    JsonFlag,
    console,
    host_of,
    names_of,
    plugins_print_to_stderr,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from formalbench.contracts.specs import ModelSpec, TaskSpec
    from formalbench.host import PluginHost
    from formalbench.host.host import Selection
    from formalbench.verification.judge import Tally
    from formalbench.verification.verify import Subject, Verification


DtypeName = Literal["fp16", "bf16", "fp32", "fp64", "all"]

MAX_LENGTHS = 10_000
"""Maximum number of lengths of one command."""


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def verify(
        ctx: typer.Context,
        model: Annotated[
            str,
            typer.Argument(
                help="An exact model (`formalbench list models`).",
                autocompletion=names_of("models"),
            ),
        ],
        task: Annotated[
            str | None,
            typer.Option(
                metavar="T",
                help="The task. Default: the one that the model was built for.",
                autocompletion=names_of("tasks"),
            ),
        ] = None,
        exhaustive: Annotated[
            int | None,
            typer.Option(
                metavar="N",
                help="Test every string up to this length (0: none). Default: 10.",
            ),
        ] = None,
        lengths: Annotated[
            str | None,
            typer.Option(
                metavar="L",
                help="Lengths of the long strings: A:B[:STEP] with both ends included, or a comma "
                "list. Default: 50,100,500,1000.",
            ),
        ] = None,
        count: Annotated[
            int, typer.Option(metavar="K", help="Number of random strings per length.")
        ] = 100,
        seed: Annotated[int, typer.Option(metavar="S", help="Seed of the random strings.")] = 0,
        device: Annotated[
            str, typer.Option(metavar="auto|cpu|cuda[:i]", help="Where to compute.")
        ] = "auto",
        dtype: Annotated[
            DtypeName,
            typer.Option(
                help="Precision. fp16 and bf16 are mixed: sums, softmax and norms in fp32. all: "
                "verify in fp64, then find the longest correct length of the other three."
            ),
        ] = "fp64",
        settings: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="KEY=VALUE", help="Set an option: model.c=2."),
        ] = None,
        results: Annotated[
            str | None, typer.Option(metavar="DIR", help="Write the record to this folder.")
        ] = None,
        as_json: JsonFlag = False,
    ) -> None:
        """Check an exact model on short, long and adversarial strings.

        Adversarial strings are members with one symbol changed, strings of one repeated symbol,
        the same with one symbol replaced, and the near misses of the language. A NaN logit is an
        error.

        \b
        formalbench verify exact-parity
        formalbench verify exact-parity --exhaustive 16 --lengths 1:1000 --dtype fp32
        formalbench verify exact-first --set norm=true --dtype all
        formalbench verify 'exact-first[norm=true]' --task 'first:classify'

        Exit code 1 if an answer is wrong.
        """
        from formalbench.device import choose_device
        from formalbench.store import Store

        if count < 1:
            raise RequestError(f"--count {count}: must be at least 1")
        if exhaustive is not None and not 0 <= exhaustive <= LONGEST:
            raise RequestError(f"--exhaustive {exhaustive}: must be at least 0")
        if results == "":  # Path("") would be the working directory
            raise RequestError("--results needs a folder")
        parsed_lengths = None if lengths is None else parse_lengths(lengths)
        host = host_of(ctx)
        exact, on = select(host, model, task, settings or ())
        chosen = choose_device(device)
        store = None if results is None else Store(Path(results))

        from formalbench.verification.plan import VerificationRequest
        from formalbench.verification.verify import prepare

        request = VerificationRequest(exhaustive, parsed_lengths, count, seed)
        subject = make_subject(host, exact, on)
        with host.blaming(exact.plugin), plugins_print_to_stderr():
            verification = prepare(subject, request, dtype)
        if store is not None:
            store.check_writable()
        try:
            with host.blaming(exact.plugin):
                _carry_out(subject, verification, chosen)
        except KeyboardInterrupt:
            _print(verification, as_json)
            raise
        if store is not None:
            from formalbench.verification.verify import record_of

            objective = host.objectives.get(on.objective)[0].plugin
            local = [p.local for p in (exact.plugin, on.plugin, objective) if p.local]
            names = list(dict.fromkeys(p.path.name for p in local))
            store.write(record_of(verification, chosen, names))
        _print(verification, as_json)
        if not verification.passed:
            raise typer.Exit(1)


def parse_lengths(text: str) -> tuple[int, ...]:
    """Parse ``A:B[:STEP]``, or a comma list of these, into sorted lengths.

    Example:
        >>> parse_lengths("1:9:4,20")
        (1, 5, 9, 20)
    """
    parsed: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,8})(?::(\d{1,8})(?::(\d{1,8}))?)?", part.strip())
        if not match:
            raise RequestError(f"--lengths {text}: write A:B, A:B:STEP or a comma list")
        first, last, step = (int(group) if group else None for group in match.groups())
        assert first is not None
        last = first if last is None else last
        if last < first or step == 0 or last > LONGEST:
            raise RequestError(
                f"--lengths {text}: A:B:STEP goes up from A to B, at most {LONGEST}, by 1 or more"
            )
        if (last - first) // (step or 1) >= MAX_LENGTHS:
            raise RequestError(f"--lengths {text}: more than {MAX_LENGTHS:,} lengths")
        parsed.update(range(first, last + 1, step or 1))
    return tuple(sorted(parsed))


def select(
    host: PluginHost, model: str, task: str | None, texts: Sequence[str]
) -> tuple[Selection[ModelSpec], Selection[TaskSpec]]:
    """Return the model to verify and the task to verify it on.

    A learned model, and one made for no task in particular, is refused.
    """
    from formalbench.host.host import check_offered
    from formalbench.host.options import check_settings, parse_settings

    exact = host.select_model(model)
    if exact.spec.kind != "exact":
        names = [other.spec.name for other in host.models.all() if other.spec.kind == "exact"]
        raise RequestError(
            f"model {exact.name} is learned: only exact models can be verified "
            f"({', '.join(names) or 'there is none'})"
        )
    name = task if task is not None else exact.spec.task.format(**exact.fields)
    if not name:
        raise RequestError(
            f"model {exact.name} is made for no task in particular: name one with --task"
        )
    on = host.select_task(name)
    check_offered(exact.name, exact.spec, on.objective)
    settings = parse_settings(texts, ("model", "task"))
    check_settings(settings, {exact.name: exact.facts}, {on.name: on.facts})
    return replace(exact, settings=settings), replace(on, settings=settings)


def make_subject(
    host: PluginHost, model: Selection[ModelSpec], task: Selection[TaskSpec]
) -> Subject:
    """Return what is to be verified."""
    from formalbench.running.plan import model_used, task_used
    from formalbench.verification.verify import Subject

    built = host.build_task(task)
    return Subject(
        model=model_used(model),
        build=lambda: host.build_network(model, built),
        used=task_used(task),
        task=built,
        asking=lambda: host.blaming(task.plugin),
    )


def _carry_out(subject: Subject, verification: Verification, device: str) -> None:
    from rich.progress import Progress, TimeElapsedColumn

    from formalbench.verification.verify import carry_out

    screen = console(stderr=True)
    for note in verification.plan.notes:
        screen.print(note, markup=False, soft_wrap=True)
    columns = "{task.description}: {task.completed:,.0f} of about {task.total:,.0f} strings"
    progress = Progress(columns, TimeElapsedColumn(), console=screen, transient=True)
    progress.disable = not screen.is_terminal
    bar = progress.add_task("strings")

    def report(description: str, done: int, total: int) -> None:
        progress.update(bar, description=description, completed=done, total=total)

    with progress, plugins_print_to_stderr():
        carry_out(subject, verification, device, report)


def _print(verification: Verification, as_json: bool) -> None:
    if as_json:
        print_json(verification.to_json())
        return
    for line in _lines_above(verification):
        print(line)
    if verification.lengths():
        print_table(*_table(verification))
    for line in _lines_below(verification):
        print(line)


# The text report.

SHOWN_SYMBOLS = 120
"""Maximum displayed characters of a failing string; ``--json`` has all."""

SHOWN_LENGTHS = 40
"""Maximum rows of the table; with more lengths, those with errors and some others."""


def _lines_above(found: Verification) -> list[str]:
    """Return the lines above the table of lengths."""
    from formalbench.contracts.verification import dtype_title

    parameters = ", ".join(f"{name}={_short(value)}" for name, value in found.parameters.items())
    lines = [
        f"{found.model.name} on {found.task.name}, {dtype_title(found.dtype)}"
        + (f" ({parameters})" if parameters else "")
    ]
    if found.plan.asked.exhaustive is None:
        lines.append("exhaustive: skipped")
    else:
        total = found.total("exhaustive")
        lines.append(
            f"exhaustive: {total.strings:,} strings, all {_lengths(found)}: {_errors(total.errors)}"
        )
    return lines


def _table(found: Verification) -> tuple[Sequence[str], list[list[str]]]:
    """Return columns and rows of the table of random strings by length."""
    columns = ("length", "strings", "errors", "accuracy", "min margin", "mean bits", "worst bits")
    lengths = found.lengths()
    step = -(-len(lengths) // SHOWN_LENGTHS)
    last = len(lengths) - 1
    rows = [
        _row(length, tally)
        for index, (length, tally) in enumerate(lengths.items())
        if index % step == 0 or index == last or tally.errors
    ]
    return columns, rows


def _lines_below(found: Verification) -> list[str]:
    """Return the lines below the table of lengths."""
    from formalbench.contracts.verification import dtype_title

    total = found.total("adversarial")
    lines = [f"adversarial: {total.strings:,} strings: {_errors(total.errors)}"]
    if failure := found.first_failure:
        logit = "not finite" if failure.logit is None else f"{failure.logit:.6g}"
        string = _cut(failure.string) or "the empty string"
        expected = _cut(str(failure.expected))
        lines.append(f"first failure: {string}: expected {expected}, logit {logit}")
    if found.break_length:
        parts = [
            f"{dtype_title(dtype)} {'none' if n is None else n}"
            for dtype, n in found.break_length.items()
        ]
        lines.append(f"right at every tested length up to: {', '.join(parts)}")
    lines += found.remarks
    if not found.complete:
        lines.append(f"not complete; so far {_errors(found.errors)}")
    else:
        lines.append("passed" if found.passed else f"FAILED: {_errors(found.errors)}")
    return lines


def _cut(text: str) -> str:
    """Return a text; if it is long, its beginning and its length."""
    if len(text) <= SHOWN_SYMBOLS:
        return text
    return f"{text[:SHOWN_SYMBOLS]}… ({len(text):,} characters)"


def _lengths(found: Verification) -> str:
    """Return the lengths of the exhaustive strings as text."""
    shortest = min(part.length for part in found.plan.portions if part.kind == "exhaustive")
    longest = found.plan.asked.exhaustive
    if shortest == longest:
        return f"of length {longest}"
    return f"of length {shortest} to {longest}" if shortest > 1 else f"up to length {longest}"


def _row(length: int, tally: Tally) -> list[str]:
    figures = ["–", "–", "–"]
    if tally.finite:
        margin, mean, worst = tally.min_margin, tally.mean_bits, tally.max_bits
        figures = [f"{margin:.3g}" if math.isfinite(margin) else "–", f"{mean:.6g}", f"{worst:.6g}"]
    accuracy = f"{100 * tally.accuracy:.1f} %"
    return [str(length), f"{tally.strings:,}", str(tally.errors), accuracy, *figures]


def _errors(count: int) -> str:
    return {0: "no error", 1: "1 error"}.get(count, f"{count:,} errors")


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
