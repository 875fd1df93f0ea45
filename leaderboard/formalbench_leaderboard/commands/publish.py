"""The commands `publish`, `check`, `render` and `weights`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.documents.text import harmless, plural
from formalbench.ui.terminal import JsonFlag, host_of, print_json, results_folder

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

    from formalbench_leaderboard.publishing.check import CheckResult
    from formalbench_leaderboard.publishing.publish import Pairs, PublishResult
    from formalbench_leaderboard.publishing.weights import ArchiveContents


weights = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The archive: a plain tar.")]


@weights.command("pack")
def pack_weights(
    file: FileArgument,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            parser=results_folder,
            help="Folder of records with weights beside them, or another archive; repeatable. "
            "Default: your own results and the current clone of the repository.",
        ),
    ] = None,
    repository: Annotated[
        bool, typer.Option("--repository", help="Search only the clone of the repository.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Pack the weights of published records into one archive.

    Weights are not stored in the repository. A record names its weights by SHA-256, and they are
    distributed in an archive. The archive's index.json lists the weights of each record, and each
    file is named by its hash. The same weights always give the same archive, byte for byte.
    Missing weights are listed.

    \b
    formalbench leaderboard weights pack weights.tar
    formalbench leaderboard weights pack all.tar --results weights.tar --results my-results
    """
    from formalbench_leaderboard.publishing.weights import facts, pack

    packed = pack(file, _places(results or (), repository))
    info = facts(file)
    if as_json:
        print_json({**info, **_data(packed)})
        return
    typer.echo(f"packed {_records(packed)}: {info['bytes']:,} bytes, SHA-256 {info['sha256']}")
    _print_without(packed)


