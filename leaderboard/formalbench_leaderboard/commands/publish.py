"""The commands `publish`, `check`, `render` and `weights`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.documents.text import harmless, plural
from formalbench.ui.terminal import JsonFlag, host_of, print_json

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

    from formalbench_leaderboard.publishing.check import Checked
    from formalbench_leaderboard.publishing.publish import Pairs, Published
    from formalbench_leaderboard.publishing.weights import Packed


weights = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The archive: a plain tar.")]


def add_weights_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(weights, name="weights", help="Pack the weights of published runs, or unpack.")


@weights.command("pack")
def pack_weights(
    file: FileArgument,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Folder of records with weights beside them, or another archive; repeatable. "
            "Default: your own results, and the clone of the repository that you are in.",
        ),
    ] = None,
    repository: Annotated[
        bool, typer.Option("--repository", help="Look in the clone of the repository alone.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Pack the weights of published records into one archive.

    Weights that are not found are listed.

    Weights are in no repository: a record names theirs by SHA-256, and whoever has the files
    gives them away in an archive. The same weights give the same bytes. In it, index.json says
    of which record which weights are; each file of weights is named by its hash.

    \b
    formalbench leaderboard weights pack weights.tar
    formalbench leaderboard weights pack all.tar --results weights.tar --results my-results
    """
    from formalbench_leaderboard.publishing.weights import facts, pack

    packed = pack(file, _places(results or (), repository))
    told = facts(file)
    if as_json:
        print_json({**told, **_data(packed)})
        return
    typer.echo(f"packed {_records(packed)}: {told['bytes']:,} bytes, SHA-256 {told['sha256']}")
    _print_without(packed)


