"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalbench.contracts.errors import RequestError
from formalbench.ui.completion import names_of


def _check_jobs(jobs: int | None) -> int | None:
    if jobs is not None and jobs < 1:
        raise RequestError(f"--jobs {jobs}: must be at least 1")
    return jobs


def _folder(name: str) -> Path:
    if not name:  # Path("") would be the working directory
        raise RequestError("--results needs a folder")
    return Path(name)


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

DeviceOption = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda[:i]", help="Where to compute.")
]

JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Parallel jobs. Default: one per core or GPU.",
        callback=_check_jobs,
    ),
]

ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="What runs the jobs (`formalbench list executors`). Default: this machine.",
        autocompletion=names_of("executors"),
    ),
]

ResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="DIR",
        parser=_folder,
        help="Folder for records and weights. Default: your own results.",
    ),
]
