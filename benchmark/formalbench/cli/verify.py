"""The command `formalbench verify`."""

from __future__ import annotations

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
    from formalbench.cli.verification_report import lines_above, lines_below, table

    for line in lines_above(verification):
        print(line)
    if verification.lengths():
        print_table(*table(verification))
    for line in lines_below(verification):
        print(line)