@weights.command("unpack")
def unpack_weights(
    file: FileArgument,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to make of it, of records with weights beside them. Default: "
            "leaderboard/results of the clone that you are in, where git ignores weights.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Unpack an archive: weights go beside the records that name them.

    Each file is held to its record's hash, and what no published record names stays in the
    archive. It says which records have no weights then.

    \b
    formalbench leaderboard weights unpack weights.tar --into with-weights
    """
    from formalbench_leaderboard.publishing.weights import unpack

    done = unpack(file, into)
    if as_json:
        print_json({"folder": str(done.path), **_data(done), "strange": done.strange})
        return
    typer.echo(f"unpacked {_records(done)}")
    if done.strange:
        typer.echo(f"left {plural(done.strange, 'file')} of no published record")
    _print_without(done)


def _places(results: Sequence[Path], alone: bool) -> list[Path]:
    """Return where weights are looked for.

    Raises:
        RequestError: if no place is left.
    """
    from formalbench.store import default_results
    from formalbench.store.records import PUBLISHED_RESULTS, repository_above

    from formalbench_leaderboard.publishing.publish import find_repository

    clone = find_repository() if alone else repository_above(Path.cwd())
    published = [] if clone is None else [clone / PUBLISHED_RESULTS]
    if alone:
        return [*results, *published]
    own = default_results()
    return list(results) or [*([own] if own.is_dir() else []), *published]


def _records(packed: Packed) -> str:
    return (
        f"the weights of {plural(len(packed.records), 'record')} into {harmless(f'{packed.path}')}"
    )


def _print_without(packed: Packed) -> None:
    """Say of which published runs there are no weights, model by model."""
    from formalbench.statistics.records import model_key

    models = Counter(model_key(one)[0] for one in packed.without)
    for model, times in sorted(models.items()):
        typer.echo(f"without weights: {harmless(model)}, {plural(times, 'record')}")


def _data(packed: Packed) -> dict[str, Any]:
    """Return the records that have weights and those that have none, for programs."""

    def names(records: Sequence[Record]) -> list[str]:
        return [one.test_id for one in records]

    return {"records": names(packed.records), "without": names(packed.without)}


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(publish)
    app.command()(check)
    app.command()(render)


def publish(
    ctx: typer.Context,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of records to publish. Default: your own results."
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The archive to write of their weights. Default: weights-<hash>.tar in the clone, "
            "where git ignores it.",
        ),
    ] = None,
    self_reported: Annotated[
        bool,
        typer.Option(
            "--self-reported",
            help="Publish scores of answers from elsewhere instead, in a section of their own.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add records to this repository's leaderboard.

    Run it inside a clone of the repository: it copies the records into leaderboard/results, and
    their weights into an archive beside, which belongs to the pull request and not into git. It
    says which rows are new and which ranks moved. Then commit the records and open a pull request:
    the main branch renders the pages.

    Every record is checked first: its task, model and protocol must be the installed ones
    (a local plugin is named with --plugin), its test strings, chance level and identity are
    worked out again, the weights of every `standard` run and of seed 0 under any other protocol
    must be found, and those that it names, and no seed or learning rate of the protocol may be
    missing. A model or a task that is not built in must keep its
    contract (`formalbench check`), and the source of its plugin goes along, into
    leaderboard/plugins. If one is refused, nothing is written, and the exit code is 1.

    A run that is published already stays as it is. If it names no weights yet, and the new
    record agrees with it in every count, it gives way.

    With --self-reported it copies the records that `formalbench score --results` and
    `Report.save` made, and no others. Nobody can check such scores, so they are never ranked.

    \b
    formalbench leaderboard publish --results my-results
    """
    from formalbench.store import default_results

    from formalbench_leaderboard.publishing import publish as publishing
    from formalbench_leaderboard.publishing.untrusted_records import RefusedError

    repository = publishing.find_repository()
    try:
        if self_reported:
            _publish_reports(results or default_results(), repository, ctx, as_json=as_json)
            return
        done = publishing.publish(results or default_results(), repository, host_of(ctx), weights)
    except RefusedError as error:
        if as_json:
            print_json({"refused": error.lines})
        for line in () if as_json else [*error.lines, str(error)]:
            typer.echo(line, err=True)
        raise typer.Exit(1) from None
    if as_json:
        print_json(_published(done))
    else:
        _print_published(done)


def _publish_reports(results: Path, repository: Path, ctx: typer.Context, *, as_json: bool) -> None:
    from formalbench_leaderboard.publishing.self_reported import publish_reports

    names = [path.as_posix() for path in publish_reports(results, repository, host_of(ctx))]
    if as_json:
        print_json({"written": names})
        return
    for name in names:
        typer.echo(name)
    typer.echo("published as self-reported, not verified")


def check(
    ctx: typer.Context,
    weights: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE|DIR",
            help="Archive of weights, or folder of records with weights beside them; repeatable. "
            "They must hold what the records name.",
        ),
    ] = None,
    rendered: Annotated[
        bool,
        typer.Option("--rendered", help="Compare the rendered files, too, as on the main branch."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check what this repository publishes: records and weights.

    Writes nothing, and deletes only what a killed command left half-written. Every record must be
    one that `publish` would take, at its place. Weights that
    are found must be those that records name; given --weights, none may be missing that
    `publish` demands. The pages of reproductions must be what their data give.

    The main branch renders every other page (`formalbench leaderboard render`), so that two pull
    requests never touch one file: --rendered also demands that each is, byte for byte, what the
    records give, and every figure shows it.

    Records of an older task, model or protocol stay and do not count. If their plugin is
    not installed they cannot be checked: its source is in leaderboard/plugins, to be read and
    then named with --plugin. Exit code 1 if anything is wrong or cannot be checked. Whether
    the numbers are true is what `audit` asks.

    \b
    formalbench leaderboard check
    """
    from formalbench.store.archive import WeightLookup

    from formalbench_leaderboard.publishing.check import check_published
    from formalbench_leaderboard.publishing.publish import find_repository

    repository = find_repository()
    found = check_published(
        repository, host_of(ctx), WeightLookup(weights or ()), rendered=rendered
    )
    if as_json:
        print_json(_checked(found))
    else:
        _print_problems(found, repository)
    if found.problems or found.stale or found.uncompared:
        raise typer.Exit(1)
    if not as_json:
        _print_in_order(found, rendered)


def render(
    ctx: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if anything is otherwise.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Render the pages, figures and snapshot of what is published.

    The main branch does so after every merge, and nobody else has to: a pull request holds records
    alone. Files of the leaderboard's folders that no record gives are deleted. Drawing needs
    matplotlib (`pip install 'formalbench[figures]'`).

    \b
    formalbench leaderboard render
    formalbench leaderboard render --check
    """
    from formalbench_leaderboard.publishing.publish import find_repository
    from formalbench_leaderboard.renderers import render as renderers_render

    repository = find_repository()
    if check:
        stale = renderers_render.stale_files(repository, host_of(ctx))
        uncompared = renderers_render.uncompared_figures(repository)
    else:
        stale, uncompared = renderers_render.render(repository, host_of(ctx)), []
    if as_json:
        names = [path.as_posix() for path in stale]
        print_json({"stale_files" if check else "written": names})
    elif check:
        _print_stale(repository, stale)
        if uncompared:
            _print_uncompared(uncompared)
    else:
        for path in stale:
            typer.echo(path.as_posix())
    if check and (stale or uncompared):
        raise typer.Exit(1)
    if not as_json:
        typer.echo("every rendered file is up to date")


def _print_problems(found: Checked, repository: Path) -> None:
    """Say what is wrong with what is published, and what could not be compared."""
    for line in found.problems:
        typer.echo(line, err=True)
    _print_stale(repository, found.stale)
    if found.unchecked:
        records = plural(found.unchecked, "record")
        typer.echo(
            f"{records} not checked, and no page compared: their plugins are not installed: "
            "install the distributions; the sources of files are in leaderboard/plugins: read "
            "them, then name each with --plugin",
            err=True,
        )
    if found.uncompared:
        _print_uncompared(found.uncompared)


def _print_in_order(found: Checked, rendered: bool) -> None:
    """Say that nothing is wrong."""
    if found.old:
        typer.echo(f"{plural(found.old, 'record')} stale: made with another version, not counted")
    if found.weightless:
        runs = plural(found.weightless, "run")
        typer.echo(
            f"the weights of {runs} were not found and not checked; name them with --weights"
        )
    pages = ", and every rendered file is up to date" if rendered else ""
    typer.echo(f"every record is in order{pages}")


def _print_stale(repository: Path, stale: Sequence[Path]) -> None:
    """Say which rendered files are not what the records give, and how to write them again."""
    for path in stale:
        typer.echo(f"{path.as_posix()} is not what leaderboard/results gives", err=True)
    if stale:
        typer.echo("`formalbench leaderboard render` renders it", err=True)
        _print_versions(repository, stale)


def _print_uncompared(figures: Sequence[Path]) -> None:
    """Say that figures could not be compared, and what would draw them."""
    typer.echo(
        f"{plural(len(figures), 'figure')} not compared, for nothing here draws: "
        "pip install 'formalbench[figures]'",
        err=True,
    )


def _print_versions(repository: Path, stale: Sequence[Path]) -> None:
    """Say which versions of the library drew stale figures, if it is not the one installed."""
    from formalbench_leaderboard.charts.board_charts import installed_version
    from formalbench_leaderboard.renderers.render import others_draw

    if others := sorted(others_draw(repository, stale)):
        line = f"matplotlib {', '.join(others)} drew figures among them, here is "
        line += f"{installed_version()}: locks/test.txt has the one to draw with"
        typer.echo(harmless(line), err=True)


def _print_published(done: Published) -> None:
    """Print what publishing did."""
    from formalbench_leaderboard.publishing.weights import facts

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
    if done.archive is not None:
        told = facts(done.archive)
        what = f"weights: {harmless(str(done.archive))}, {told['bytes']:,} bytes"
        typer.echo(f"{what}, SHA-256 {told['sha256']}: it belongs to the pull request, not to git")
    typer.echo("commit leaderboard/results and leaderboard/plugins: the main branch renders pages")


def _published(done: Published) -> dict[str, Any]:
    """Return what publishing did, for programs."""
    from formalbench_leaderboard.publishing.weights import facts

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
        "archive": None if done.archive is None else facts(done.archive),
    }


def _checked(found: Checked) -> dict[str, Any]:
    """Return what a check found, for programs."""
    return {
        "problems": found.problems,
        "stale_files": [path.as_posix() for path in found.stale],
        "stale_records": found.old,
        "unchecked_records": found.unchecked,
        "uncompared_figures": [path.as_posix() for path in found.uncompared],
        "weightless_records": found.weightless,
    }
