"""The command `formalbench verify`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer

from formalbench.contracts.errors import RequestError
from formalbench.host.registry import LONGEST
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
    from rich.console import Console
    from rich.live import Live

    from formalbench.host import PluginHost
    from formalbench.verification.verify import Subject, Verification


EVERY = 10.0
"""Seconds between two lines where the output is no terminal."""


class ProgressLine:
    """Shows how far a command is; short work shows nothing.

    Args:
        console: where to show it.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._last = self._start = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def report(self, what: str, done: int, total: int) -> None:
        """Tell what is being done, and how many of how many things are done."""
        seconds = int(time.monotonic() - self._start)
        line = f"{what}: {done:,} of about {total:,} strings, {seconds // 60}:{seconds % 60:02d}"
        if self._live:
            from rich.text import Text

            self._live.update(Text(line))
        elif time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            self._console.print(line, markup=False, soft_wrap=True)


DtypeName = Literal["fp16", "bf16", "fp32", "fp64", "all"]


MAX_LENGTHS = 10_000
"""Lengths that one command can ask for."""


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
        wanted = None if lengths is None else parse_lengths(lengths)
        host = host_of(ctx)
        task_name = check_names(host, model, task)
        chosen = choose_device(device)
        store = None if results is None else Store(Path(results))

        from formalbench.verification.plan import VerificationRequest
        from formalbench.verification.verify import prepare

        request = VerificationRequest(exhaustive, wanted, count, seed)
        subject = make_subject(host, model, task_name, settings or ())
        plugin = host.models.get(subject.model.name)[0].plugin
        with host.blaming(plugin), plugins_print_to_stderr():
            found = prepare(subject, request, dtype)
        if store is not None:
            store.check_writable()
        try:
            _carry_out(host, subject, found, chosen)
        except KeyboardInterrupt:
            _print(found, as_json)
            raise
        if store is not None:
            from formalbench.verification.verify import record_of

            store.write(record_of(found, chosen, _local_plugins(host, subject)))
        _print(found, as_json)
        if not found.passed:
            raise typer.Exit(1)


def parse_lengths(text: str) -> tuple[int, ...]:
    """Return the lengths that ``A:B[:STEP]`` or a comma list of such means, in order.

    Raises:
        RequestError: for anything else.

    Example:
        >>> parse_lengths("1:9:4,20")
        (1, 5, 9, 20)
    """
    found: set[int] = set()
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
        found.update(range(first, last + 1, step or 1))
    return tuple(sorted(found))


def check_names(host: PluginHost, model: str, task: str | None) -> str:
    """Return the task to verify a model on, as it was named.

    Raises:
        RequestError: for an unknown name, a learned model, or one made for no task in particular.
    """
    from formalbench.host.host import check_offered
    from formalbench.host.options import parse_instance

    bare = parse_instance(model)[0]
    entry, fields = host.models.get(bare)
    if entry.spec.kind != "exact":
        exact = [other.spec.name for other in host.models.all() if other.spec.kind == "exact"]
        raise RequestError(
            f"model {bare} is learned: only exact models can be verified "
            f"({', '.join(exact) or 'there is none'})"
        )
    name = task if task is not None else entry.spec.task.format(**fields)
    if not name:
        raise RequestError(f"model {bare} is made for no task in particular: name one with --task")
    check_offered(bare, entry.spec, host.task_entry(name)[1])
    return name


def make_subject(host: PluginHost, model: str, task: str, settings: Sequence[str]) -> Subject:
    """Return what is to be verified, with the options set."""
    from formalbench.host.options import (
        check_settings,
        option_facts,
        parse_instance,
        parse_settings,
    )
    from formalbench.running.plan import model_used, task_used
    from formalbench.verification.verify import Subject

    parsed = parse_settings(settings, ("model", "task"))
    asked = host.task_entry(task)[0]
    spec = host.models.get(parse_instance(model)[0])[0].spec
    check_settings(parsed, [option_facts(spec)], [option_facts(asked.spec)])
    used, by_hand = task_used(host, task, parsed), model_used(host, model, parsed)
    built = host.task(used.name, used.options)
    return Subject(
        model=by_hand,
        build=lambda: host.network(by_hand.name, built, by_hand.options),
        used=used,
        task=built,
        asking=lambda: host.blaming(asked.plugin),
    )


def _carry_out(host: PluginHost, subject: Subject, found: Verification, device: str) -> None:
    from formalbench.verification.verify import carry_out

    screen = console(stderr=True)
    for note in found.plan.notes:
        screen.print(note, markup=False, soft_wrap=True)
    plugin = host.models.get(subject.model.name)[0].plugin
    with ProgressLine(screen) as progress, host.blaming(plugin), plugins_print_to_stderr():
        carry_out(subject, found, device, progress.report)


def _local_plugins(host: PluginHost, subject: Subject) -> list[str]:
    plugins = [
        host.models.get(subject.model.name)[0].plugin,
        host.task_entry(subject.used.name)[0].plugin,
        host.objectives.get(subject.task.objective.name)[0].plugin,
    ]
    return list(dict.fromkeys(plugin.local.path.name for plugin in plugins if plugin.local))


def _print(found: Verification, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    from formalbench.cli.verification_report import lines_above, lines_below, table

    for line in lines_above(found):
        print(line)
    if found.lengths():
        print_table(*table(found))
    for line in lines_below(found):
        print(line)
