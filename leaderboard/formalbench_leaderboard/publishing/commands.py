"""The commands ``formalbench leaderboard publish`` and ``… check``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.ui.flags import JsonFlag
from formalbench.ui.output import print_json

if TYPE_CHECKING:
    from formalbench_leaderboard.publishing.checking import Checked
    from formalbench_leaderboard.publishing.publish import Pairs, Published


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def publish(
        ctx: typer.Context,
        results: Annotated[
            Path | None,
            typer.Option(
                metavar="DIR", help="Folder of records to publish. Default: your own results."
            ),
        ] = None,
        as_json: JsonFlag = False,
    ) -> None:
        """Add records to this repository's leaderboard.

        Run it inside a clone of the repository: it copies the records into
        leaderboard/results, with the weights of every `standard` run and of seed 0 under any
        other protocol, and renders the board anew. It says which rows are new and which ranks
        moved. Then commit what it changed and open a pull request.

        Every record is checked first: its task, model and protocol must be the ones at hand
        (a local plugin is named with --plugin), its test strings, chance level and identity are
        worked out again, its weights must be those that it names, and no seed or learning
        rate of the protocol may be missing. A model or a task that is not built in must keep its
        contract (`formalbench check`), and the source of its plugin goes along, into
        leaderboard/plugins. If one is refused, nothing is written, and the exit code is 1.

        A run that is published already stays as it is. If it has no weights yet, and the new
        record agrees with it in every count, they are added.

        \b
        formalbench leaderboard publish --results my-results
        """
        from formalbench.store import default_results
        from formalbench.ui.state import host_of

        from formalbench_leaderboard.publishing import publish as publishing
        from formalbench_leaderboard.publishing.untrusted import RefusedError

        repository = publishing.find_repository()
        try:
            done = publishing.publish(results or default_results(), repository, host_of(ctx))
        except RefusedError as error:
            if as_json:
                print_json({"refused": error.lines})
            for line in () if as_json else [*error.lines, str(error)]:
                typer.echo(line, err=True)
            raise typer.Exit(1) from None
        if as_json:
            print_json(_published(done))
        else:
            _tell(done)

    @app.command()
    def check(ctx: typer.Context, as_json: JsonFlag = False) -> None:
        """Check what this repository publishes: records, weights and pages.

        Writes nothing. Every record must be one that `publish` would take, at its place, with
        its weights; every rendered page must be, byte for byte, what the records give, and so
        must the pages of reproductions, as far as records are kept beside them; every figure
        must show what they give.
        Records of an older task, model or protocol stay and do not count. Of a plugin that is
        not at hand they cannot be checked: its source is in leaderboard/plugins, to be read and
        then named with --plugin. Exit code 1 if anything is wrong or cannot be checked. Whether
        the numbers are true is what `audit` asks.

        \b
        formalbench leaderboard check
        """
        from formalbench.ui.state import host_of

        from formalbench_leaderboard.publishing.checking import check_published
        from formalbench_leaderboard.publishing.publish import find_repository

        repository = find_repository()
        found = check_published(repository, host_of(ctx))
        if as_json:
            print_json(_checked(found))
        else:
            _tell_problems(found, repository)
        if found.problems or found.stale or found.uncompared:
            raise typer.Exit(1)
        if not as_json:
            _tell_in_order(found)


def _tell_problems(found: Checked, repository: Path) -> None:
    """Say what is wrong with what is published, and what could not be compared."""
    from formalbench.analysis.text import plural

    for line in found.problems:
        typer.echo(line, err=True)
    for path in found.stale:
        typer.echo(f"{path.as_posix()} is not what leaderboard/results gives", err=True)
    if found.stale:
        again = "`formalbench leaderboard publish --results leaderboard/results` renders it"
        typer.echo(again, err=True)
        _tell_versions(repository, found.stale)
    if found.unchecked:
        records = plural(found.unchecked, "record")
        typer.echo(
            f"{records} not checked, and no page compared: their plugins are not at hand: "
            "install the distributions; the sources of files are in leaderboard/plugins: read "
            "them, then name each with --plugin",
            err=True,
        )
    if found.uncompared:
        typer.echo(
            f"{plural(len(found.uncompared), 'figure')} not compared, for nothing here draws: "
            "pip install 'formalbench[figures]'",
            err=True,
        )


def _tell_in_order(found: Checked) -> None:
    """Say that nothing is wrong."""
    from formalbench.analysis.text import plural

    if found.old:
        typer.echo(f"{plural(found.old, 'record')} stale: made with another version, not counted")
    typer.echo("every record is in order, and every rendered file is up to date")


def _tell_versions(repository: Path, stale: Sequence[Path]) -> None:
    """Say which versions of the library drew stale figures, if it is not the one installed."""
    from formalbench.analysis.text import harmless

    from formalbench_leaderboard.publishing.rendered import others_draw
    from formalbench_leaderboard.renderers.figures import installed_version

    if others := sorted(others_draw(repository, stale)):
        line = f"matplotlib {', '.join(others)} drew figures among them, here is "
        line += f"{installed_version()}: locks/test.txt has the one to draw with"
        typer.echo(harmless(line), err=True)


def _tell(done: Published) -> None:
    """Print what publishing did."""
    from formalbench.analysis.text import harmless, plural

    for what, pairs, after in (
        ("added", done.added, ""),
        ("added the weights of", done.completed, ""),
        ("kept", done.differing, " published already, with other numbers than these"),
    ):
        for (model, task), times in pairs.items():
            count = plural(times, "record")
            typer.echo(f"{what} {harmless(model)} on {harmless(task)}: {count}{after}")
    if done.already:
        typer.echo(f"{plural(done.already, 'record')} published already")
    for line in done.changes:
        typer.echo(harmless(line))
    typer.echo("every rendered file is up to date")


def _published(done: Published) -> dict[str, Any]:
    """Return what publishing did, for programs."""

    def counts(pairs: Pairs) -> list[dict[str, Any]]:
        return [
            {"model": model, "task": task, "records": times}
            for (model, task), times in pairs.items()
        ]

    return {
        "added": counts(done.added),
        "weights_added": counts(done.completed),
        "kept": counts(done.differing),
        "already": done.already,
        "changes": done.changes,
    }


def _checked(found: Checked) -> dict[str, Any]:
    """Return what a check found, for programs."""
    return {
        "problems": found.problems,
        "stale_files": [path.as_posix() for path in found.stale],
        "stale_records": found.old,
        "unchecked_records": found.unchecked,
        "uncompared_figures": [path.as_posix() for path in found.uncompared],
    }
