"""The commands ``formalbench leaderboard weights pack`` and ``… unpack``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.analysis.text import harmless, plural
from formalbench.ui.flags import JsonFlag
from formalbench.ui.output import print_json

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

    from formalbench_leaderboard.publishing.packing import Packed

weights = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The archive: a plain tar.")]


def add_commands(app: typer.Typer) -> None:
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

    It takes those that are at hand, and says of which runs there are none.

    Weights are in no repository: a record names theirs by SHA-256, and whoever has the files
    gives them away in an archive. The same weights give the same bytes. In it, index.json says
    of which record which weights are; each file of weights is named by its hash.

    \b
    formalbench leaderboard weights pack weights.tar
    formalbench leaderboard weights pack all.tar --results weights.tar --results my-results
    """
    from formalbench_leaderboard.publishing.packing import facts, pack

    packed = pack(file, _places(results or (), repository))
    told = facts(file)
    if as_json:
        print_json({**told, **_data(packed)})
        return
    typer.echo(f"packed {_records(packed)}: {told['bytes']:,} bytes, SHA-256 {told['sha256']}")
    _tell_without(packed)


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
    from formalbench_leaderboard.publishing.packing import unpack

    done = unpack(file, into)
    if as_json:
        print_json({"folder": str(done.path), **_data(done), "strange": done.strange})
        return
    typer.echo(f"unpacked {_records(done)}")
    if done.strange:
        typer.echo(f"left {plural(done.strange, 'file')} of no published record")
    _tell_without(done)


def _places(results: Sequence[Path], alone: bool) -> list[Path]:
    """Return where weights are looked for.

    Raises:
        RequestError: if no place is left.
    """
    from formalbench.store import default_results
    from formalbench.store.repository import PUBLISHED_RESULTS, repository_above

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


def _tell_without(packed: Packed) -> None:
    """Say of which published runs there are no weights, model by model."""
    from formalbench.analysis.keys import model_key

    models = Counter(model_key(one)[0] for one in packed.without)
    for model, times in sorted(models.items()):
        typer.echo(f"without weights: {harmless(model)}, {plural(times, 'record')}")


def _data(packed: Packed) -> dict[str, Any]:
    """Return the records that have weights and those that have none, for programs."""

    def names(records: Sequence[Record]) -> list[str]:
        return [one.test_id for one in records]

    return {"records": names(packed.records), "without": names(packed.without)}