@weights.command("unpack")
def unpack_weights(
    file: FileArgument,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to create, with records and their weights. Default: leaderboard/results "
            "of the current clone, where git ignores weights.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Unpack an archive and put the weights beside the records that name them.

    Each file is checked against the hash in its record. Files that no published record names are
    not unpacked. Records that still have no weights are listed.

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
        typer.echo(f"not unpacked: {plural(done.strange, 'file')} that no published record names")
    _print_without(done)


def _places(results: Sequence[Path], clone_only: bool) -> list[Path]:
    """Return the places to look for weights.

    Raises:
        RequestError: if no place is left.
    """
    from formalbench.store import PUBLISHED_RESULTS, default_results, repository_above

    from formalbench_leaderboard.publishing.publish import find_repository

    clone = find_repository() if clone_only else repository_above(Path.cwd())
    published = [] if clone is None else [clone / PUBLISHED_RESULTS]
    if clone_only:
        return [*results, *published]
    own = default_results()
    return list(results) or [*([own] if own.is_dir() else []), *published]


def _records(packed: ArchiveContents) -> str:
    return (
        f"the weights of {plural(len(packed.records), 'record')} into {harmless(f'{packed.path}')}"
    )


def _print_without(packed: ArchiveContents) -> None:
    """Print the published runs without weights, model by model."""
    from formalbench.statistics.records import model_key

    models = Counter(model_key(one)[0] for one in packed.without)
    for model, times in sorted(models.items()):
        typer.echo(f"without weights: {harmless(model)}, {plural(times, 'record')}")


def _data(packed: ArchiveContents) -> dict[str, Any]:
    """Return the records with and without weights as data, for ``--json``."""

    def names(records: Sequence[Record]) -> list[str]:
        return [one.test_id for one in records]

    return {"records": names(packed.records), "without": names(packed.without)}


def publish(
    ctx: typer.Context,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=results_folder,
            help="Folder with the records to publish. Default: your own results.",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the weights to this archive. Default: weights-<hash>.tar in the clone, "
            "which git ignores.",
        ),
    ] = None,
    self_reported: Annotated[
        bool,
        typer.Option(
            "--self-reported",
            help="Publish scores of answers made outside formalbench, in a section of their own.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add records to this repository's leaderboard.

    Run it inside a clone of the repository. It copies the records into leaderboard/results and
    writes their weights to an archive, which you attach to the pull request and do not commit.
    It prints new rows and changed ranks. Then commit the records and open a pull request. The
    pages are rendered after the merge.

    Every record is checked first:

    \b
    - its task, model and protocol are installed (name a local plugin with --plugin)
    - its test strings, chance level and ids are recomputed and must agree
    - the weights of `standard` runs, of seed 0 under other protocols, and all weights that
      a record names must be found
    - at least the first three seeds of the protocol, at every learning rate, must be there
    - a model or task that is not built in must pass `formalbench check`; the source of its
      plugin is copied into leaderboard/plugins

    If a record is refused, nothing is written, and the exit code is 1.

    A published run is not replaced, unless it failed.

    --self-reported copies only the records that `formalbench score --results` and `Report.save`
    wrote. These scores cannot be checked, so they are never ranked.

    \b
    formalbench leaderboard publish --results my-results
    """
    from formalbench.store import default_results

    from formalbench_leaderboard.publishing import publish as publishing
    from formalbench_leaderboard.publishing.places import RefusedError

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
    from formalbench_leaderboard.publishing.score_reports import publish_reports

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
            "All weights that records name must be there.",
        ),
    ] = None,
    rendered: Annotated[
        bool,
        typer.Option("--rendered", help="Also compare the rendered files, as on the main branch."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check the published records and weights of this repository.

    Every record must be one that `publish` accepts, in its right place. The weights that are
    found must match their records. With --weights, all weights that `publish` requires must be
    there. The pages of reproductions must match their data. The command writes nothing and
    deletes only partial files of a killed command.

    The other pages are rendered on the main branch after a merge (`formalbench leaderboard
    render`), so that two pull requests never change the same file. --rendered also checks that
    each of them matches the records byte for byte.

    Records of an older task, model or protocol stay and do not count. Records whose plugin is
    not installed cannot be checked: read its source in leaderboard/plugins, then name it with
    --plugin. Exit code 1 if anything is wrong or cannot be checked. `audit` re-tests the numbers.

    \b
    formalbench leaderboard check
    """
    from formalbench.store.archive import WeightLookup

    from formalbench_leaderboard.publishing.check import check_published
    from formalbench_leaderboard.publishing.publish import find_repository
    from formalbench_leaderboard.renderers.render import stale_files

    repository = find_repository()
    host = host_of(ctx)
    stale = partial(stale_files, repository, host) if rendered else list
    result = check_published(repository, host, WeightLookup(weights or ()), stale=stale)
    if as_json:
        print_json(asdict(result))
    else:
        _print_problems(result)
    if result.problems or result.stale_files:
        raise typer.Exit(1)
    if not as_json:
        _print_valid(result, rendered)


def render(
    ctx: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if a file would change.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Render the pages, figures and snapshot of the records.

    This runs on the main branch after every merge. A pull request contains only records. Files
    in the leaderboard's folders that no record produces are deleted. Figures need Altair
    (`pip install 'formalbench[figures]'`).

    \b
    formalbench leaderboard render
    formalbench leaderboard render --check
    """
    from formalbench_leaderboard.publishing.publish import find_repository
    from formalbench_leaderboard.renderers import render as renderers_render

    repository = find_repository()
    if check:
        stale = renderers_render.stale_files(repository, host_of(ctx))
    else:
        stale = renderers_render.render(repository, host_of(ctx))
    if as_json:
        names = [path.as_posix() for path in stale]
        print_json({"stale_files" if check else "written": names})
    elif check:
        _print_stale(stale)
    else:
        for path in stale:
            typer.echo(path.as_posix())
    if check and stale:
        raise typer.Exit(1)
    if not as_json:
        typer.echo("every rendered file is up to date")


def _print_problems(result: CheckResult) -> None:
    """Print the problems of the published files, and what could not be compared."""
    for line in result.problems:
        typer.echo(line, err=True)
    _print_stale(result.stale_files)
    if result.unchecked_records:
        records = plural(result.unchecked_records, "record")
        typer.echo(
            f"{records} not checked and no page compared, because their plugins are not "
            "installed. Install the distributions. For plugins that are files, read the sources "
            "in leaderboard/plugins, then name each with --plugin.",
            err=True,
        )


def _print_valid(result: CheckResult, rendered: bool) -> None:
    """Print that no problem was found."""
    if result.stale_records:
        typer.echo(
            f"{plural(result.stale_records, 'record')} made with another version, not counted"
        )
    if result.weightless_records:
        runs = plural(result.weightless_records, "run")
        typer.echo(
            f"the weights of {runs} were not found, so not checked; name them with --weights"
        )
    pages = ", and every rendered file is up to date" if rendered else ""
    typer.echo(f"all records are valid{pages}")


def _print_stale(stale: Sequence[Path]) -> None:
    """Print the rendered files that do not match the records, and the command that renders them."""
    for path in stale:
        typer.echo(f"{path.as_posix()} does not match leaderboard/results", err=True)
    if stale:
        typer.echo("run `formalbench leaderboard render` to render it", err=True)


def _print_published(done: PublishResult) -> None:
    """Print the result of publishing."""
    from formalbench_leaderboard.publishing.weights import facts

    for text, pairs, after in (
        ("added", done.added, ""),
        ("kept", done.differing, " already published with other numbers"),
    ):
        for (model, task), times in pairs.items():
            count = plural(times, "record")
            typer.echo(f"{text} {harmless(model)} on {harmless(task)}: {count}{after}")
    if done.already:
        typer.echo(f"{plural(done.already, 'record')} already published")
    for line in done.changes:
        typer.echo(harmless(line))
    if done.archive is not None:
        info = facts(done.archive)
        text = f"weights: {harmless(str(done.archive))}, {info['bytes']:,} bytes"
        typer.echo(f"{text}, SHA-256 {info['sha256']}: attach it to the pull request")
    typer.echo("next: commit leaderboard/results and leaderboard/plugins, open a pull request")


def _published(done: PublishResult) -> dict[str, Any]:
    """Return the result of publishing as data, for ``--json``."""
    from formalbench_leaderboard.publishing.weights import facts

    def counts(pairs: Pairs) -> list[dict[str, Any]]:
        return [
            {"model": model, "task": task, "records": times}
            for (model, task), times in pairs.items()
        ]

    return {
        "added": counts(done.added),
        "weights_added": [],
        "kept": counts(done.differing),
        "already": done.already,
        "changes": done.changes,
        "archive": None if done.archive is None else facts(done.archive),
    }
