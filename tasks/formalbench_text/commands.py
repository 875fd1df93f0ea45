"""The command ``formalbench corpus``: texts from elsewhere, and checksums of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

corpus = typer.Typer(
    help="Corpora of texts: fetch some, or complete a description of your own.",
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
    from formalbench_text.completing import complete_file

    typer.echo(complete_file(path))
