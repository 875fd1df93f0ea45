"""Reading numbers from papers: a YAML file may hold several tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.host.yaml_file import read_yaml

if TYPE_CHECKING:
    from formalbench.contracts.published import PublishedTable
    from formalbench.contracts.specs import TableSpec


def read_table(spec: TableSpec) -> PublishedTable:
    """Return the table that a spec announces.

    Raises:
        RequestError: one line that names the file and what is wrong in it.
    """
    for table in read_tables(spec.path):
        if table.key == spec.name:
            return table
    raise RequestError(f"{spec.path}: has no table {spec.name}")


def read_tables(path: Path) -> tuple[PublishedTable, ...]:
    """Return the tables of a file.

    Raises:
        RequestError: one line that names the file and what is wrong in it.
    """
    from pydantic import ValidationError

    from formalbench.contracts.published import PublishedFile
    from formalbench.contracts.reading import first_problem

    try:
        return PublishedFile.model_validate(read_yaml(path)).tables
    except ValidationError as error:
        raise RequestError(f"{path}: {first_problem(error)}") from None
