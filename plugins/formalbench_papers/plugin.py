"""The papers' entry module: experiments, their protocols, and ``formalbench reproduce``.

Large packages are imported inside functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import ProtocolSpec, ReproductionSpec, SuiteSpec, TableSpec

from formalbench_papers import index

if TYPE_CHECKING:
    import typer

SUITES = (
    SuiteSpec(
        name="yao-fig4",
        version=1,
        summary="Dyck-(8, 10), generated: Yao et al., Figure 4",
        tasks=("dyck-8-10:generate",),
        protocol="yao",
        reference="Yao et al. (2021), section 6.1",
    ),
    SuiteSpec(
        name="yao-fig5",
        version=1,
        summary="sixteen Dyck-(k, D), generated: Yao et al., Figure 5",
        tasks=tuple(f"dyck-{k}-{d}:generate" for k in (2, 8, 32, 128) for d in (3, 5, 10, 15)),
        protocol="yao",
        reference="Yao et al. (2021), section 6.2",
    ),
)


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce how the papers' models are trained: NAME-quick for a CPU, NAME as in the paper."""
    return index.protocols()


@hookimpl
def formalbench_suites() -> Iterable[SuiteSpec]:
    """Announce what the papers train on, where the tasks' own package has no suite of it."""
    return SUITES


@hookimpl
def formalbench_tables() -> Iterable[TableSpec]:
    """Announce the papers' numbers that boards show."""
    return index.TABLES.values()


@hookimpl
def formalbench_reproductions() -> Iterable[ReproductionSpec]:
    """Announce the experiments."""
    return index.reproductions()


@hookimpl
def formalbench_commands(app: typer.Typer) -> None:
    """Add ``formalbench reproduce``."""
    from formalbench_papers.framework.command import add_command

    add_command(app)


@hookimpl
def formalbench_check_repository(repository: Path, host: Any) -> Sequence[str]:
    """Compare the pages of reproductions with their data, and the data with the records."""
    from formalbench_papers.framework.checks import reproductions_problems

    return reproductions_problems(repository, host)
