"""The papers' entry module: what each folder announces, and ``formalbench reproduce``.

Light by rule: what is heavy is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import ProtocolSpec, ReproductionSpec, SuiteSpec, TableSpec

from formalbench_papers.chi import specs as chi
from formalbench_papers.chiang_cholak import specs as chiang_cholak
from formalbench_papers.deletang import specs as deletang
from formalbench_papers.grazzi import specs as grazzi
from formalbench_papers.huang import specs as huang
from formalbench_papers.path_attention import specs as path_attention
from formalbench_papers.slice_cde import specs as slice_cde
from formalbench_papers.steffen import specs as steffen
from formalbench_papers.yao import specs as yao

if TYPE_CHECKING:
    import typer


PAPERS = (
    *(chi, chiang_cholak, deletang, grazzi, huang),
    *(path_attention, slice_cde, steffen, yao),
)
"""The folders; what each of them announces is in its `specs`, by kind."""


def _announced(kind: str) -> Iterator[Any]:
    for paper in PAPERS:
        yield from getattr(paper, kind, ())


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce how the papers' models are trained anew: NAME-quick for a CPU, NAME as there."""
    return _announced("PROTOCOLS")


@hookimpl
def formalbench_suites() -> Iterable[SuiteSpec]:
    """Announce what the papers train on, where the tasks' own package has no suite of it."""
    return _announced("SUITES")


@hookimpl
def formalbench_tables() -> Iterable[TableSpec]:
    """Announce the papers' numbers that boards show."""
    return _announced("TABLES")


@hookimpl
def formalbench_reproductions() -> Iterable[ReproductionSpec]:
    """Announce the reproductions."""
    return _announced("REPRODUCTIONS")


@hookimpl
def formalbench_commands(app: typer.Typer) -> None:
    """Add ``formalbench reproduce``."""
    from formalbench_papers.framework.command import add_command

    add_command(app)


@hookimpl
def formalbench_check_repository(repository: Path, host: Any) -> Sequence[str]:
    """Hold the pages of reproductions to their data, and the data to the records beside them."""
    from formalbench_papers.framework.checks import reproductions_problems

    return reproductions_problems(repository, host)
